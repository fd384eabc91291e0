//! Questions and answers: by id, with a guard against keys that were meant for something else.

use crossterm::event::KeyCode;
use ostler_tui::input::{DaemonNews, TuiEffect, TuiInput};
use ostler_tui::model::FocusArea;
use ostler_types::{Scope, Verdict};
use serde_json::json;

use crate::fixture::{TuiFixture, approval, session_id, started};

fn asking() -> TuiFixture {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    world.record_happens(1, 2, "approval_requested", approval("c1", "make install"));
    world.effects();
    world
}

fn answered(world: &mut TuiFixture) -> Option<(String, Verdict, Option<Scope>, Option<String>)> {
    world.effects().into_iter().find_map(|effect| match effect {
        TuiEffect::Answer { answer, .. } => {
            Some((answer.tool_call_id.0.clone(), answer.action, answer.scope, answer.reason))
        }
        _ => None,
    })
}

#[test]
fn an_answer_takes_one_key_but_not_at_once() {
    let mut world = asking();
    assert_eq!(world.model.area, FocusArea::Approval);
    world.press(KeyCode::Char('y'));
    assert_eq!(answered(&mut world), None, "a key that was on its way answers nothing");
    world.wait(500);
    world.press(KeyCode::Char('y'));
    assert_eq!(answered(&mut world), Some(("c1".to_owned(), Verdict::Approve, Some(Scope::Once), None)));
    world.press(KeyCode::Char('y'));
    assert_eq!(answered(&mut world), None, "and only once");
}

#[test]
fn a_change_is_compared_with_the_files_as_they_are() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    let input = json!({"path": "notes.txt", "content": "one\nthree\n"});
    let call = json!({"id": "c1", "name": "write_file", "input": input});
    let rule = json!({"tool": "write_file", "subject": "notes.txt"});
    let asked = json!({"tool_call": call, "kind": "write", "summary": "write notes.txt", "rule": rule});
    world.record_happens(1, 2, "approval_requested", asked);
    world.input(TuiInput::ScreenDrawn);
    world.input(TuiInput::ScreenDrawn);
    let compares = |effect: &TuiEffect| matches!(effect, TuiEffect::Compare { call, .. } if call.0 == "c1");
    assert_eq!(world.effects().iter().filter(|effect| compares(effect)).count(), 1, "it is asked once");
    assert!(!world.screen(80, 24).contains("- two"), "until then the call's own words are shown");
    let diff = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
    let file = json!({"path": "notes.txt", "kind": "modified", "added": 1, "removed": 1, "binary": false, "diff": diff});
    let told = |call: &str| DaemonNews::Compared {
        id: session_id(1),
        call: ostler_types::ToolCallId(call.to_owned()),
        files: Some(vec![serde_json::from_value(file.clone()).unwrap()]),
    };
    world.news(told("another"));
    assert!(
        !world.screen(80, 24).contains("+1 −1"),
        "an answer to another question is not taken for one to this"
    );
    world.news(told("c1"));
    let screen = world.screen(80, 24);
    assert!(screen.contains("notes.txt +1 −1") && screen.contains("two"), "{screen}");
}

#[test]
fn who_writes_is_not_interrupted_by_a_question() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    world.write("hm");
    world.record_happens(1, 2, "approval_requested", approval("c1", "make"));
    world.wait(5000);
    world.write("y");
    assert_eq!(world.model.composer().raw(), "hmy");
    assert_eq!(answered(&mut world), None);
    world.press(KeyCode::Tab);
    world.press(KeyCode::Char('a'));
    assert_eq!(answered(&mut world), Some(("c1".to_owned(), Verdict::Approve, Some(Scope::Always), None)));
    assert_eq!(world.model.composer().raw(), "hmy");
}

