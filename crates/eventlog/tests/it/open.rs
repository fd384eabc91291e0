//! Opening a data directory, and removing sessions from it.

use std::sync::Arc;

use ostler_eventlog::{BlobWrite, FileLog, Log, LogError, OpenError, RealDisk};

use crate::fixture::{
    ALL, EPOCH, LogFixture, append_each, assert_feed_whole, get_blob, read_feed, record, session,
};

#[tokio::test]
async fn a_data_directory_has_one_owner() {
    let data = LogFixture::new();
    let log = data.open();
    append_each(&log, session(1), &["a"]).await;
    match FileLog::open(&data.path(), Arc::new(RealDisk)) {
        Err(error @ OpenError::Locked { pid }) => {
            assert_eq!(pid, Some(std::process::id()));
            assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("two logs own one directory"),
    }
    append_each(&log, session(1), &["b"]).await;
    drop(log);
    assert_eq!(data.open().last_seq(session(1)).await.unwrap(), 2);
}

/// Tries to become a second owner.
fn is_locked(data: &LogFixture) -> bool {
    match FileLog::open(&data.path(), Arc::new(RealDisk)) {
        Err(OpenError::Locked { .. }) => true,
        Err(error) => panic!("{error}"),
        Ok(_) => false,
    }
}

#[tokio::test]
async fn a_lock_that_was_removed_or_replaced_still_locks() {
    let data = LogFixture::new();
    let log = data.open();
    let name = data.path().join("lock");
    std::fs::remove_file(&name).unwrap();
    assert!(is_locked(&data), "the name is gone, the owner is not");
    append_each(&log, session(1), &["a"]).await;
    assert!(!name.exists(), "a refused process leaves nothing that looks like another owner");
    std::fs::write(&name, "1\n").unwrap();
    assert!(is_locked(&data));
}

#[tokio::test]
async fn an_older_daemon_locks_the_file_alone_and_both_keep_each_other_out() {
    let data = LogFixture::new();
    drop(data.open());
    let older = std::fs::File::open(data.path().join("lock")).unwrap();
    let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::flock(&older, exclusive).unwrap();
    assert!(is_locked(&data));
    drop(older);
    let _log = data.open();
    let older = std::fs::File::open(data.path().join("lock")).unwrap();
    assert_eq!(rustix::fs::flock(&older, exclusive), Err(rustix::io::Errno::WOULDBLOCK));
}

#[tokio::test]
async fn an_owner_whose_directory_or_lock_was_replaced_writes_nothing_more() {
    for replaces_all in [true, false] {
        let data = LogFixture::new();
        let log = data.open();
        append_each(&log, session(1), &["a"]).await;
        let name = if replaces_all { data.path() } else { data.path().join("lock") };
        std::fs::rename(&name, data.path().with_file_name("moved")).unwrap();
        if replaces_all { std::fs::create_dir(&name) } else { std::fs::write(&name, "") }.unwrap();
        let refused = log.append(session(1), EPOCH, 2, vec![record("b")]).await;
        assert!(matches!(refused, Err(LogError::Fenced)), "{refused:?}");
        drop(log);
    }
}

#[tokio::test]
async fn a_directory_that_others_can_read_is_made_private() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let open_to_all = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let data = LogFixture::new();
    std::fs::create_dir(data.path()).unwrap();
    open_to_all(&data.path(), 0o755);
    drop(data.open());
    assert_eq!(mode(&data.path()), 0o700);
    let parts = ["sessions", "unsettled", "feed", "lock"].map(|name| data.path().join(name));
    parts.iter().for_each(|path| open_to_all(path, 0o775));
    open_to_all(&data.path(), 0o777);
    drop(data.open());
    assert_eq!(mode(&data.path()), 0o700);
    parts.iter().for_each(|path| assert_eq!(mode(path), 0o700, "{}", path.display()));
    // A directory with other things in it is not ours alone to close.
    let shared = LogFixture::new();
    std::fs::create_dir(shared.path()).unwrap();
    std::fs::write(shared.path().join("notes.txt"), "").unwrap();
    open_to_all(&shared.path(), 0o755);
    drop(shared.open());
    assert_eq!(mode(&shared.path()), 0o755);
}

