//! Sessions in the folders of others, and sessions that are made by several appends.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use ostler_eventlog::{BlobWrite, FileLog, Log, LogError};
use ostler_testing::disk::{FaultDisk, FaultPlan};
use ostler_types::SessionId;

use crate::fixture::{ALL, EPOCH, LogFixture, get_blob, record, session};

async fn make(log: &FileLog, id: SessionId) {
    log.append(id, EPOCH, 1, vec![record("made")]).await.unwrap();
}

async fn make_under(log: &FileLog, id: SessionId, parent: SessionId) {
    log.create_under(id, parent).await.unwrap();
    make(log, id).await;
}

async fn sorted(log: &FileLog) -> Vec<SessionId> {
    let mut sessions = log.sessions(None, ALL).await.unwrap();
    sessions.sort();
    sessions
}

#[tokio::test]
async fn a_session_lies_in_anothers_folder_and_is_found_by_its_id() {
    let data = LogFixture::new();
    let (top, child, below) = (session(0xaa), session(0xbb), session(0xcc));
    let log = data.open();
    make(&log, top).await;
    make_under(&log, child, top).await;
    make_under(&log, below, child).await;
    assert_eq!(
        std::fs::read_link(data.folder(child)).unwrap(),
        Path::new(&top.to_string()).join("subagent_0000bb")
    );
    assert!(data.folder(top).join("subagent_0000bb/subagent_0000cc/events.ndjson").is_file());
    assert_eq!(sorted(&log).await, [top, child, below]);
    assert_eq!(log.sessions_under(top).await.unwrap(), [child]);
    assert_eq!(log.sessions_under(child).await.unwrap(), [below]);
    log.put_blob(below, "artifacts/x".to_owned(), Bytes::from_static(b"1"), BlobWrite::Owned(EPOCH))
        .await
        .unwrap();
    log.append(below, EPOCH, 2, vec![record("more")]).await.unwrap();
    log.release(below, EPOCH, true).await.unwrap();
    drop(log);
    let moved = data.path().with_file_name("moved");
    std::fs::rename(data.path(), &moved).unwrap();
    let log = crate::fixture::open_at(&moved);
    assert_eq!(log.read(below, 1, ALL).await.unwrap().len(), 2);
    assert_eq!(get_blob(&log, below, "artifacts/x".to_owned()).await.unwrap().as_ref(), b"1");
    assert!(log.check(below).await.unwrap().damage.is_none());
}

#[tokio::test]
async fn removing_one_removes_those_in_its_folder() {
    let data = LogFixture::new();
    let ids: Vec<SessionId> = (1..=5).map(session).collect();
    let log = data.open();
    make(&log, ids[0]).await;
    make_under(&log, ids[1], ids[0]).await;
    make_under(&log, ids[2], ids[1]).await;
    make_under(&log, ids[3], ids[0]).await;
    make(&log, ids[4]).await;
    log.remove(ids[3], EPOCH).await.unwrap();
    assert!(!data.folder(ids[3]).is_symlink());
    assert_eq!(sorted(&log).await, [ids[0], ids[1], ids[2], ids[4]]);
    log.remove(ids[0], EPOCH).await.unwrap();
    assert_eq!(sorted(&log).await, [ids[4]]);
    assert_eq!(log.unsettled().await.unwrap(), [ids[4]]);
    assert!(matches!(log.read(ids[2], 1, ALL).await, Err(LogError::NotFound)));
    assert_eq!(std::fs::read_dir(data.path().join("sessions")).unwrap().count(), 1);
    // Their ids are free again.
    make(&log, ids[2]).await;
}

#[tokio::test]
async fn two_with_the_same_last_digits_have_two_folders() {
    let data = LogFixture::new();
    let log = data.open();
    make(&log, session(1)).await;
    make_under(&log, session(0x01_aa_bb_cc), session(1)).await;
    make_under(&log, session(0x02_aa_bb_cc), session(1)).await;
    assert!(data.folder(session(1)).join("subagent_aabbcc").is_dir());
    assert!(data.folder(session(1)).join("subagent_02aabbcc").is_dir());
    assert!(matches!(log.create_under(session(9), session(8)).await, Err(LogError::NotFound)));
}

