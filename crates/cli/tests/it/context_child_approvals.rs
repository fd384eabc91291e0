//! What a session asks that another one has started: it is asked at both, answered at either, once, and it outlives
//! whatever happens in between.
//!
//! | what | proven by |
//! | --- | --- |
//! | yes and no, at the parent and at the child | `it_is_asked_at_both_and_answered_at_either` |
//! | two who answer at once | `of_two_who_answer_at_the_parent_and_at_the_child_one_is_heard` |
//! | stopped while it waits | `stopping_either_takes_the_question_back` |
//! | killed while it waits, yes at the parent | `context::a_daemon_that_is_killed_while_a_session_works_for_another_goes_on_with_both` |
//! | killed right after the answer | `an_answer_that_was_accepted_outlives_a_crash` |
//! | killed while it waits, no at the child, killed again | `a_question_outlives_two_crashes_and_is_answered_at_the_child` |

use ostler_types::{Policy, SessionId};
use serde_json::{Value, json};

use crate::context_checks::{assert_paired, assert_whole, folder, named, records};
use crate::scripted::{ScriptedDaemon, ScriptedTurn, call, prompt, shell};

/// A session that waits for an answer on behalf of another one.
struct ChildApproval {
    parent: SessionId,
    child: SessionId,
    turn: ScriptedTurn,
    /// The question as the parent has it.
    asked: Value,
}

impl ChildApproval {
    /// Has a session start another one, which wants to make this file.
    async fn start(stage: &ScriptedDaemon, file: &str) -> ChildApproval {
        let parent = stage.session(Policy::default()).await;
        let script = prompt(&[shell(&format!("touch {file}")), json!(format!("no more to say of {file}"))]);
        let task = call("task", json!({"description": "make a file", "prompt": script}));
        let mut turn = stage.start(parent, &[task]).await;
        let asked = turn.until("approval_requested").await;
        let child: SessionId = asked["data"]["child"]["session_id"].as_str().unwrap().parse().unwrap();
        assert_eq!(asked["data"]["child"]["via"], json!(child), "it came up directly");
        ChildApproval { parent, child, turn, asked }
    }

    /// The answer to it, where it was asked or where it came up.
    async fn answer(&self, stage: &ScriptedDaemon, at_child: bool, action: &str) -> (u16, Value) {
        let (session, turn_id) = if at_child {
            (self.child, &self.asked["data"]["child"]["turn_id"])
        } else {
            (self.parent, &self.asked["turn_id"])
        };
        let body = json!({
            "turn_id": turn_id, "tool_call_id": self.asked["data"]["tool_call"]["id"], "action": action,
            "reason": "so it is",
        });
        stage.request("POST", &format!("/v1/sessions/{session}/approve"), &body).await
    }

    /// How many wait at the parent, at the child, and in the list of all.
    async fn waiting(&self, stage: &ScriptedDaemon) -> [usize; 3] {
        let [parent, child] = [self.parent, self.child].map(|id| stage.client.session(id));
        let (_, listed) = stage.request("GET", "/v1/approvals", &Value::Null).await;
        let mine =
            |it: &&Value| it["session_id"] == json!(self.child) || it["session_id"] == json!(self.parent);
        let listed = listed["approvals"].as_array().unwrap().iter().filter(mine).count();
        [parent.await.unwrap().pending_approvals.len(), child.await.unwrap().pending_approvals.len(), listed]
    }

    /// Fails unless both logs have the question once and this answer once.
    fn assert_recorded(&self, stage: &ScriptedDaemon, name: &str) {
        for id in [self.parent, self.child] {
            let records = records(&folder(stage, id));
            assert_whole(&records);
            assert_eq!(named(&records, "approval_requested").len(), 1, "{id}");
            let answers =
                named(&records, "approval_granted").len() + named(&records, "approval_denied").len();
            assert_eq!((named(&records, name).len(), answers), (1, 1), "{name} of {id}");
        }
    }
}

#[tokio::test]
async fn it_is_asked_at_both_and_answered_at_either() {
    let stage = ScriptedDaemon::new("").await;
    for (at_child, action) in [(false, "approve"), (true, "approve"), (false, "deny"), (true, "deny")] {
        let file = format!("made-{at_child}-{action}");
        let mut asking = ChildApproval::start(&stage, &file).await;
        assert_eq!(asking.waiting(&stage).await, [1, 1, 1], "asked at both, listed once");
        let (status, told) = asking.answer(&stage, at_child, action).await;
        assert_eq!(status, 200, "{told}");
        asking.turn.finish().await;
        assert_eq!(asking.waiting(&stage).await, [0, 0, 0]);
        assert_eq!(stage.work.join(&file).exists(), action == "approve", "{file}");
        let result = asking.turn.result();
        assert!(result.ok && result.text.starts_with("no more to say"), "{}", result.text);
        asking.assert_recorded(
            &stage,
            if action == "approve" { "approval_granted" } else { "approval_denied" },
        );
        let (status, told) = asking.answer(&stage, !at_child, "approve").await;
        assert_eq!(status, 409, "answered before: {told}");
    }
    let asked = stage.asked();
    asked.iter().for_each(assert_paired);
    let told = asked
        .iter()
        .filter(|body| body["messages"].to_string().contains("The user denied this call: so it is"));
    assert_eq!(told.count(), 2, "each child that was refused heard why");
}

