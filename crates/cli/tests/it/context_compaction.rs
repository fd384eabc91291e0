//! Conversations that are made shorter when something goes wrong on the way: a provider that finds them too long,
//! a summary that cannot be had, a daemon that is killed while it waits for one.
//!
//! | what | proven by |
//! | --- | --- |
//! | before a window is full | `context_window::a_long_conversation_stays_within_a_small_window` |
//! | on demand, and a crash afterwards | `context::a_conversation_that_was_made_shorter_stays_so_after_a_crash`, `branch::a_compaction_is_followed_to_its_end` |
//! | what is too long whatever is done | in the crate `agent-native`: `compaction::what_stays_too_long_fails_clearly_and_the_session_goes_on` |

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostler_types::SessionId;
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::context_checks::{
    assert_paired, assert_views, assert_whole, folder, named, rebuild, records, views,
};
use crate::raw_server::{RawServerReply, RawServerRequest};
use crate::scripted::{ScriptedDaemon, ScriptedTurn, policy_without_approvals};

fn asks_for_summary(asked: &RawServerRequest) -> bool {
    asked.body["tools"].is_null()
}

/// A conversation that is worth a summary.
async fn talk(stage: &ScriptedDaemon, id: SessionId) {
    for number in 0..4 {
        stage.play(id, &[json!(format!("answer {number} {}", "word ".repeat(400)))]).await;
    }
}

async fn compact(stage: &ScriptedDaemon, id: SessionId) -> ScriptedTurn {
    let (status, started) = stage.request("POST", &format!("/v1/sessions/{id}/compact"), &Value::Null).await;
    assert_eq!(status, 202, "{started}");
    stage.follow(id, started["turn_id"].as_str().unwrap().parse().unwrap()).await
}

#[tokio::test]
async fn what_a_provider_finds_too_long_is_made_shorter_and_asked_once_more() {
    let refusals = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&refusals);
    let stage = ScriptedDaemon::directed("", &[], move |asked| {
        let refuse = |left: usize| left.checked_sub(1).filter(|_| !asks_for_summary(asked));
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, refuse).ok()?;
        let error = json!({"error": {"code": "context_length_exceeded", "message": "too many tokens"}});
        Some(RawServerReply::whole("400 Bad Request", error.to_string()))
    })
    .await;
    let id = stage.session(policy_without_approvals()).await;
    talk(&stage, id).await;
    stage.forget_asked();
    refusals.store(1, Ordering::Relaxed);
    let turn = stage.play(id, &[json!("still here")]).await;
    let [compacted] = turn.all("context_compacted").try_into().unwrap();
    assert_eq!(compacted["trigger"], "overflow");
    let asked = stage.asked();
    let is_summary: Vec<bool> = asked.iter().map(|body| body["tools"].is_null()).collect();
    assert_eq!(is_summary, [false, true, false], "asked, summed up, asked once more");
    let length = |body: &Value| body["messages"].to_string().len();
    assert!(length(&asked[2]) < length(&asked[0]), "and shorter");
    assert!(asked[2]["messages"].to_string().contains("still here"));
    // What stays too long fails the turn; the session can be used again.
    refusals.store(2, Ordering::Relaxed);
    let failed = stage.start(id, &[json!("again")]).await.finish().await;
    assert_eq!(
        (&failed["type"], &failed["data"]["reason"]),
        (&json!("turn_failed"), &json!("context_overflow"))
    );
    refusals.store(0, Ordering::Relaxed);
    let turn = stage.play(id, &[json!("back")]).await;
    assert_eq!(turn.records.last().unwrap()["type"], "turn_completed");
    stage.asked().iter().for_each(assert_paired);
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_leaves_the_session_usable() {
    let mut stage = ScriptedDaemon::directed("", &[], |asked| {
        let error = json!({"error": {"code": "bad", "message": "I do not write summaries"}});
        asks_for_summary(asked).then(|| RawServerReply::whole("400 Bad Request", error.to_string()))
    })
    .await;
    let id = stage.session(policy_without_approvals()).await;
    talk(&stage, id).await;
    let mut turn = compact(&stage, id).await;
    assert_eq!(turn.finish().await["data"]["stop_reason"], "compacted");
    let [compacted] = turn.all("context_compacted").try_into().unwrap();
    let summary = compacted["summary"]["parts"][0]["text"].as_str().unwrap();
    assert!(summary.contains("could not be summarized by a model"), "{summary}");
    assert!(summary.contains("answer 0"), "what the user said is kept: {summary}");
    let turn = stage.play(id, &[json!("on")]).await;
    assert_eq!(turn.records.last().unwrap()["type"], "turn_completed");
    assert!(stage.last_asked().contains("could not be summarized by a model"));
    stage.stop();
    assert_views(&folder(&stage, id));
}

