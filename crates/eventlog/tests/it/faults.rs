//! A disk that fails at every operation in turn: what was acknowledged is there, and the rest goes on.

use std::sync::Arc;

use ostler_eventlog::{FileLog, Log, LogError, OpenError};
use ostler_testing::disk::{FaultDisk, FaultPlan};
use ostler_types::SessionId;

use crate::fixture::{
    ALL, EPOCH, LogFixture, append_each, assert_feed_whole, delta, open_at, read_all, record, said, session,
    turn,
};

/// What a script was told.
#[derive(Debug, Default)]
pub(crate) struct AcknowledgedWrites {
    /// The texts acknowledged, for each session.
    pub(crate) acknowledged: [Vec<String>; 2],
    pub(crate) refused: usize,
}

pub(crate) fn both() -> [SessionId; 2] {
    [session(1), session(2)]
}

fn plan(text: &str) -> FaultPlan {
    FaultPlan::parse(text).unwrap()
}

/// Five appends on two sessions, drafts, settling. An append that fails is not repeated.
pub(crate) async fn script(log: &FileLog, mut on_ack: impl FnMut(usize, &str)) -> AcknowledgedWrites {
    let mut told = AcknowledgedWrites::default();
    for round in 0..5 {
        for (index, id) in both().into_iter().enumerate() {
            let (first, second) = (format!("{index}/{round}/a"), format!("{index}/{round}/b"));
            let next = log.last_seq(id).await.unwrap() + 1;
            match log.append(id, EPOCH, next, vec![record(&first), record(&second)]).await {
                Ok(lines) => {
                    assert_eq!(lines[0].seq, next);
                    for text in [first, second] {
                        on_ack(index, &text);
                        told.acknowledged[index].push(text);
                    }
                }
                Err(LogError::Full | LogError::Io(_) | LogError::NotFound) => told.refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        log.save_draft(session(1), EPOCH, turn(1), delta(round, "x"));
        if round == 2 && log.release(session(2), EPOCH, true).await.is_err() {
            told.refused += 1;
        }
    }
    told
}

/// Every record acknowledged is there, in order; what else is there was handed over and came in between.
pub(crate) async fn assert_kept(log: &FileLog, told: &AcknowledgedWrites, exact: bool, context: &str) {
    for (index, id) in both().into_iter().enumerate() {
        let lines = read_all(log, id).await;
        let texts: Vec<String> = lines.iter().map(said).collect();
        assert!(lines.iter().zip(1..).all(|(line, seq)| line.seq == seq), "{context}: holes");
        assert!(
            texts.chunks(2).all(|pair| pair.len() == 2 && pair[0][..3] == pair[1][..3]),
            "{context}: {texts:?}"
        );
        if exact {
            assert_eq!(texts, told.acknowledged[index], "{context}");
        } else {
            let mut rest = texts.iter();
            for wanted in &told.acknowledged[index] {
                assert!(rest.any(|text| text == wanted), "{context}: {wanted} is not in {texts:?}");
            }
        }
        if !lines.is_empty() {
            assert_eq!(log.check(id).await.unwrap().records, lines.len() as u64, "{context}");
        }
    }
    assert_feed_whole(log, &both()).await;
}

#[tokio::test]
async fn a_fault_at_any_operation_costs_nothing_that_was_acknowledged() {
    let clean = Arc::new(FaultDisk::new(FaultPlan::default()));
    let data = LogFixture::new();
    let log = data.open_on(clean.clone());
    let opened = clean.operations();
    let told = script(&log, |_, _| ()).await;
    assert_eq!((told.refused, told.acknowledged[0].len()), (0, 10));
    drop(log);
    let operations = clean.operations();
    assert!(operations > opened + 40, "{operations}");
    for kind in ["enospc", "eio", "short-enospc"] {
        for number in 1..=operations {
            let data = LogFixture::new();
            let context = format!("{kind} at {number}");
            let disk = Arc::new(FaultDisk::new(plan(&format!("{kind}:{number}"))));
            let log = match FileLog::open(&data.path(), disk.clone()) {
                Ok(log) => log,
                Err(OpenError::Io(_)) if number <= opened => continue,
                Err(error) => panic!("{context}: {error}"),
            };
            let told = script(&log, |_, _| ()).await;
            assert!(told.refused <= 1, "{context}: one fault, one refusal, not {told:?}");
            // A draft may share its group with an append or not, so the last faults may not have come yet.
            disk.set_plan(FaultPlan::default());
            assert_kept(&log, &told, true, &context).await;
            for id in both() {
                append_each(&log, id, &["x/x/a", "x/x/b"]).await;
            }
            drop(log);
            let log = data.open();
            for (index, id) in both().into_iter().enumerate() {
                assert_eq!(read_all(&log, id).await.len(), told.acknowledged[index].len() + 2, "{context}");
            }
            assert_feed_whole(&log, &both()).await;
        }
    }
}

#[tokio::test]
async fn a_disk_that_dies_at_any_operation_keeps_what_was_acknowledged() {
    let clean = Arc::new(FaultDisk::new(FaultPlan::default()));
    let data = LogFixture::new();
    let log = data.open_on(clean.clone());
    let opened = clean.operations();
    script(&log, |_, _| ()).await;
    drop(log);
    for number in opened + 1..=clean.operations() {
        for power_cut in [false, true] {
            let data = LogFixture::new();
            let disk = Arc::new(FaultDisk::new(plan(&format!("short-eio:{number}..,eio:{number}.."))));
            let log = data.open_on(disk.clone());
            let told = script(&log, |_, _| ()).await;
            drop(log);
            if power_cut {
                disk.cut_power().unwrap();
            }
            let context = format!("dead from {number}, power cut: {power_cut}");
            assert_kept(&data.open(), &told, false, &context).await;
        }
    }
}

#[tokio::test]
async fn a_failed_sync_is_not_believed_later() {
    let data = LogFixture::new();
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    let log = data.open_on(disk.clone());
    let (one, two) = (session(1), session(2));
    append_each(&log, one, &["kept"]).await;
    append_each(&log, two, &["kept"]).await;
    let acknowledged = std::fs::read(data.log_path(one)).unwrap();
    disk.set_plan(plan(&format!("eio:sync_data@{one}/events")));
    let failed = log.append(one, EPOCH, 2, vec![record("lost")]).await;
    assert!(matches!(failed, Err(LogError::Io(_))), "{failed:?}");
    assert_ne!(std::fs::read(data.log_path(one)).unwrap(), acknowledged, "the bytes were written");
    assert_eq!(log.last_seq(one).await.unwrap(), 1, "but nobody is told of them");
    assert_eq!(log.read(one, 1, ALL).await.unwrap().len(), 1);
    append_each(&log, two, &["goes on"]).await;

    // As long as the log cannot be cut back, nothing is appended to it, and it is not settled.
    disk.set_plan(plan("eio:truncate@..,eio:remove_file@nothing"));
    assert!(matches!(log.append(one, EPOCH, 2, vec![record("no")]).await, Err(LogError::Io(_))));
    assert!(matches!(log.release(one, EPOCH, true).await, Err(LogError::Io(_))));
    disk.set_plan(FaultPlan::default());
    append_each(&log, one, &["after"]).await;
    assert_eq!(read_all(&log, one).await.iter().map(said).collect::<Vec<_>>(), ["kept", "after"]);
    drop(log);
    assert_feed_whole(&data.open(), &[one, two]).await;
}

#[tokio::test]
async fn a_full_disk_is_told_as_such_and_the_session_recovers_with_it() {
    let data = LogFixture::new();
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    let log = data.open_on(disk.clone());
    let id = session(1);
    append_each(&log, id, &["one"]).await;
    disk.set_plan(plan("short-enospc:write_at@.."));
    for _ in 0..3 {
        let large = vec![record(&"2".repeat(9_000))];
        assert!(matches!(log.append(id, EPOCH, 2, large).await, Err(LogError::Full)));
        assert_eq!(log.last_seq(id).await.unwrap(), 1);
    }
    disk.set_plan(FaultPlan::default());
    append_each(&log, id, &["two"]).await;
    // Of what was only half written nothing is left behind the last record.
    let file = std::fs::read(data.log_path(id)).unwrap();
    assert_eq!(file.len(), read_all(&log, id).await.iter().map(|line| line.bytes.len() + 1).sum::<usize>());
    assert_eq!(read_all(&log, id).await.iter().map(said).collect::<Vec<_>>(), ["one", "two"]);
}

#[tokio::test]
async fn a_feed_that_cannot_be_written_or_synced_is_repaired() {
    let data = LogFixture::new();
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    let log = data.open_on(disk.clone());
    let id = session(1);
    append_each(&log, id, &["one"]).await;
    disk.set_plan(plan("short-enospc:write_at@/feed"));
    append_each(&log, id, &["two"]).await;
    assert_eq!(log.feed_end().borrow().0, 1);
    assert_feed_whole(&log, &[id]).await;
    append_each(&log, id, &["three"]).await;
    disk.set_plan(plan("eio:sync_data@/feed"));
    assert!(log.read_feed(ostler_eventlog::FeedPosition(0), 9).await.is_err());
    assert_feed_whole(&log, &[id]).await;
    assert_eq!(log.feed_end().borrow().0, 3);
}

#[tokio::test]
async fn a_group_whose_common_sync_fails_is_refused_as_a_whole() {
    let data = LogFixture::new();
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    let log = Arc::new(data.open_on(disk.clone()));
    for number in 0..40 {
        append_each(&log, session(number), &["one"]).await;
    }
    disk.set_plan(plan("eio:sync_all@..,eio:sync_data@events.."));
    let appends: Vec<_> = (0..40)
        .map(|number| {
            let log = Arc::clone(&log);
            tokio::spawn(async move { log.append(session(number), EPOCH, 2, vec![record("lost")]).await })
        })
        .collect();
    for append in appends {
        assert!(matches!(append.await.unwrap(), Err(LogError::Io(_))));
    }
    disk.set_plan(FaultPlan::default());
    for number in 0..40 {
        append_each(&log, session(number), &["two"]).await;
        assert_eq!(log.last_seq(session(number)).await.unwrap(), 2);
    }
    drop(log);
    let log = open_at(&data.path());
    assert_eq!(said(&log.read(session(39), 2, ALL).await.unwrap()[0]), "two");
}
