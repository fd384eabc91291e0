//! Approvals through a real daemon: what asks, what the question shows, and what each answer leads to.

use ostler_types::Policy;
use serde_json::{Value, json};

use crate::approvals_bypasses::asks;
use crate::scripted::{ScriptedDaemon, call, shell};

const MAKEFILE: &str = "x:\n\techo once >> runs.txt\n";

async fn stage() -> ScriptedDaemon {
    let stage = ScriptedDaemon::new("").await;
    stage.write("Makefile", MAKEFILE);
    stage.write("README.md", "hello\n");
    stage
}

fn runs(stage: &ScriptedDaemon) -> usize {
    std::fs::read_to_string(stage.work.join("runs.txt")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_question_shows_the_command_and_the_exact_rule() {
    let stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("cat README.md | head -n 1 && ls"), shell("ls && make x")]).await;
    let asked = turn.until("approval_requested").await;
    let results = turn.results();
    assert!(results[0].ok && results[0].text.contains("hello"), "what only reads does not ask: {results:?}");
    assert_eq!(asked["data"]["kind"], "exec");
    assert_eq!(asked["data"]["summary"], "ls && make x");
    let rule = &asked["data"]["rule"];
    assert_eq!((&rule["tool"], &rule["subject"]), (&json!("shell"), &json!("ls && make x")));
    assert_eq!(rule["commands"], json!([{"argv": ["make", "x"]}]), "{rule}");
    let (_, waiting) = stage.request("GET", "/v1/approvals", &Value::Null).await;
    assert_eq!(waiting["approvals"][0]["rule"], *rule, "{waiting}");
    assert_eq!(stage.answer(&asked, json!({"action": "approve"})).await.0, 200);
    turn.finish().await;
    assert_eq!(runs(&stage), 1);
    assert_eq!(asks(&stage, id, &["make x"]).await, [true], "once is once");
}

#[tokio::test]
async fn what_a_waiting_change_would_do_is_told_from_the_files_as_they_are() {
    let stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let patch = "*** Begin Patch\n*** Update File: README.md\n-hello\n+good bye\n*** Delete File: Makefile\n*** End Patch\n";
    let calls = [
        (
            call("write_file", json!({"path": "README.md", "content": "hello\nyou\n"})),
            Some(json!(["modified"])),
        ),
        (call("write_file", json!({"path": "new.md", "content": "hello\n"})), Some(json!(["added"]))),
        (
            call("edit_file", json!({"path": "README.md", "old": "hello", "new": "hi"})),
            Some(json!(["modified"])),
        ),
        (call("apply_patch", json!({"patch": patch})), Some(json!(["modified", "deleted"]))),
        (call("edit_file", json!({"path": "README.md", "old": "absent", "new": "hi"})), None),
        (shell("make x"), None),
    ];
    for (call, kinds) in calls {
        let mut turn = stage.start(id, std::slice::from_ref(&call)).await;
        let asked = turn.until("approval_requested").await;
        let path = format!(
            "/v1/sessions/{id}/approvals/{}/diff",
            asked["data"]["tool_call"]["id"].as_str().unwrap()
        );
        let (status, told) = stage.request("GET", &path, &Value::Null).await;
        let files = told["files"].as_array();
        let told_kinds = files.map(|files| files.iter().map(|file| file["kind"].clone()).collect::<Value>());
        assert_eq!((status, told_kinds), (200, kinds), "{call}: {told}");
        assert!(files.into_iter().flatten().all(|file| file["diff"].is_string()), "{told}");
        assert_eq!(stage.read("README.md"), "hello\n", "nothing has happened yet");
        stage.answer(&asked, json!({"action": "deny"})).await;
        turn.finish().await;
        assert_eq!(stage.request("GET", &path, &Value::Null).await.0, 404, "it waits no longer");
    }
}

#[tokio::test]
async fn an_answer_for_the_session_holds_in_it_alone() {
    let stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x")]).await;
    let asked = turn.until("approval_requested").await;
    stage.answer(&asked, json!({"action": "approve", "scope": "session"})).await;
    turn.finish().await;
    assert_eq!(asks(&stage, id, &["make x", "ls; make x", "make y"]).await, [false, false, true]);
    let other = stage.session(Policy::default()).await;
    assert_eq!(asks(&stage, other, &["make x"]).await, [true]);
}

