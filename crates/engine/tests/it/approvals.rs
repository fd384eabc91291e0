//! Approvals: listed, answered once, remembered.

use std::sync::Arc;

use ostler_engine::EngineError;
use ostler_testing::agent::{ScriptedAgent, done, propose, run_call, say};
use ostler_types::{
    Accepted, ApprovalEvent, Event, Rule, Scope, SessionId, SessionStatus, ToolKind, Verdict,
};
use serde_json::json;

use crate::fixture::{EngineFixture, TestEngine, refusal_code};

/// A turn that asks to run `ls`, and says what became of it.
fn push_ls(agent: &Arc<ScriptedAgent>) {
    agent.push(|turn| async move {
        let call = propose(&turn, "c1", "shell", json!({"command": "make"})).await?;
        let ran = run_call(&turn, &call, ToolKind::Exec).await?;
        say(&turn, if ran { "it ran" } else { "it did not" }).await?;
        done()
    });
}

async fn last_text(daemon: &TestEngine, id: SessionId) -> String {
    daemon.engine.messages(id, None, 1).await.unwrap().messages[0].text()
}

async fn count(daemon: &TestEngine, id: SessionId, name: &str) -> usize {
    daemon.names(id).await.iter().filter(|recorded| **recorded == name).count()
}

#[tokio::test]
async fn they_are_listed_over_all_sessions_and_wait() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (one, two) = (daemon.create().await, daemon.create().await);
    push_ls(&agent);
    push_ls(&agent);
    daemon.say(one, "go").await;
    daemon.approvals(1).await;
    daemon.say(two, "go").await;
    let waiting = daemon.approvals(2).await;
    assert_eq!([waiting[0].session_id, waiting[1].session_id], [one, two]);
    assert_eq!((waiting[0].tool.as_str(), &waiting[0].input), ("shell", &json!({"command": "make"})));
    assert_eq!((waiting[0].rule.tool.as_str(), waiting[0].rule.subject.as_str()), ("shell", "make"));
    let view = daemon.engine.view(one).await.unwrap();
    assert_eq!(
        (view.session.status, &view.pending_approvals[..]),
        (SessionStatus::WaitingApproval, &waiting[..1])
    );

    daemon.answer(&waiting[0], Verdict::Approve, Scope::Once).await.unwrap();
    daemon.answer(&waiting[1], Verdict::Deny, Scope::Once).await.unwrap();
    daemon.recorded(one, "turn_completed", 1).await;
    daemon.recorded(two, "turn_completed", 1).await;
    assert_eq!(
        (last_text(&daemon, one).await, last_text(&daemon, two).await),
        ("it ran".into(), "it did not".into())
    );
    daemon.approvals(0).await;
    assert_eq!(
        (count(&daemon, one, "tool_call_started").await, count(&daemon, two, "tool_call_started").await),
        (1, 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_answer_wins_and_the_other_is_told() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    for _ in 0..10 {
        let id = daemon.create().await;
        push_ls(&agent);
        daemon.say(id, "go").await;
        let waiting = daemon.approvals(1).await.remove(0);
        let (yes, no) = tokio::join!(
            daemon.answer(&waiting, Verdict::Approve, Scope::Once),
            daemon.answer(&waiting, Verdict::Deny, Scope::Once)
        );
        let (won, lost) = if yes.is_ok() { (yes, no) } else { (no, yes) };
        assert_eq!(won.unwrap(), Accepted::Done);
        let Err(EngineError::Refused(refusal)) = lost else { panic!("both answers were taken") };
        assert_eq!(refusal.code, "already_answered");
        assert!(refusal.message.ends_with("by test"), "{}", refusal.message);
        daemon.recorded(id, "turn_completed", 1).await;
        let answers =
            count(&daemon, id, "approval_granted").await + count(&daemon, id, "approval_denied").await;
        assert_eq!(answers, 1);
        assert_eq!(
            refusal_code(daemon.answer(&waiting, Verdict::Approve, Scope::Once).await),
            "already_answered"
        );
    }
}

#[tokio::test]
async fn for_the_session_holds_in_this_session_only() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (one, two) = (daemon.create().await, daemon.create().await);
    for _ in 0..3 {
        push_ls(&agent);
    }
    daemon.say(one, "go").await;
    let waiting = daemon.approvals(1).await.remove(0);
    daemon.answer(&waiting, Verdict::Approve, Scope::Session).await.unwrap();
    daemon.recorded(one, "turn_completed", 1).await;
    daemon.say(one, "again").await;
    daemon.recorded(one, "turn_completed", 2).await;
    assert_eq!(count(&daemon, one, "approval_requested").await, 1);
    daemon.say(two, "go").await;
    assert_eq!(daemon.approvals(1).await[0].session_id, two);
    assert!(!place.data().join("rules.json").exists());
}

#[tokio::test]
async fn for_ever_holds_in_every_session_and_after_a_restart() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    push_ls(&agent);
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    let waiting = daemon.approvals(1).await.remove(0);
    daemon.answer(&waiting, Verdict::Approve, Scope::Always).await.unwrap();
    // The rule is on disk when the answer has been taken.
    let rules: Vec<Rule> =
        serde_json::from_slice(&std::fs::read(place.data().join("rules.json")).unwrap()).unwrap();
    assert_eq!(rules, [waiting.rule]);
    daemon.recorded(id, "turn_completed", 1).await;
    runs_by_rule(&daemon).await;
    daemon.engine.stop().await;
    drop(daemon);
    let daemon = place.open(&agent).await;
    runs_by_rule(&daemon).await;
}

async fn runs_by_rule(daemon: &TestEngine) {
    push_ls(&daemon.agent);
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    daemon.recorded(id, "turn_completed", 1).await;
    assert_eq!(last_text(daemon, id).await, "it ran");
    assert_eq!(count(daemon, id, "approval_requested").await, 0);
    let by: Vec<(String, Scope)> = daemon
        .records(id)
        .await
        .into_iter()
        .filter_map(|record| match record.event {
            Event::Approval(ApprovalEvent::Granted { by, scope, .. }) => Some((by, scope)),
            _ => None,
        })
        .collect();
    assert_eq!(by, [("rule".to_owned(), Scope::Always)]);
}

#[tokio::test]
async fn canceling_takes_the_question_back() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    push_ls(&agent);
    let id = daemon.create().await;
    daemon.say(id, "go").await;
    let waiting = daemon.approvals(1).await.remove(0);
    daemon.cancel(id).await.unwrap();
    daemon.approvals(0).await;
    agent.ended(1).await;
    assert_eq!(refusal_code(daemon.answer(&waiting, Verdict::Approve, Scope::Always).await), "not_waiting");
    assert!(!place.data().join("rules.json").exists());
    assert_eq!(count(&daemon, id, "tool_call_started").await, 0);
}