#[test]
fn where_there_is_little_room_a_rule_is_seen_before_it_is_made() {
    let mut world = asking();
    world.wait(500);
    let screen = world.screen(40, 12);
    assert!(screen.contains("[a]always") && screen.contains("$ make install"), "{screen}");
    world.press(KeyCode::Char('a'));
    assert_eq!(answered(&mut world), None);
    assert!(world.screen(40, 12).contains("▸ always: make install"));
    world.press(KeyCode::Char('a'));
    assert_eq!(answered(&mut world).unwrap().2, Some(Scope::Always));
}

#[test]
fn a_no_can_carry_words() {
    let mut world = asking();
    world.wait(500);
    world.press(KeyCode::Char('w'));
    world.write("use a dry run");
    world.press(KeyCode::Enter);
    let words = Some("use a dry run".to_owned());
    assert_eq!(answered(&mut world), Some(("c1".to_owned(), Verdict::Deny, Some(Scope::Once), words)));
}

#[test]
fn an_answer_names_its_question_and_not_the_next_one() {
    let mut world = asking();
    world.record_happens(1, 3, "approval_requested", approval("c2", "rm -r x"));
    world.wait(500);
    // Somebody else answers the first question just before.
    world.record_happens(
        1,
        4,
        "approval_granted",
        json!({"tool_call_id": "c1", "tool": "shell", "by": "http page", "scope": "once", "reason": null}),
    );
    world.press(KeyCode::Char('y'));
    assert_eq!(answered(&mut world), None, "the new question has only just appeared");
    world.wait(500);
    world.press(KeyCode::Char('n'));
    assert_eq!(answered(&mut world), Some(("c2".to_owned(), Verdict::Deny, Some(Scope::Once), None)));
}

#[test]
fn an_error_beats_the_answer_and_the_question_is_there_again() {
    let mut world = asking();
    world.wait(500);
    world.press(KeyCode::Char('y'));
    answered(&mut world);
    let why = "the disk is full".to_owned();
    world.news(DaemonNews::NotAnswered { id: session_id(1), call: "c1".to_owned(), why, over: false });
    assert!(world.screen(80, 24).contains("✗ the disk is full"));
    world.press(KeyCode::Char('n'));
    assert_eq!(
        answered(&mut world).map(|(call, verdict, ..)| (call, verdict)),
        Some(("c1".to_owned(), Verdict::Deny))
    );
}

#[test]
fn a_question_that_somebody_else_has_answered_goes() {
    let mut world = asking();
    world.wait(500);
    world.press(KeyCode::Char('y'));
    let why = "http page has answered".to_owned();
    world.news(DaemonNews::NotAnswered { id: session_id(1), call: "c1".to_owned(), why, over: true });
    assert!(world.model.focused().unwrap().approvals().next().is_none());
    assert_eq!(world.model.area, FocusArea::Composer);
}

#[test]
fn who_turns_away_from_a_question_is_left_alone() {
    let mut world = asking();
    world.press(KeyCode::Esc);
    assert_eq!(world.model.area, FocusArea::Composer);
    world.input(TuiInput::ScreenDrawn);
    world.write("y");
    assert_eq!(world.model.composer().raw(), "y");
    assert_eq!(answered(&mut world), None);
}

#[test]
fn a_review_can_put_single_files_back() {
    let mut world = TuiFixture::new();
    let files = json!([
        {"path": "a.rs", "kind": "modified", "added": 1, "removed": 0, "binary": false, "diff": "@@ -1,0 +1,1 @@\n+a\n"},
        {"path": "b.rs", "kind": "added", "added": 2, "removed": 0, "binary": false},
    ]);
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    world.record_happens(
        1,
        2,
        "patch_review_requested",
        json!({"tool_call_id": "review_1", "files": files, "waits": true}),
    );
    let pending = json!([{
        "session_id": session_id(1), "turn_id": crate::fixture::TURN, "tool_call_id": "review_1", "tool": "patch_review",
        "input": {}, "kind": "write", "summary": "2 files", "rule": {"tool": "patch_review", "subject": ""},
        "requested_at": "2026-03-02T09:15:06Z",
    }]);
    let others = json!({"pending_approvals": pending, "running_turn_id": crate::fixture::TURN});
    world.news(DaemonNews::Loaded(Box::new(crate::fixture::shown(1, 2, others))));
    world.wait(500);
    world.press(KeyCode::Right);
    world.press(KeyCode::Char(' '));
    world.press(KeyCode::Char('y'));
    let review = world.effects().into_iter().find_map(|effect| match effect {
        TuiEffect::Answer { answer, .. } => answer.review,
        _ => None,
    });
    let rejected: Vec<String> = review.unwrap().reject.into_iter().map(|file| file.path).collect();
    assert_eq!(rejected, ["b.rs"]);
}

