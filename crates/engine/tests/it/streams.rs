//! Following a session: no gap, nothing twice, exact text, whoever joins when and however slow.

use std::sync::Arc;

use ostler_engine::EngineError;
use ostler_testing::agent::{ScriptedAgent, done, finish, propose, run_call, stream};
use ostler_types::{Part, ToolKind};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::checking_subscriber::CheckingSubscriber;
use crate::fixture::EngineFixture;

/// A small generator, so that a failing run can be repeated by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

const MESSAGES: u64 = 30;
const PIECES: [&str; 6] =
    ["x", "ein Stück ", "漢字", "🦀🦀", "\n", "a rather longer piece of text, of which there are many "];

/// A turn of many messages in many pieces, with calls between them. Says how far it is.
fn push_talk(agent: &ScriptedAgent, seed: u64, progress: watch::Sender<u64>) {
    agent.push(move |turn| async move {
        let mut random = Random(seed);
        for number in 0..MESSAGES {
            let id = turn.message_id();
            let mut text = String::new();
            for _ in 0..random.below(20) {
                let piece = PIECES[usize::try_from(random.below(6)).unwrap()];
                stream(&turn, id, text.len(), piece);
                text.push_str(piece);
                for _ in 0..random.below(3) {
                    tokio::task::yield_now().await;
                }
            }
            finish(&turn, id, vec![Part::text(text)]).await?;
            if random.below(4) == 0 {
                let call = propose(&turn, &format!("c{number}"), "look", json!({})).await?;
                run_call(&turn, &call, ToolKind::Read).await?;
            }
            progress.send_replace(number + 1);
        }
        done()
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_joins_whenever_sees_the_same() {
    for seed in 1..=6 {
        let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
        let daemon = place.open(&agent).await;
        let id = daemon.create().await;
        let progress = watch::Sender::new(0);
        push_talk(&agent, seed, progress.clone());
        let followers = (0..24).map(|number| {
            let (engine, mut progress) = (daemon.engine.clone(), progress.subscribe());
            tokio::spawn(async move {
                let mut random = Random(seed * 1000 + number + 1);
                let moment = random.below(MESSAGES);
                progress.wait_for(|so_far| *so_far >= moment).await.unwrap();
                let after = random.below(engine.view(id).await.unwrap().last_seq + 1);
                let mut reader = CheckingSubscriber::new(engine.subscribe(id, after).await.unwrap());
                while reader.count("turn_completed") == 0 {
                    assert!(reader.step().await);
                    for _ in 0..random.below(4) {
                        tokio::task::yield_now().await;
                    }
                }
                (after, reader.records)
            })
        });
        let followers: Vec<_> = followers.collect();
        daemon.say(id, "talk").await;
        for follower in followers {
            let (after, seen) = follower.await.unwrap();
            let all = daemon.records(id).await;
            assert_eq!(seen, all[usize::try_from(after).unwrap()..], "seed {seed}");
        }
    }
}

#[tokio::test]
async fn one_who_comes_late_gets_the_text_so_far() {
    let (place, agent, go) = (EngineFixture::new(), ScriptedAgent::new(), Arc::new(Notify::new()));
    let daemon = place.open(&agent).await;
    let gate = go.clone();
    agent.push(|turn| async move {
        let id = turn.message_id();
        stream(&turn, id, 0, "Grüß");
        stream(&turn, id, 6, " Gott");
        gate.notified().await;
        stream(&turn, id, 11, ", Welt");
        finish(&turn, id, vec![Part::text("Grüß Gott, Welt")]).await?;
        done()
    });
    let id = daemon.create().await;
    let mut early = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    daemon.say(id, "go").await;
    early.until_text("Grüß Gott").await;
    let mut late = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    late.until_text("Grüß Gott").await;
    assert_eq!((early.deltas, late.deltas), (2, 1));
    // One that has seen every record also gets the text that is in none of them.
    let mut resumed = CheckingSubscriber::new(daemon.engine.subscribe(id, 3).await.unwrap());
    resumed.until_text("Grüß Gott").await;
    assert_eq!(resumed.records, []);
    go.notify_one();
    for reader in [&mut early, &mut late, &mut resumed] {
        reader.until_text("Grüß Gott, Welt").await;
        reader.until("turn_completed", 1).await;
    }
}

#[tokio::test]
async fn one_who_never_reads_holds_nothing_up_and_catches_up() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = daemon.create().await;
    let mut sleeper = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    agent.push(|turn| async move {
        let piece = "z".repeat(4096);
        for _ in 0..100 {
            let id = turn.message_id();
            stream(&turn, id, 0, &piece);
            stream(&turn, id, 4096, &piece);
            finish(&turn, id, vec![Part::text(piece.repeat(2))]).await?;
        }
        done()
    });
    daemon.say(id, "go").await;
    daemon.recorded(id, "turn_completed", 1).await;
    // 1.6 MB went by. What overflowed was dropped, so there are no deltas, and every record is there.
    sleeper.until("turn_completed", 1).await;
    assert_eq!(sleeper.deltas, 0);
    assert_eq!(sleeper.records, daemon.records(id).await);

    agent.push_text("and live again");
    daemon.say(id, "go on").await;
    sleeper.until_text("and live again").await;
    sleeper.until("turn_completed", 2).await;
}

#[tokio::test]
async fn one_who_overflows_in_mid_message_gets_its_text_whole() {
    let (place, agent, go) = (EngineFixture::new(), ScriptedAgent::new(), Arc::new(Notify::new()));
    let daemon = place.open(&agent).await;
    let id = daemon.create().await;
    let mut sleeper = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    let mut watcher = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    let (piece, gate) = ("y".repeat(10_000), go.clone());
    let whole = piece.repeat(50);
    let text = whole.clone();
    agent.push(|turn| async move {
        let id = turn.message_id();
        for offset in 0..50 {
            stream(&turn, id, offset * piece.len(), &piece);
        }
        gate.notified().await;
        finish(&turn, id, vec![Part::text(text)]).await?;
        done()
    });
    daemon.say(id, "go").await;
    watcher.until_text(&whole).await;
    sleeper.until_text(&whole).await;
    assert_eq!(sleeper.deltas, 1);
    go.notify_one();
    sleeper.until("turn_completed", 1).await;
    watcher.until("turn_completed", 1).await;
}

#[tokio::test]
async fn a_cursor_from_the_future_is_refused() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = daemon.create().await;
    let Err(EngineError::Refused(refusal)) = daemon.engine.subscribe(id, 2).await else {
        panic!("it was taken")
    };
    assert_eq!(refusal.code, "cursor_ahead");
    assert!(daemon.engine.subscribe(id, 1).await.is_ok());
}

#[tokio::test]
async fn a_stopped_engine_ends_its_streams_after_the_last_record() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        stream(&turn, turn.message_id(), 0, "nearly");
        turn.canceled.cancelled().await;
        done()
    });
    let id = daemon.create().await;
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    daemon.say(id, "go").await;
    reader.until_text("nearly").await;
    daemon.engine.stop().await;
    while reader.step().await {}
    let last = &reader.names()[3..];
    assert_eq!(last, ["model_output_completed", "turn_canceled", "session_canceled"]);
}
