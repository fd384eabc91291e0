//! Following all sessions with one cursor.

use std::collections::HashMap;

use ostler_engine::{Engine, FeedItem, FeedSubscription};
use ostler_eventlog::{FeedPosition, FeedRecord};
use ostler_testing::agent::ScriptedAgent;
use ostler_types::{SessionId, TurnId};

use crate::fixture::EngineFixture;

const SESSIONS: usize = 5;
const TURNS: usize = 8;
/// Sessions that stream at once, and what they say again and again.
const MANY: usize = 40;
const WORD: &str = "word ";

/// Reads records until so many turns have ended.
async fn read_until(feed: &mut FeedSubscription, ends: usize) -> Vec<FeedRecord> {
    let (mut records, mut ended) = (Vec::new(), 0);
    while ended < ends {
        if let FeedItem::Record(record) = feed.next().await.unwrap() {
            assert_eq!(record.next, feed.position());
            ended += usize::from(record.line.event_type() == "turn_completed");
            records.push(record);
        }
    }
    records
}

async fn assert_whole(engine: &Engine, records: &[FeedRecord]) {
    let mut seen: HashMap<SessionId, u64> = HashMap::new();
    for record in records {
        let last = seen.entry(record.session_id).or_default();
        assert_eq!(record.line.seq, *last + 1, "a gap or a record twice in {}", record.session_id);
        *last += 1;
    }
    for (id, last) in seen {
        assert_eq!(engine.view(id).await.unwrap().last_seq, last);
    }
    assert!(records.is_sorted_by(|one, two| one.next < two.next));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_record_of_every_session_comes_once_and_in_order() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    (0..SESSIONS * TURNS).for_each(|_| agent.push_text("an answer"));
    let mut feed = daemon.engine.subscribe_all(None).unwrap();
    let talks = (0..SESSIONS).map(|_| async {
        let id = daemon.create().await;
        for _ in 0..TURNS {
            daemon.say(id, "go").await;
        }
    });
    let (live, _) =
        tokio::join!(read_until(&mut feed, SESSIONS * TURNS), futures_util::future::join_all(talks));
    assert_whole(&daemon.engine, &live).await;

    let mut again = daemon.engine.subscribe_all(Some(FeedPosition(0))).unwrap();
    let history = read_until(&mut again, SESSIONS * TURNS).await;
    let lines = |records: &[FeedRecord]| records.iter().map(|r| (r.next, r.line.clone())).collect::<Vec<_>>();
    assert_eq!(lines(&history), lines(&live));
    for cut in [1, live.len() / 2, live.len() - 1] {
        let mut rest = daemon.engine.subscribe_all(Some(live[cut - 1].next)).unwrap();
        let ends = live[cut..].iter().filter(|record| record.line.event_type() == "turn_completed").count();
        assert_eq!(lines(&read_until(&mut rest, ends).await), lines(&live[cut..]));
    }
}

/// The text of all deltas is more than a subscriber of one session may leave waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_delta_of_many_sessions_comes_in_its_place() {
    const DELTAS: usize = 200;
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    for _ in 0..MANY {
        agent.push(|turn| async move {
            let id = turn.message_id();
            for index in 0..DELTAS {
                ostler_testing::agent::stream(&turn, id, index * WORD.len(), WORD);
            }
            let text = ostler_types::Part::text(WORD.repeat(DELTAS));
            ostler_testing::agent::finish(&turn, id, vec![text]).await?;
            ostler_testing::agent::done()
        });
    }
    let mut feed = daemon.engine.subscribe_all(None).unwrap();
    for _ in 0..MANY {
        let id = daemon.create().await;
        daemon.say(id, "go").await;
    }
    let (mut streamed, mut whole): (HashMap<TurnId, usize>, usize) = (HashMap::new(), 0);
    while whole < MANY {
        match feed.next().await.unwrap() {
            FeedItem::Delta(line) => {
                let length = streamed.get_mut(&line.turn_id()).expect("its turn has begun");
                assert_eq!(line.delta().offset, *length as u64, "a delta is missing or out of place");
                *length += line.delta().text.len();
            }
            FeedItem::Record(record) => {
                let turn_id = record.line.record().unwrap().turn_id;
                match record.line.event_type() {
                    "turn_started" => _ = streamed.insert(turn_id.unwrap(), 0),
                    "model_output_completed" => {
                        assert_eq!(streamed[&turn_id.unwrap()], DELTAS * WORD.len(), "deltas come before");
                        whole += 1;
                    }
                    _ => {}
                }
            }
        }
    }
}

#[tokio::test]
async fn a_cursor_holds_over_a_restart() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    (0..3).for_each(|_| agent.push_text("an answer"));
    let mut feed = daemon.engine.subscribe_all(None).unwrap();
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    let first = read_until(&mut feed, 1).await;
    daemon.say(id, "while nobody looks").await;
    daemon.recorded(id, "turn_completed", 2).await;
    drop(feed);
    daemon.engine.stop().await;
    drop(daemon);

    let daemon = place.open(&agent).await;
    let mut feed = daemon.engine.subscribe_all(Some(first.last().unwrap().next)).unwrap();
    daemon.say(id, "and now").await;
    let rest = read_until(&mut feed, 2).await;
    let all: Vec<FeedRecord> = first.into_iter().chain(rest).collect();
    assert_whole(&daemon.engine, &all).await;
}

#[tokio::test]
async fn deltas_are_shown_too() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        ostler_testing::agent::stream(&turn, turn.message_id(), 0, "as it comes");
        turn.canceled.cancelled().await;
        ostler_testing::agent::done()
    });
    let mut feed = daemon.engine.subscribe_all(None).unwrap();
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    let shown = loop {
        if let FeedItem::Delta(line) = feed.next().await.unwrap() {
            break line;
        }
    };
    assert_eq!(shown.name(), "model_output_delta");
    let delta: serde_json::Value = serde_json::from_slice(shown.bytes()).unwrap();
    assert_eq!(
        (&delta["session_id"], &delta["data"]["text"]),
        (&id.to_string().into(), &"as it comes".into())
    );
    daemon.cancel(id).await.unwrap();
}