#[tokio::test]
async fn of_two_who_answer_at_the_parent_and_at_the_child_one_is_heard() {
    let stage = ScriptedDaemon::new("").await;
    for round in 0..4 {
        let file = format!("made-{round}");
        let mut asking = ChildApproval::start(&stage, &file).await;
        let (first, second) = tokio::join!(
            asking.answer(&stage, round % 2 == 0, "approve"),
            asking.answer(&stage, round % 2 != 0, "deny")
        );
        let mut statuses = [first.0, second.0];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{first:?} {second:?}");
        asking.turn.finish().await;
        let approved = first.0 == 200;
        assert_eq!(stage.work.join(&file).exists(), approved, "{file}");
        asking.assert_recorded(&stage, if approved { "approval_granted" } else { "approval_denied" });
    }
}

#[tokio::test]
async fn stopping_either_takes_the_question_back() {
    let stage = ScriptedDaemon::new("").await;
    for stop_child in [false, true] {
        let mut asking = ChildApproval::start(&stage, "never").await;
        let stopped = if stop_child { asking.child } else { asking.parent };
        assert!(stage.client.cancel(stopped).await.unwrap());
        let end = asking.turn.finish().await;
        assert_eq!(end["type"], if stop_child { "turn_completed" } else { "turn_canceled" });
        let result = asking.turn.result();
        let told = if stop_child { "The task was stopped" } else { ostler_types::results::CANCELED };
        assert!(result.text.contains(told), "{}", result.text);
        for _ in 0..2_000 {
            if asking.waiting(&stage).await == [0, 0, 0] {
                break;
            }
        }
        assert_eq!(asking.waiting(&stage).await, [0, 0, 0]);
        for at_child in [false, true] {
            let (status, told) = asking.answer(&stage, at_child, "approve").await;
            assert_eq!(status, 409, "there is nothing to answer any more: {told}");
        }
        assert!(!stage.work.join("never").exists());
        assert_whole(&records(&folder(&stage, asking.parent)));
        assert_whole(&records(&folder(&stage, asking.child)));
        stage.play(asking.parent, &[json!("on")]).await;
    }
    stage.asked().iter().for_each(assert_paired);
}

#[tokio::test]
async fn a_question_outlives_two_crashes_and_is_answered_at_the_child() {
    let mut stage = ScriptedDaemon::new("").await;
    let mut asking = ChildApproval::start(&stage, "never").await;
    for _ in 0..2 {
        stage.crash().await;
        assert_eq!(asking.waiting(&stage).await, [1, 1, 1]);
    }
    asking.turn = stage.follow(asking.parent, asking.turn.id).await;
    let (status, told) = asking.answer(&stage, true, "deny").await;
    assert_eq!(status, 200, "{told}");
    asking.turn.until("turn_completed").await;
    assert!(!stage.work.join("never").exists());
    assert_eq!(asking.turn.all("subagent_started").len(), 1);
    asking.assert_recorded(&stage, "approval_denied");
    stage.asked().iter().for_each(assert_paired);
}

#[tokio::test]
async fn an_answer_that_was_accepted_outlives_a_crash() {
    let mut stage = ScriptedDaemon::new("").await;
    for at_child in [false, true] {
        let mut asking = ChildApproval::start(&stage, &format!("made-{at_child}")).await;
        let (status, told) = asking.answer(&stage, at_child, "approve").await;
        assert_eq!(status, 200, "{told}");
        stage.crash().await;
        asking.turn = stage.follow(asking.parent, asking.turn.id).await;
        let ends = ["turn_completed", "turn_failed"];
        while !ends.iter().any(|end| asking.turn.records.last().is_some_and(|last| last["type"] == *end)) {
            asking.turn.next().await;
        }
        assert_eq!(asking.waiting(&stage).await, [0, 0, 0], "nobody is asked again");
        asking.assert_recorded(&stage, "approval_granted");
        // The call ran once, or it had started when the daemon died and is not run again.
        let below = records(&folder(&stage, asking.child));
        assert_eq!(named(&below, "tool_call_started").len(), 1);
        let [completed] = named(&below, "tool_call_completed").try_into().unwrap();
        let is_unknown = completed.to_string().contains(ostler_types::results::INTERRUPTED);
        assert!(is_unknown || stage.work.join(format!("made-{at_child}")).exists(), "{completed}");
    }
    stage.asked().iter().for_each(assert_paired);
}
