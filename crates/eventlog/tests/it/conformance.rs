//! What every log owes the engine, asked of the log on disk and of the one in memory that tests share.

use bytes::Bytes;
use ostler_eventlog::{BlobEntry, BlobWrite, Epoch, FeedPosition, Log, LogError, LogLine};
use ostler_testing::shared_log::SharedLog;
use ostler_types::SessionId;

use crate::fixture::{ALL, LogFixture, delta, record, said, session, turn, turn_end};

/// No claim gave this one.
const VOID: Epoch = Epoch(u64::MAX);

/// Makes a test of each function for each log.
macro_rules! over_both_logs {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[tokio::test]
            async fn on_disk() {
                let data = super::LogFixture::new();
                super::$name(&data.open()).await;
            }

            #[tokio::test]
            async fn in_memory() {
                super::$name(&super::SharedLog::default()).await;
            }
        }
    )+};
}

over_both_logs! {
    records_are_read_back_as_they_were_appended,
    a_void_epoch_changes_nothing,
    lines_of_another_log_are_copied_byte_for_byte,
    lines_that_do_not_follow_are_not_copied,
    drafts_end_with_the_record_that_holds_them,
    a_snapshot_is_replaced_and_goes_with_its_session,
    a_new_file_replaces_nothing_and_the_owner_s_does,
    files_are_listed_in_order_and_read_in_parts,
    sessions_are_listed_in_pages,
    a_removed_session_is_gone,
    the_feed_has_the_order_of_the_appends,
}

async fn claim(log: &dyn Log, id: SessionId) -> Epoch {
    log.claim(id).await.unwrap().epoch
}

/// A session with these records.
async fn make(log: &dyn Log, id: SessionId, texts: &[&str]) -> (Epoch, Vec<LogLine>) {
    let epoch = claim(log, id).await;
    let records = texts.iter().map(|text| record(text)).collect();
    (epoch, log.append(id, epoch, 1, records).await.unwrap())
}

async fn lines(log: &dyn Log, id: SessionId) -> Vec<LogLine> {
    log.read(id, 1, ALL).await.unwrap()
}

async fn content(log: &dyn Log, id: SessionId, name: &str) -> Result<Bytes, LogError> {
    log.open_blob(id, name.to_owned()).await?.read(0, ALL).await
}