#[tokio::test]
async fn a_start_looks_at_no_settled_session() {
    let data = LogFixture::new();
    let log = data.open();
    for number in 0..20 {
        append_each(&log, session(number), &["a", "b"]).await;
        log.release(session(number), EPOCH, true).await.unwrap();
    }
    drop(log);
    let log = data.open();
    assert_eq!(log.bytes_read(), 0);
    assert_eq!(log.feed_end().borrow().0, 40);
}

#[tokio::test]
async fn a_removed_session_is_gone_and_the_others_are_not() {
    let data = LogFixture::new();
    let log = data.open();
    let (one, two) = (session(1), session(2));
    append_each(&log, one, &["a", "b"]).await;
    append_each(&log, two, &["c"]).await;
    log.put_blob(one, "artifacts/x".to_owned(), vec![1].into(), BlobWrite::Owned(EPOCH)).await.unwrap();
    log.remove(one, EPOCH).await.unwrap();
    assert!(matches!(log.remove(one, EPOCH).await, Err(LogError::NotFound)));
    assert!(matches!(log.read(one, 1, ALL).await, Err(LogError::NotFound)));
    assert!(matches!(get_blob(&log, one, "artifacts/x".to_owned()).await, Err(LogError::NotFound)));
    assert_eq!(log.sessions(None, ALL).await.unwrap(), [two]);
    assert_eq!(log.unsettled().await.unwrap(), [two]);
    assert_eq!(read_feed(&log).await.len(), 1);
    append_each(&log, two, &["d"]).await;
    // What a crash leaves of a removal is deleted by the next start.
    std::fs::create_dir(data.path().join(format!("trash-{one}"))).unwrap();
    drop(log);
    let log = data.open();
    assert_feed_whole(&log, &[two]).await;
    let left: Vec<_> =
        std::fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("trash-")), "{left:?}");
}

#[tokio::test]
async fn a_session_that_was_begun_and_has_no_record_leaves_nothing_when_it_is_removed() {
    let data = LogFixture::new();
    let log = data.open();
    let markers = || std::fs::read_dir(data.path().join("unsettled")).unwrap().count();
    log.begin_creation(session(1), EPOCH).await.unwrap();
    assert_eq!(markers(), 1);
    assert!(matches!(log.remove(session(1), EPOCH).await, Err(LogError::NotFound)));
    assert_eq!(markers(), 0);
}

#[tokio::test]
async fn the_example_in_the_description_of_the_format_is_a_log() {
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/log-format.md")).unwrap();
    let block = |name: &str| {
        let (_, rest) = document.split_once(&format!("```{name}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    let lines = block("ndjson").replace('␠', " ");
    let (_, rest) = lines.split_once("\"session_id\":\"").unwrap();
    let id = rest.split_once('"').unwrap().0.parse().unwrap();
    let data = LogFixture::new();
    std::fs::create_dir_all(data.folder(id)).unwrap();
    std::fs::write(data.log_path(id), &lines).unwrap();
    std::fs::create_dir(data.path().join("unsettled")).unwrap();
    std::fs::write(data.path().join("unsettled").join(id.to_string()), "{\"seq\":0,\"feed\":0}\n").unwrap();
    let log = data.open();
    let report = log.check(id).await.unwrap();
    assert_eq!((report.records, report.bytes, report.damage), (3, lines.len() as u64, None));
    assert!(log.read(id, 1, ALL).await.unwrap().iter().all(|line| line.record().is_ok()));
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let feed = hex(std::fs::read(data.path().join("feed")).unwrap());
    assert_eq!(feed, block("feed").split_whitespace().collect::<String>());
}
