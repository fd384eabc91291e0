//! What lies beside the records: markers, drafts, files.

use std::os::unix::fs::PermissionsExt;

use bytes::Bytes;
use ostler_eventlog::{BlobWrite, Log, LogError};
use ostler_types::SessionId;

use crate::fixture::{EPOCH, LogFixture, append_each, delta, get_blob, record, session, turn, turn_end};

#[tokio::test]
async fn a_session_is_unsettled_from_its_append_until_it_is_settled() {
    let data = LogFixture::new();
    let log = data.open();
    let (one, two) = (session(1), session(2));
    append_each(&log, one, &["a"]).await;
    append_each(&log, two, &["a"]).await;
    log.release(one, EPOCH, true).await.unwrap();
    assert_eq!(log.unsettled().await.unwrap(), [two]);
    drop(log);
    let log = data.open();
    assert_eq!(log.unsettled().await.unwrap(), [two]);
    log.release(two, EPOCH, true).await.unwrap();
    assert_eq!(log.unsettled().await.unwrap(), Vec::<SessionId>::new());
    append_each(&log, one, &["b"]).await;
    assert_eq!(log.unsettled().await.unwrap(), [one]);
    let marker = std::fs::read_to_string(data.path().join("unsettled").join(one.to_string())).unwrap();
    assert_eq!(marker, "{\"seq\":1,\"feed\":2}\n");
}

#[tokio::test]
async fn drafts_last_until_the_record_that_holds_them() {
    let data = LogFixture::new();
    let log = data.open();
    let id = session(1);
    append_each(&log, id, &["a"]).await;
    log.save_draft(id, EPOCH, turn(1), delta(0, "Hel"));
    log.save_draft(id, EPOCH, turn(1), delta(3, "lo"));
    append_each(&log, id, &["b"]).await;
    let kept = vec![(turn(1), delta(0, "Hel")), (turn(1), delta(3, "lo"))];
    assert_eq!(log.drafts(id).await.unwrap(), kept);
    drop(log);
    let log = data.open();
    assert_eq!(log.drafts(id).await.unwrap(), kept);
    let file = data.folder(id).join("drafts.ndjson");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(log.drafts(id).await.unwrap(), kept[..1], "a torn draft is left out");

    // The draft after the end of a message belongs to the next one.
    let append = log.append(id, EPOCH, 3, vec![turn_end()]);
    log.save_draft(id, EPOCH, turn(1), delta(5, " gone"));
    let (appended, ()) = tokio::join!(append, async {
        tokio::task::yield_now().await;
        log.save_draft(id, EPOCH, turn(2), delta(0, "next"));
    });
    appended.unwrap();
    append_each(&log, id, &["c"]).await;
    assert_eq!(log.drafts(id).await.unwrap(), [(turn(2), delta(0, "next"))]);
}

#[tokio::test]
async fn files_beside_a_log_are_kept_and_stay_in_their_folder() {
    let data = LogFixture::new();
    let log = data.open();
    let id = session(1);
    let name = "artifacts/turn_1/out.txt".to_owned();
    assert!(matches!(
        log.put_blob(id, name.clone(), vec![1].into(), BlobWrite::Owned(EPOCH)).await,
        Err(LogError::NotFound)
    ));
    append_each(&log, id, &["a"]).await;
    assert!(matches!(get_blob(&log, id, name.clone()).await, Err(LogError::NotFound)));
    log.put_blob(id, name.clone(), vec![1].into(), BlobWrite::Owned(EPOCH)).await.unwrap();
    log.put_blob(id, name.clone(), Bytes::from_static(b"whole"), BlobWrite::Owned(EPOCH)).await.unwrap();
    assert_eq!(&get_blob(&log, id, name).await.unwrap()[..], b"whole");
    for bad in ["../../lock", "/etc/passwd", "", "events.ndjson", "a//b", "artifacts/../events.ndjson"] {
        assert!(
            matches!(
                log.put_blob(id, bad.to_owned(), vec![].into(), BlobWrite::Owned(EPOCH)).await,
                Err(LogError::Io(_))
            ),
            "{bad}"
        );
        assert!(matches!(get_blob(&log, id, bad.to_owned()).await, Err(LogError::Io(_))), "{bad}");
    }
    let left: Vec<_> = std::fs::read_dir(data.folder(id).join("artifacts/turn_1")).unwrap().collect();
    assert_eq!(left.len(), 1, "no part is left behind");
}

#[tokio::test]
async fn everything_is_for_its_owner_alone() {
    let data = LogFixture::new();
    let log = data.open();
    let id = session(1);
    log.append(id, EPOCH, 1, vec![record("a")]).await.unwrap();
    log.save_draft(id, EPOCH, turn(1), delta(0, "x"));
    append_each(&log, id, &["b"]).await;
    log.put_blob(id, "artifacts/a".to_owned(), vec![1].into(), BlobWrite::Owned(EPOCH)).await.unwrap();
    let mut waiting = vec![data.path()];
    let mut seen = 0;
    while let Some(path) = waiting.pop() {
        let metadata = std::fs::metadata(&path).unwrap();
        let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o777, wanted, "{}", path.display());
        seen += 1;
        if metadata.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert!(seen >= 10, "{seen}");
}