async fn records_are_read_back_as_they_were_appended(log: &dyn Log) {
    let id = session(1);
    assert_eq!(log.claim(id).await.unwrap().last_seq, 0);
    assert!(matches!(log.read(id, 1, ALL).await, Err(LogError::NotFound)));
    let (epoch, appended) = make(log, id, &["a", "b", "c"]).await;
    assert_eq!(appended.iter().map(|line| line.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(lines(log, id).await, appended);
    assert_eq!(log.last_seq(id).await.unwrap(), 3);
    assert_eq!(log.read(id, 2, 1).await.unwrap(), appended[1..2], "one, however small the limit is");
    assert!(log.read(id, 4, ALL).await.unwrap().is_empty());
    for expected in [1, 3, 5] {
        let refused = log.append(id, epoch, expected, vec![record("x")]).await;
        assert!(matches!(refused, Err(LogError::Conflict { next: 4, .. })), "{refused:?}");
    }
    let large = "x".repeat(5 << 20);
    let refused = log.append(id, epoch, 4, vec![record("d"), record(&large)]).await;
    assert!(matches!(refused, Err(LogError::TooLarge { .. })), "{refused:?}");
    assert_eq!(lines(log, id).await, appended, "all or nothing");
    assert_eq!(log.claim(id).await.unwrap().last_seq, 3);
}

async fn a_void_epoch_changes_nothing(log: &dyn Log) {
    let (id, name) = (session(1), || "attachments/a".to_owned());
    let (epoch, appended) = make(log, id, &["a"]).await;
    let lines_of_another = {
        let other = SharedLog::default();
        make(&other, session(2), &["x"]).await.1
    };
    let fenced =
        |result: Result<(), LogError>| assert!(matches!(result, Err(LogError::Fenced)), "{result:?}");
    fenced(log.append(id, VOID, 2, vec![record("b")]).await.map(drop));
    fenced(log.append_sealed(id, VOID, lines_of_another).await);
    fenced(log.save_snapshot(id, VOID, Bytes::from_static(b"x")).await);
    fenced(log.put_blob(id, name(), Bytes::from_static(b"x"), BlobWrite::Owned(VOID)).await);
    fenced(log.begin_creation(session(3), VOID).await);
    fenced(log.finish_creation(id, VOID).await);
    fenced(log.release(id, VOID, true).await);
    fenced(log.remove(id, VOID).await);
    log.save_draft(id, VOID, turn(1), delta(0, "lost"));
    assert_eq!(lines(log, id).await, appended);
    assert_eq!(log.unsettled().await.unwrap(), [id]);
    assert!(log.drafts(id).await.unwrap().is_empty());
    assert_eq!(log.snapshot(id).await.unwrap(), None);
    assert!(matches!(log.open_blob(id, name()).await.map(drop), Err(LogError::NotFound)));
    log.release(id, epoch, true).await.unwrap();
    assert!(log.unsettled().await.unwrap().is_empty());
}

async fn lines_of_another_log_are_copied_byte_for_byte(log: &dyn Log) {
    let (id, other) = (session(1), SharedLog::default());
    let (_, sealed) = make(&other, id, &["a", "b", "c"]).await;
    let epoch = claim(log, id).await;
    log.append_sealed(id, epoch, sealed[..2].to_vec()).await.unwrap();
    log.append_sealed(id, epoch, sealed[2..].to_vec()).await.unwrap();
    log.append_sealed(id, epoch, Vec::new()).await.unwrap();
    assert_eq!(lines(log, id).await, sealed);
    // The log goes on as if the records had been appended here.
    let own = log.append(id, epoch, 4, vec![record("d")]).await.unwrap();
    let epoch = claim(&other, id).await;
    assert_eq!(other.append(id, epoch, 4, vec![record("d")]).await.unwrap(), own);
    let feed = log.read_feed(FeedPosition(0), 10).await.unwrap();
    assert_eq!(feed.iter().map(|record| said(&record.line)).collect::<String>(), "abcd");
}

async fn lines_that_do_not_follow_are_not_copied(log: &dyn Log) {
    let (id, other) = (session(1), SharedLog::default());
    let (_, sealed) = make(&other, id, &["a", "b", "c"]).await;
    let (_, of_another) = make(&other, session(2), &["a"]).await;
    let (epoch, appended) = make(log, id, &["a"]).await;
    assert_eq!(appended, sealed[..1]);
    let mut changed = sealed[1].clone();
    changed.bytes = changed.bytes.iter().map(|byte| if *byte == b'b' { b'B' } else { *byte }).collect();
    for (what, wrong) in [
        ("again", sealed[..1].to_vec()),
        ("with a gap", sealed[2..].to_vec()),
        ("in another order", vec![sealed[2].clone(), sealed[1].clone()]),
        ("with one line changed", vec![changed]),
        ("of another session", of_another),
        ("with a good beginning", vec![sealed[1].clone(), sealed[1].clone()]),
    ] {
        let refused = log.append_sealed(id, epoch, wrong).await;
        assert!(matches!(refused, Err(LogError::Damaged { .. })), "{what}: {refused:?}");
        assert_eq!(lines(log, id).await, appended, "{what}");
    }
    // A log that has gone on otherwise takes nothing of the other one.
    log.append(id, epoch, 2, vec![record("other")]).await.unwrap();
    assert!(matches!(
        log.append_sealed(id, epoch, sealed[2..].to_vec()).await,
        Err(LogError::Damaged { .. })
    ));
}

async fn drafts_end_with_the_record_that_holds_them(log: &dyn Log) {
    let id = session(1);
    let (epoch, _) = make(log, id, &["a"]).await;
    log.save_draft(id, epoch, turn(1), delta(0, "Hel"));
    log.save_draft(id, epoch, turn(1), delta(3, "lo"));
    log.append(id, epoch, 2, vec![record("b")]).await.unwrap();
    let kept = [(turn(1), delta(0, "Hel")), (turn(1), delta(3, "lo"))];
    assert_eq!(log.drafts(id).await.unwrap(), kept);
    log.append(id, epoch, 3, vec![turn_end()]).await.unwrap();
    assert!(log.drafts(id).await.unwrap().is_empty());
}

async fn a_snapshot_is_replaced_and_goes_with_its_session(log: &dyn Log) {
    let id = session(1);
    assert_eq!(log.snapshot(id).await.unwrap(), None);
    let (epoch, _) = make(log, id, &["a"]).await;
    for text in ["first", "second, which is longer", "3"] {
        log.save_snapshot(id, epoch, Bytes::from(text)).await.unwrap();
        assert_eq!(log.snapshot(id).await.unwrap().unwrap(), text);
    }
    log.remove(id, epoch).await.unwrap();
    assert_eq!(log.snapshot(id).await.unwrap(), None);
}

async fn a_new_file_replaces_nothing_and_the_owner_s_does(log: &dyn Log) {
    let (id, name) = (session(1), || "artifacts/t/x".to_owned());
    let put = |content: &'static str, put| log.put_blob(id, name(), Bytes::from(content), put);
    assert!(matches!(put("0", BlobWrite::New).await, Err(LogError::NotFound)));
    let (epoch, _) = make(log, id, &["a"]).await;
    put("1", BlobWrite::New).await.unwrap();
    assert!(matches!(put("2", BlobWrite::New).await, Err(LogError::Exists)));
    assert_eq!(content(log, id, "artifacts/t/x").await.unwrap(), "1");
    put("3", BlobWrite::Owned(epoch)).await.unwrap();
    assert_eq!(content(log, id, "artifacts/t/x").await.unwrap(), "3");
    assert!(matches!(put("4", BlobWrite::New).await, Err(LogError::Exists)));
    assert_eq!(log.list_blobs(id, "artifacts/".to_owned(), ALL).await.unwrap().len(), 1);
}

async fn files_are_listed_in_order_and_read_in_parts(log: &dyn Log) {
    let (id, other) = (session(1), session(2));
    assert!(log.list_blobs(id, "attachments/".to_owned(), ALL).await.unwrap().is_empty());
    make(log, id, &["a"]).await;
    make(log, other, &["a"]).await;
    for name in ["attachments/b", "artifacts/t2/x", "attachments/a", "artifacts/t1/y"] {
        log.put_blob(id, name.to_owned(), Bytes::from(name), BlobWrite::New).await.unwrap();
    }
    let list = async |folder: &str, limit| log.list_blobs(id, folder.to_owned(), limit).await.unwrap();
    let entry = |name: &str| BlobEntry { name: name.to_owned(), size: name.len() as u64 };
    assert_eq!(list("attachments/", ALL).await, [entry("attachments/a"), entry("attachments/b")]);
    assert_eq!(list("artifacts/", ALL).await, [entry("artifacts/t1/y"), entry("artifacts/t2/x")]);
    assert_eq!(list("artifacts/t2/", ALL).await, [entry("artifacts/t2/x")]);
    assert_eq!(list("attachments/", 1).await, [entry("attachments/a")]);
    let blob = log.open_blob(id, "attachments/b".to_owned()).await.unwrap();
    assert_eq!(blob.size(), 13);
    assert_eq!(blob.read(0, 6).await.unwrap(), "attach");
    assert_eq!(blob.read(12, ALL).await.unwrap(), "b");
    assert!(blob.read(13, 5).await.unwrap().is_empty() && blob.read(u64::MAX, 5).await.unwrap().is_empty());
    log.share_blob(id, other, "attachments/b".to_owned()).await.unwrap();
    assert_eq!(content(log, other, "attachments/b").await.unwrap(), "attachments/b");
    let missing = log.share_blob(id, other, "attachments/c".to_owned()).await;
    assert!(matches!(missing, Err(LogError::NotFound)));
    let epoch = claim(log, id).await;
    log.remove(id, epoch).await.unwrap();
    assert_eq!(blob.read(0, ALL).await.unwrap(), "attachments/b", "what is open stays readable");
    assert_eq!(content(log, other, "attachments/b").await.unwrap(), "attachments/b");
}

async fn sessions_are_listed_in_pages(log: &dyn Log) {
    let all: Vec<SessionId> = (1..=5).map(session).collect();
    for id in [4, 2, 5, 1, 3] {
        make(log, session(id), &["a"]).await;
    }
    assert_eq!(log.sessions(None, ALL).await.unwrap(), all);
    assert_eq!(log.sessions(None, 2).await.unwrap(), all[..2]);
    assert_eq!(log.sessions(Some(all[1]), 2).await.unwrap(), all[2..4]);
    assert_eq!(log.sessions(Some(all[3]), 2).await.unwrap(), all[4..]);
    assert!(log.sessions(Some(all[4]), 2).await.unwrap().is_empty());
}

async fn a_removed_session_is_gone(log: &dyn Log) {
    let id = session(1);
    assert!(!log.has_session(id).await.unwrap());
    let (epoch, _) = make(log, id, &["a"]).await;
    assert!(log.has_session(id).await.unwrap());
    log.remove(id, epoch).await.unwrap();
    assert!(!log.has_session(id).await.unwrap());
    assert!(matches!(log.read(id, 1, ALL).await, Err(LogError::NotFound)));
    assert_eq!(log.last_seq(id).await.unwrap(), 0);
    assert!(log.sessions(None, ALL).await.unwrap().is_empty() && log.unsettled().await.unwrap().is_empty());
    let epoch = claim(log, id).await;
    assert!(matches!(log.remove(id, epoch).await, Err(LogError::NotFound)));
}

async fn the_feed_has_the_order_of_the_appends(log: &dyn Log) {
    let (one, two) = (session(1), session(2));
    let (first, _) = make(log, one, &["a", "b"]).await;
    let (second, _) = make(log, two, &["c"]).await;
    log.append(one, first, 3, vec![record("d")]).await.unwrap();
    log.append(two, second, 2, vec![record("e")]).await.unwrap();
    let mut from = FeedPosition(0);
    let mut seen = Vec::new();
    loop {
        let page = log.read_feed(from, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        from = last.next;
        seen.extend(page.iter().map(|record| (record.session_id, said(&record.line))));
    }
    let expected = [(one, "a"), (one, "b"), (two, "c"), (one, "d"), (two, "e")];
    assert_eq!(seen, expected.map(|(id, text)| (id, text.to_owned())));
    assert_eq!(*log.feed_end().borrow(), from);
}
