//! Agents that crash, hang, flood, lie and answer late, in the real daemon: each leaves its turn in a definite state
//! and everybody else untouched. And a daemon that is killed finds its agents' sessions again.

use serde_json::json;

use crate::agents::{answers, ask, begin, fault, session, until};
use crate::scripted::{ScriptedDaemon, call, policy_without_approvals};

#[tokio::test]
async fn a_fault_ends_one_turn_and_nobody_elses() {
    let notes = tempfile::tempdir().unwrap();
    let stage = ScriptedDaemon::new(&fault(notes.path(), &[])).await;
    let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    let native = stage.session(policy_without_approvals()).await;
    for (text, kind, reason) in [
        ("say:partial crash", "turn_failed", Some("agent_crashed")),
        ("badjson say:fine", "turn_completed", None),
        ("unknown foreign nonsense say:fine", "turn_completed", None),
        ("say:a error", "turn_failed", Some("agent_error")),
        ("say:a auth", "turn_failed", Some("agent_login_required")),
        ("say:a cancelled", "turn_failed", Some("agent_stopped")),
        ("say:a quit-asking", "turn_failed", Some("agent_stopped")),
        ("open:left say:a", "turn_completed", None),
        ("say:a twice", "turn_completed", None),
        ("huge", "turn_failed", Some("agent_crashed")),
        ("say:still_there", "turn_completed", None),
    ] {
        let mut turn = begin(&stage, id, text).await;
        let end = loop {
            let record = turn.next().await;
            if ["turn_completed", "turn_failed", "turn_canceled"].contains(&record["type"].as_str().unwrap())
            {
                break record;
            }
        };
        assert_eq!(end["type"], kind, "{text}: {end}");
        if let Some(reason) = reason {
            assert_eq!(end["data"]["reason"], reason, "{text}: {end}");
            assert!(end["data"]["error"]["message"].as_str().is_some_and(|words| !words.is_empty()));
        }
        if text.contains("partial") {
            assert!(answers(&turn).contains("partial"), "what was said is kept");
            assert!(end["data"]["error"]["message"].as_str().unwrap().contains("on fire"), "{end}");
        }
        let turn = stage.play(native, &[call("repo_tree", json!({}))]).await;
        assert!(turn.result().ok, "the daemon's own agent minds nothing: {text}");
    }
}

#[tokio::test]
async fn a_cancel_is_heard_by_agents_that_wait_answer_late_or_hang() {
    let notes = tempfile::tempdir().unwrap();
    let stage = ScriptedDaemon::new(&fault(notes.path(), &[])).await;
    let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    for (text, noted) in [("say:now wait", ""), ("late", "late begins"), ("hang", "hang begins")] {
        let mut turn = begin(&stage, id, text).await;
        let heard = || std::fs::read_to_string(notes.path().join("notes")).unwrap();
        match noted {
            "" => turn.until_text("now").await,
            noted => until(|| heard().contains(noted)).await,
        }
        stage.client.cancel(id).await.unwrap();
        assert_eq!(turn.finish().await["type"], "turn_canceled", "{text}");
        let (turn, end) = ask(&stage, id, "say:on").await;
        assert_eq!((answers(&turn).as_str(), end["type"].as_str()), ("on", Some("turn_completed")), "{text}");
    }
}

#[tokio::test]
async fn a_session_is_loaded_after_the_daemon_was_killed_and_its_replay_is_not_recorded() {
    for options in [&[][..], &["replays-twice"], &["replays-late"]] {
        let notes = tempfile::tempdir().unwrap();
        let mut stage = ScriptedDaemon::new(&fault(notes.path(), options)).await;
        let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
        ask(&stage, id, "say:one").await;
        let before = stage.client.session(id).await.unwrap();
        let mut waiting = begin(&stage, id, "say:half wait").await;
        waiting.until_text("half").await;
        stage.crash().await;
        let failed = stage.follow(id, waiting.id).await.finish().await;
        assert_eq!(
            (&failed["type"], &failed["data"]["reason"]),
            (&json!("turn_failed"), &json!("interrupted"))
        );
        let (turn, end) = ask(&stage, id, "say:two").await;
        assert_eq!((answers(&turn).as_str(), end["type"].as_str()), ("two", Some("turn_completed")));
        let after = stage.client.session(id).await.unwrap();
        assert_eq!(before.session.agent_session_id, after.session.agent_session_id, "it is the same");
        let heard = std::fs::read_to_string(notes.path().join("notes")).unwrap();
        assert_eq!(heard.lines().filter(|line| line.starts_with("session/load")).count(), 1, "{heard}");
        let log = std::fs::read_to_string(stage.data.join(format!("sessions/{id}/events.ndjson"))).unwrap();
        assert!(!log.contains("replayed"), "what is replayed was recorded before");
    }
}

#[tokio::test]
async fn a_session_that_its_agent_has_lost_is_begun_anew_with_what_was_said() {
    let notes = tempfile::tempdir().unwrap();
    let mut stage = ScriptedDaemon::new(&fault(notes.path(), &["no-load"])).await;
    let id = session(&stage.client, "fault", &stage.work, policy_without_approvals()).await;
    ask(&stage, id, "say:the_answer_is_42").await;
    stage.crash().await;
    let (turn, end) = ask(&stage, id, "say:two").await;
    assert_eq!(end["type"], "turn_completed", "{end}");
    let told = turn.all("message_added");
    assert!(told.iter().any(|it| it.to_string().contains("no longer has this session")), "{told:?}");
    let heard = std::fs::read_to_string(notes.path().join("notes")).unwrap();
    assert!(heard.contains("the answer is 42") || heard.contains("the_answer_is_42"), "{heard}");
}
