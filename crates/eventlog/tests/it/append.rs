//! Appending: order, exactness, refusals.

use std::sync::Arc;

use futures_util::future::join_all;
use ostler_eventlog::{Epoch, Log, LogError};

use crate::fixture::{
    ALL, EPOCH, LogFixture, append_each, assert_feed_whole, read_all, record, said, session,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_writers_at_once_lose_and_mix_nothing() {
    let data = LogFixture::new();
    let log = Arc::new(data.open());
    let mut writers = Vec::new();
    for writer in 0..50_u64 {
        let log = Arc::clone(&log);
        writers.push(tokio::spawn(async move {
            // Five sessions, ten writers each: all but one of those at the same seq must be refused.
            let session = session(u128::from(writer % 5));
            for number in 0..10 {
                let text = format!("{writer}/{number}");
                let mut next = log.last_seq(session).await.unwrap() + 1;
                loop {
                    match log.append(session, EPOCH, next, vec![record(&text), record(&text)]).await {
                        Ok(lines) => {
                            assert_eq!(
                                lines.iter().map(|line| line.seq).collect::<Vec<_>>(),
                                [next, next + 1]
                            );
                            break;
                        }
                        Err(LogError::Conflict { next: moved, .. }) => next = moved,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    for number in 0..5 {
        let lines = read_all(&log, session(number)).await;
        assert_eq!(lines.len(), 200);
        let texts: Vec<String> = lines.iter().map(said).collect();
        assert!(texts.chunks(2).all(|pair| pair[0] == pair[1]), "an append was split");
        for writer in (0..50).filter(|writer| writer % 5 == number) {
            let own: Vec<&String> =
                texts.iter().step_by(2).filter(|text| text.starts_with(&format!("{writer}/"))).collect();
            assert_eq!(
                own,
                (0..10).map(|n| format!("{writer}/{n}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
            );
        }
    }
}

/// All of it comes at once, so that the committer takes it as few groups.
#[tokio::test]
async fn sessions_settle_together_and_what_follows_marks_them_again() {
    let data = LogFixture::new();
    let log = data.open();
    let sessions: Vec<_> = (0..40).map(session).collect();
    for session in &sessions {
        append_each(&log, *session, &["one"]).await;
    }
    let again: Vec<_> = sessions.iter().copied().step_by(2).collect();
    let settle = join_all(sessions.iter().map(|session| log.release(*session, EPOCH, true)));
    let append = join_all(again.iter().map(|session| log.append(*session, EPOCH, 2, vec![record("two")])));
    let (settled, appended) = tokio::join!(settle, append);
    assert!(settled.iter().all(Result::is_ok) && appended.iter().all(Result::is_ok));
    let mut unsettled = log.unsettled().await.unwrap();
    unsettled.sort_unstable();
    assert_eq!(unsettled, again);
    assert_feed_whole(&log, &sessions).await;
}

#[tokio::test]
async fn many_sessions_in_one_group_are_synced_together() {
    let data = LogFixture::new();
    let log = Arc::new(data.open());
    let appends: Vec<_> = (0..300)
        .map(|number| {
            let log = Arc::clone(&log);
            tokio::spawn(async move { log.append(session(number), EPOCH, 1, vec![record("hello")]).await })
        })
        .collect();
    for append in appends {
        append.await.unwrap().unwrap();
    }
    drop(log);
    let log = data.open();
    assert_eq!(log.sessions(None, ALL).await.unwrap().len(), 300);
    for number in 0..300 {
        assert_eq!(log.last_seq(session(number)).await.unwrap(), 1);
    }
}

#[tokio::test]
async fn what_is_appended_is_what_is_read_and_what_is_in_the_file() {
    let data = LogFixture::new();
    let log = data.open();
    let id = session(1);
    let appended = log.append(id, EPOCH, 1, vec![record("a \"quoted\"\n} text"), record("b")]).await.unwrap();
    assert_eq!(log.read(id, 1, ALL).await.unwrap(), appended);
    assert_eq!(appended[0].event_type(), "session_completed");
    let file = std::fs::read(data.log_path(id)).unwrap();
    let lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 3);
    // The space says that the append goes on in the next line.
    assert_eq!(lines[0], [&appended[0].bytes[..], b" "].concat());
    assert_eq!(lines[1], &appended[1].bytes[..]);
    let text = std::str::from_utf8(&appended[0].bytes).unwrap();
    let members = [
        "{\"seq\":1,",
        "\"ts\":",
        "\"session_id\":",
        "\"turn_id\":null",
        "\"type\":",
        "\"data\":",
        "\"chain\":",
    ];
    let places: Vec<usize> = members.iter().map(|member| text.find(member).unwrap()).collect();
    assert!(places.is_sorted());
}

#[tokio::test]
async fn refusals_change_nothing() {
    let data = LogFixture::new();
    let log = data.open();
    let id = session(1);
    assert!(matches!(log.append(id, EPOCH, 2, vec![record("x")]).await, Err(LogError::NotFound)));
    assert!(matches!(log.append(id, Epoch(2), 1, vec![record("x")]).await, Err(LogError::Fenced)));
    assert_eq!(log.last_seq(id).await.unwrap(), 0);
    assert!(matches!(log.read(id, 1, ALL).await, Err(LogError::NotFound)));
    append_each(&log, id, &["one"]).await;
    let before = std::fs::read(data.log_path(id)).unwrap();
    let conflict = log.append(id, EPOCH, 1, vec![record("x")]).await;
    assert!(matches!(conflict, Err(LogError::Conflict { expected: 1, next: 2 })), "{conflict:?}");
    let large = log.append(id, EPOCH, 2, vec![record("ok"), record(&"x".repeat(5 << 20))]).await;
    assert!(matches!(large, Err(LogError::TooLarge { .. })), "{large:?}");
    assert_eq!(std::fs::read(data.log_path(id)).unwrap(), before);
    append_each(&log, id, &[&"y".repeat(4_100_000), "two"]).await;
    drop(log);
    let log = data.open();
    assert_eq!(log.last_seq(id).await.unwrap(), 3);
    append_each(&log, id, &["three"]).await;
    assert_eq!(read_all(&log, id).await.len(), 4);
}