#[tokio::test]
async fn names_that_somebody_lost_or_left_are_mended() {
    let data = LogFixture::new();
    let log = data.open();
    make(&log, session(1)).await;
    make_under(&log, session(2), session(1)).await;
    make_under(&log, session(3), session(2)).await;
    drop(log);
    std::fs::remove_file(data.folder(session(2))).unwrap();
    std::fs::remove_file(data.folder(session(3))).unwrap();
    std::os::unix::fs::symlink("nowhere", data.folder(session(4))).unwrap();
    let log = data.open();
    assert_eq!(sorted(&log).await, [session(1), session(2), session(3)]);
    assert_eq!(log.read(session(3), 1, ALL).await.unwrap().len(), 1);
    assert!(!data.folder(session(4)).is_symlink());
}

#[tokio::test]
async fn a_crash_at_any_write_leaves_a_whole_session_or_nothing() {
    for number in 1.. {
        let data = LogFixture::new();
        let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
        let log = data.open_on(disk.clone());
        make(&log, session(1)).await;
        let at = disk.operations() + number;
        disk.set_plan(FaultPlan::parse(&format!("eio:{at}..")).unwrap());
        let placed = log.create_under(session(2), session(1)).await;
        let made = log.append(session(2), EPOCH, 1, vec![record("made")]).await;
        drop(log);
        let done = disk.operations() < at;
        disk.set_plan(FaultPlan::default());
        disk.cut_power().unwrap();
        let log = data.open();
        let nested = || {
            let names =
                std::fs::read_dir(data.folder(session(1))).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().starts_with("subagent_")).count()
        };
        // Without its place it is made beside the others, as if it had not been asked for.
        if made.is_ok() && placed.is_ok() {
            assert_eq!(sorted(&log).await, [session(1), session(2)], "at {number}");
            assert_eq!(nested(), 1);
        } else if made.is_err() {
            assert_eq!(sorted(&log).await, [session(1)], "at {number}");
            assert_eq!((nested(), data.folder(session(2)).is_symlink()), (0, false), "at {number}");
            make_under(&log, session(2), session(1)).await;
        }
        if done {
            break;
        }
    }
}

#[tokio::test]
async fn a_session_that_was_begun_counts_when_it_is_finished() {
    let data = LogFixture::new();
    let log = data.open();
    for id in [session(1), session(2)] {
        log.begin_creation(id, EPOCH).await.unwrap();
        make(&log, id).await;
        log.append(id, EPOCH, 2, vec![record("more")]).await.unwrap();
    }
    log.finish_creation(session(1), EPOCH).await.unwrap();
    drop(log);
    let log = data.open();
    assert_eq!(sorted(&log).await, [session(1)]);
    assert_eq!(log.unsettled().await.unwrap(), [session(1)], "it still needs a look");
    assert_eq!(log.read(session(1), 1, ALL).await.unwrap().len(), 2);
    assert!(!data.folder(session(2)).exists());
    make(&log, session(2)).await;
}

#[tokio::test]
async fn a_file_is_shared_and_outlives_its_first_session() {
    let data = LogFixture::new();
    let log = data.open();
    make(&log, session(1)).await;
    make(&log, session(2)).await;
    log.put_blob(
        session(1),
        "artifacts/t/x".to_owned(),
        Bytes::from_static(b"whole"),
        BlobWrite::Owned(EPOCH),
    )
    .await
    .unwrap();
    for _ in 0..2 {
        log.share_blob(session(1), session(2), "artifacts/t/x".to_owned()).await.unwrap();
    }
    let missing = log.share_blob(session(1), session(2), "artifacts/t/y".to_owned()).await;
    assert!(matches!(missing, Err(LogError::NotFound)));
    assert!(log.share_blob(session(1), session(2), "../x".to_owned()).await.is_err());
    log.remove(session(1), EPOCH).await.unwrap();
    assert_eq!(get_blob(&log, session(2), "artifacts/t/x".to_owned()).await.unwrap().as_ref(), b"whole");
}