#[tokio::test]
async fn nothing_is_made_shorter_while_a_turn_runs_or_when_it_is_short() {
    let stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    stage.play(id, &[json!("short")]).await;
    let mut turn = compact(&stage, id).await;
    assert_eq!(turn.finish().await["data"]["stop_reason"], "nothing_to_compact");
    assert!(turn.all("context_compacted").is_empty());
    let running = stage.start(id, &[crate::scripted::shell("echo begun; sleep 600")]).await;
    let (status, refused) = stage.request("POST", &format!("/v1/sessions/{id}/compact"), &Value::Null).await;
    assert_eq!(status, 409, "{refused}");
    assert!(stage.client.cancel(running.session).await.unwrap());
}

/// A daemon whose model falls silent the first time that it is asked for a summary, and says so.
async fn silent_once(config: &str) -> (ScriptedDaemon, Arc<Notify>) {
    let (arrived, hangs) = (Arc::new(Notify::new()), AtomicUsize::new(1));
    let tell = Arc::clone(&arrived);
    let stage = ScriptedDaemon::directed(config, &[], move |asked| {
        let hang = |left: usize| left.checked_sub(1).filter(|_| asks_for_summary(asked));
        hangs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, hang).ok()?;
        tell.notify_one();
        // Nobody else ever comes to it.
        let together = Some(Arc::new(Barrier::new(2)));
        Some(RawServerReply { together, ..RawServerReply::chat(&["notes that never come".to_owned()]) })
    })
    .await;
    (stage, arrived)
}

/// Fails unless the turn was cut short, before anything was made shorter.
async fn assert_interrupted(turn: &mut ScriptedTurn) {
    let end = turn.finish().await;
    assert_eq!((&end["type"], &end["data"]["reason"]), (&json!("turn_failed"), &json!("interrupted")));
    assert!(turn.all("context_compacted").is_empty());
}

/// Fails unless what is left of a session is whole, with so many compactions, and can be made again.
fn assert_kept(stage: &mut ScriptedDaemon, id: SessionId, compactions: usize) {
    stage.asked().iter().for_each(assert_paired);
    stage.stop();
    let folder = folder(stage, id);
    let records = records(&folder);
    assert_whole(&records);
    assert_eq!(named(&records, "context_compacted").len(), compactions);
    assert_views(&folder);
    let before = views(&folder);
    rebuild(stage);
    assert_eq!(views(&folder), before);
}

#[tokio::test]
async fn a_daemon_that_is_killed_in_the_middle_of_a_compaction_forgets_nothing() {
    let (mut stage, arrived) = silent_once("").await;
    let id = stage.session(policy_without_approvals()).await;
    talk(&stage, id).await;
    let turn = compact(&stage, id).await;
    arrived.notified().await;
    stage.crash().await;
    assert_interrupted(&mut stage.follow(id, turn.id).await).await;
    stage.play(id, &[json!("on")]).await;
    let asked = stage.last_asked();
    assert!(
        (0..4).all(|number| asked.contains(&format!("answer {number} {}", "word ".repeat(400)))),
        "{asked}"
    );
    // The next one comes to its end, and so does what follows it.
    let mut turn = compact(&stage, id).await;
    assert_eq!(turn.finish().await["data"]["stop_reason"], "compacted");
    stage.play(id, &[json!("shorter")]).await;
    assert!(stage.last_asked().len() < asked.len());
    assert_kept(&mut stage, id, 1);
}

#[tokio::test]
async fn a_daemon_that_is_killed_while_a_turn_makes_room_answers_when_it_is_asked_again() {
    let window = "[models.info.\"mock:narrow\"]\nabilities = [\"tools\"]\ncontext_window = 12000\n";
    let (mut stage, arrived) = silent_once(window).await;
    let id = stage.session_in(&stage.work, policy_without_approvals(), Some("mock:narrow")).await;
    let turn = loop {
        let mut turn = stage.start(id, &[json!("word ".repeat(400))]).await;
        let is_due = tokio::select! {
            () = arrived.notified() => true,
            _ = turn.finish() => false,
        };
        if is_due {
            break turn;
        }
    };
    stage.crash().await;
    assert_interrupted(&mut stage.follow(id, turn.id).await).await;
    let again = stage.client.retry(id, turn.id).await.unwrap();
    let mut turn = stage.follow(id, again).await;
    assert_eq!(turn.finish().await["type"], "turn_completed");
    assert_eq!(turn.all("context_compacted").len(), 1);
    assert_kept(&mut stage, id, 1);
}