#[tokio::test]
async fn an_answer_for_ever_survives_a_restart_and_covers_no_more_than_it_says() {
    let mut stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x")]).await;
    let asked = turn.until("approval_requested").await;
    stage.answer(&asked, json!({"action": "approve", "scope": "always"})).await;
    turn.finish().await;
    stage.crash().await;
    let other = stage.session(Policy::default()).await;
    let lines = ["make x", "ls && make x | head", "make x; rm README.md", "make y"];
    assert_eq!(asks(&stage, other, &lines).await, [false, false, true, true]);
    assert_eq!(runs(&stage), 3);
    let elsewhere = stage.session_in(&stage.outside, Policy::default(), None).await;
    assert_eq!(
        asks(&stage, elsewhere, &["make x"]).await,
        [true],
        "the same words mean something else there"
    );
    let mut strict = Policy::default();
    strict.approval.safe_commands = false;
    let strict = stage.session(strict).await;
    let lines = ["ls", "make x", "ls && make x"];
    assert_eq!(asks(&stage, strict, &lines).await, [true, false, true], "only the call itself");
}

#[tokio::test]
async fn the_model_hears_why_not() {
    let stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x")]).await;
    let asked = turn.until("approval_requested").await;
    stage.answer(&asked, json!({"action": "deny", "reason": "the stable is closed"})).await;
    let end = turn.finish().await;
    assert_eq!(end["type"], "turn_completed", "the turn goes on");
    assert!(!turn.result().ok);
    assert!(stage.last_asked().contains("The user denied this call: the stable is closed"));
    assert_eq!(runs(&stage), 0);
}

#[tokio::test]
async fn a_turn_that_waits_can_be_canceled() {
    let stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x")]).await;
    let asked = turn.until("approval_requested").await;
    assert!(stage.client.cancel(id).await.unwrap());
    assert_eq!(turn.finish().await["type"], "turn_canceled");
    assert!(turn.result().text.contains("Cancelled by user"), "{}", turn.result().text);
    let (status, late) = stage.answer(&asked, json!({"action": "approve"})).await;
    assert!((400..500).contains(&status), "{status} {late}");
    assert!(stage.client.approvals().await.unwrap().is_empty());
    assert_eq!(runs(&stage), 0);
}

#[tokio::test]
async fn a_daemon_that_is_killed_while_it_waits_still_runs_the_call_once() {
    let mut stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x"), shell("echo after")]).await;
    turn.until("approval_requested").await;
    let turn_id = turn.id;
    stage.crash().await;
    let mut turn = stage.follow(id, turn_id).await;
    let asked = turn.until("approval_requested").await;
    assert_eq!(runs(&stage), 0, "nothing happens before the answer");
    assert_eq!(stage.answer(&asked, json!({"action": "approve"})).await.0, 200);
    assert_eq!(turn.finish().await["type"], "turn_completed");
    assert_eq!(runs(&stage), 1);
    assert_eq!(turn.all("tool_call_started").len(), 2);
    assert_eq!(turn.results().iter().filter(|result| result.ok).count(), 2, "{:?}", turn.results());
}

#[tokio::test]
async fn of_two_answers_at_once_the_first_counts_and_the_other_hears_of_it() {
    let stage = stage().await;
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x")]).await;
    let asked = turn.until("approval_requested").await;
    let (yes, no) = tokio::join!(
        stage.answer(&asked, json!({"action": "approve"})),
        stage.answer(&asked, json!({"action": "deny"}))
    );
    turn.finish().await;
    let mut statuses = [yes.0, no.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{yes:?} {no:?}");
    let (lost, how, ran) = if yes.0 == 200 { (no.1, "approved", 1) } else { (yes.1, "denied", 0) };
    assert_eq!(lost["error"]["code"], "already_answered");
    let message = lost["error"]["message"].as_str().unwrap();
    assert!(message.contains(how) && message.contains("stage"), "it names the first: {message}");
    assert_eq!(runs(&stage), ran);
}

#[tokio::test]
async fn a_directory_or_the_background_is_not_covered_by_a_rule_for_the_plain_command() {
    let stage = stage().await;
    stage.write("sub/Makefile", "x:\n\techo wrong >> ../runs.txt\n");
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x")]).await;
    let asked = turn.until("approval_requested").await;
    stage.answer(&asked, json!({"action": "approve", "scope": "always"})).await;
    turn.finish().await;
    for more in [json!({"cwd": "sub"}), json!({"background": true}), json!({"pty": true})] {
        let mut input = json!({"command": "make x"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut turn = stage.start(id, &[call("shell", input)]).await;
        let asked = turn.until("approval_requested").await;
        stage.answer(&asked, json!({"action": "deny"})).await;
        turn.finish().await;
    }
    assert_eq!(stage.read("runs.txt"), "once\n");
}
