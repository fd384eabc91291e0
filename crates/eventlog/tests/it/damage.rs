//! Torn and damaged logs: never silently accepted, never more lost than is bad.

use ostler_eventlog::{Log, LogError};

use crate::fixture::{
    ALL, EPOCH, LogFixture, append_each, assert_feed_whole, read_all, record, said, session,
};

async fn small_log(data: &LogFixture) -> Vec<u8> {
    let log = data.open();
    append_each(&log, session(1), &["one", "two", "three", "four", "five"]).await;
    std::fs::read(data.log_path(session(1))).unwrap()
}

/// Where the last line of a log begins.
fn last_line(log: &[u8]) -> usize {
    log[..log.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1
}

#[tokio::test]
async fn a_log_torn_anywhere_in_its_last_record_goes_on_after_the_one_before() {
    let data = LogFixture::new();
    let whole = small_log(&data).await;
    let start = last_line(&whole);
    let id = session(1);
    for cut in start..whole.len() {
        // Every second time zero bytes stand where the rest was to be written.
        let mut torn = whole[..cut].to_vec();
        if cut % 2 == 0 {
            torn.resize(whole.len() + 10, 0);
        }
        std::fs::write(data.log_path(id), &torn).unwrap();
        let log = data.open();
        assert_eq!(log.last_seq(id).await.unwrap(), 4, "cut at {cut}");
        assert_eq!(read_all(&log, id).await.len(), 4);
        assert_eq!(std::fs::read(data.log_path(id)).unwrap(), torn, "reading changes nothing");
        append_each(&log, id, &["again"]).await;
        assert_eq!(said(&read_all(&log, id).await[4]), "again");
        assert_eq!(log.check(id).await.unwrap().damage, None);
        let kept = data.folder(id).join(format!("torn-{start}"));
        if torn.len() > start {
            assert_eq!(std::fs::read(&kept).unwrap(), torn[start..]);
            std::fs::remove_file(&kept).unwrap();
            let noted = std::fs::read_to_string(data.path().join("quarantine.ndjson")).unwrap();
            assert!(noted.contains("\"kind\":\"torn\""), "{noted}");
        }
    }
}

#[tokio::test]
async fn an_append_of_many_records_is_there_as_a_whole_or_not_at_all() {
    let data = LogFixture::new();
    let log = data.open();
    let id = session(1);
    append_each(&log, id, &["before"]).await;
    log.append(id, EPOCH, 2, vec![record("a"), record("b"), record("c")]).await.unwrap();
    drop(log);
    let whole = std::fs::read(data.log_path(id)).unwrap();
    let start = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in start..whole.len() {
        std::fs::write(data.log_path(id), &whole[..cut]).unwrap();
        let log = data.open();
        assert_eq!(log.last_seq(id).await.unwrap(), 1, "cut at {cut}");
        append_each(&log, id, &["after"]).await;
        assert_eq!(read_all(&log, id).await.iter().map(said).collect::<Vec<_>>(), ["before", "after"]);
        let _ = std::fs::remove_file(data.folder(id).join(format!("torn-{start}")));
    }
}

#[tokio::test]
async fn a_flipped_byte_is_never_accepted_and_costs_no_record_before_it() {
    let data = LogFixture::new();
    let whole = small_log(&data).await;
    let id = session(1);
    let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').take(5).collect();
    for at in 0..whole.len() {
        let mask = [0x01, 0x20, 0xff, whole[at], whole[at] ^ b'\n'][at % 5];
        let mut flipped = whole.clone();
        flipped[at] ^= if mask == 0 { 0x10 } else { mask };
        std::fs::write(data.log_path(id), &flipped).unwrap();
        let log = data.open();
        let good = whole[..at].iter().filter(|byte| **byte == b'\n').count();
        let mut read: Vec<Vec<u8>> = Vec::new();
        let end = loop {
            match log.read(id, read.len() as u64 + 1, ALL).await {
                Ok(more) if more.is_empty() => break None,
                Ok(more) => read.extend(more.iter().map(|line| line.bytes.to_vec())),
                Err(error) => break Some(error),
            }
        };
        assert_eq!(read, &lines[..good], "byte {at}");
        match end {
            Some(LogError::Damaged { seq, .. }) => {
                assert_eq!(seq as usize, good + 1, "byte {at}");
                let refused = log.append(id, EPOCH, 6, vec![record("x")]).await;
                assert!(matches!(refused, Err(LogError::Damaged { .. })), "byte {at}: {refused:?}");
                assert_eq!(std::fs::read(data.log_path(id)).unwrap(), flipped);
                assert!(log.check(id).await.unwrap().damage.is_some());
            }
            // Only the last line can be torn.
            None => assert_eq!(good, 4, "byte {at}"),
            Some(error) => panic!("byte {at}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_damaged_log_is_reported_once_and_salvaged_on_request() {
    let data = LogFixture::new();
    let whole = small_log(&data).await;
    let id = session(1);
    let mut damaged = whole.clone();
    let third = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    damaged[third + 100] ^= 1;
    std::fs::write(data.log_path(id), &damaged).unwrap();
    for _ in 0..2 {
        let log = data.open();
        assert!(matches!(log.read(id, 3, ALL).await, Err(LogError::Damaged { seq: 3, .. })));
        assert!(matches!(log.read(id, 4, ALL).await, Err(LogError::Damaged { seq: 3, .. })));
    }
    let noted = std::fs::read_to_string(data.path().join("quarantine.ndjson")).unwrap();
    assert_eq!(noted.lines().count(), 1, "{noted}");

    let log = data.open();
    let report = log.salvage(id).await.unwrap();
    assert_eq!(report.records, 2);
    assert_eq!(std::fs::read(report.kept_as.unwrap()).unwrap(), damaged);
    assert_eq!(std::fs::read(data.log_path(id)).unwrap(), whole[..third]);
    append_each(&log, id, &["after"]).await;
    assert_eq!(read_all(&log, id).await.iter().map(said).collect::<Vec<_>>(), ["one", "two", "after"]);
    assert_eq!(log.salvage(id).await.unwrap().kept_as, None);
    drop(log);
    let log = data.open();
    assert_feed_whole(&log, &[id]).await;
}

#[tokio::test]
async fn a_salvage_in_the_middle_of_an_append_keeps_its_first_records() {
    let data = LogFixture::new();
    let log = data.open();
    let id = session(1);
    log.append(id, EPOCH, 1, vec![record("a"), record("b"), record("c")]).await.unwrap();
    drop(log);
    let mut bytes = std::fs::read(data.log_path(id)).unwrap();
    let end = bytes.len();
    bytes[end - 60] ^= 1;
    std::fs::write(data.log_path(id), &bytes).unwrap();
    let log = data.open();
    assert_eq!(log.salvage(id).await.unwrap().records, 2);
    append_each(&log, id, &["d"]).await;
    assert_eq!(read_all(&log, id).await.iter().map(said).collect::<Vec<_>>(), ["a", "b", "d"]);
    assert_eq!(log.check(id).await.unwrap().records, 3);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_damage() {
    let data = LogFixture::new();
    let mut bytes = small_log(&data).await;
    let id = session(1);
    let start = bytes.len() as u64;
    bytes.extend(std::iter::repeat_n(b'x', 5_000_000));
    bytes.extend_from_slice(b"\n");
    std::fs::write(data.log_path(id), &bytes).unwrap();
    let log = data.open();
    assert_eq!(read_all_before_damage(&log).await, 5);
    match log.read(id, 6, ALL).await {
        Err(LogError::Damaged { seq: 6, offset, .. }) => assert_eq!(offset, Some(start)),
        other => panic!("{other:?}"),
    }
    let refused = log.append(id, EPOCH, 6, vec![record("x")]).await;
    assert!(matches!(refused, Err(LogError::Damaged { seq: 6, .. })), "{refused:?}");
}

async fn read_all_before_damage(log: &ostler_eventlog::FileLog) -> usize {
    log.read(session(1), 1, ALL).await.unwrap().len()
}

#[tokio::test]
async fn the_log_of_another_session_is_not_taken_for_ones_own() {
    let data = LogFixture::new();
    let bytes = small_log(&data).await;
    std::fs::create_dir(data.folder(session(2))).unwrap();
    std::fs::write(data.log_path(session(2)), bytes).unwrap();
    let log = data.open();
    assert!(matches!(
        log.read(session(2), 1, ALL).await,
        Err(LogError::Damaged { seq: 1, offset: Some(0), .. })
    ));
}

#[tokio::test]
async fn nothing_is_appended_after_a_last_record_that_is_damaged() {
    let data = LogFixture::new();
    let whole = small_log(&data).await;
    let id = session(1);
    let start = last_line(&whole);
    for at in (start..whole.len() - 1).step_by(11) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        std::fs::write(data.log_path(id), &flipped).unwrap();
        let log = data.open();
        for next in [5, 6] {
            match log.append(id, EPOCH, next, vec![record("x")]).await {
                Err(LogError::Damaged { seq: 5, offset, .. }) => assert_eq!(offset, Some(start as u64)),
                other => panic!("byte {at}: {other:?}"),
            }
        }
        assert_eq!(log.last_seq(id).await.unwrap(), 4);
        assert_eq!(std::fs::read(data.log_path(id)).unwrap(), flipped);
    }
}