/// A turn that waits for its changes to be looked at: one file with two hunks, one that is new.
pub(crate) fn reviewing() -> TuiFixture {
    let mut world = TuiFixture::new();
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn a() {\n-    one();\n+    two();\n@@ -40,2 +40,3 @@\n fn z() {\n+    three();\n     end();\n";
    let files = json!([
        {"path": "a.rs", "kind": "modified", "added": 2, "removed": 1, "binary": false, "diff": diff},
        {"path": "b.rs", "kind": "added", "added": 1, "removed": 0, "binary": false, "diff": "--- /dev/null\n+++ b/b.rs\n@@ -0,0 +1 @@\n+fn b() {}\n"},
    ]);
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    world.record_happens(
        1,
        2,
        "patch_review_requested",
        json!({"tool_call_id": "review_1", "files": files, "waits": true}),
    );
    world.wait(7000);
    world.effects();
    world
}

#[test]
fn a_review_can_put_single_hunks_back() {
    let mut world = reviewing();
    world.press(KeyCode::Char('j'));
    world.press(KeyCode::Char('j'));
    world.press(KeyCode::Char('j'));
    world.press(KeyCode::Char(' '));
    let screen = world.screen(80, 24);
    assert!(screen.contains("▸↺ @@ -40,2 +40,3 @@"), "{screen}");
    assert!(screen.contains("◐ a.rs"), "{screen}");
    world.press(KeyCode::Right);
    world.press(KeyCode::Char('j'));
    world.press(KeyCode::Char(' '));
    world.press(KeyCode::Char('y'));
    let review = world.effects().into_iter().find_map(|effect| match effect {
        TuiEffect::Answer { answer, .. } => answer.review,
        _ => None,
    });
    let rejected: Vec<_> = review.unwrap().reject.into_iter().map(|file| (file.path, file.hunks)).collect();
    // A file that is new is one thing, whatever its diff looks like.
    assert_eq!(rejected, [("a.rs".to_owned(), Some(vec![1])), ("b.rs".to_owned(), None)]);
}

#[test]
fn a_review_that_waits_since_long_ago_is_known_by_what_waits() {
    let mut world = TuiFixture::new();
    let files = json!([{"path": "a.rs", "kind": "modified", "added": 1, "removed": 0, "binary": false, "diff": "@@ -1,0 +1,1 @@\n+a\n"}]);
    let pending = json!([{
        "session_id": session_id(3), "turn_id": crate::fixture::TURN, "tool_call_id": "review_1", "tool": "patch_review",
        "input": {"files": files}, "kind": "write", "summary": "1 file", "rule": {"tool": "patch_review", "subject": ""},
        "requested_at": "2026-03-02T09:15:06Z",
    }]);
    let others = json!({"pending_approvals": pending, "running_turn_id": crate::fixture::TURN});
    world.news(DaemonNews::Loaded(Box::new(crate::fixture::shown(3, 5000, others))));
    world.model.focus = Some(session_id(3));
    let screen = world.screen(80, 24);
    assert!(screen.contains("a.rs +1 −0") && screen.contains("@@ -1,0 +1,1 @@"), "{screen}");
}
