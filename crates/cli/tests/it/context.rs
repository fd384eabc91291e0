//! What a model is told of its workspace, the sessions that it starts, and what it does when a conversation is
//! too long: through a real daemon and a provider's wire.

use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, ScriptedTurn, call, policy_without_approvals};

const TOLD: &[(&str, &str)] = &[("OSTLER_CONTEXT_BUNDLE", "true")];

/// A prompt for another session, which plays these steps.
fn prompt(steps: &[Value]) -> String {
    format!("play {}", Value::from(steps))
}

/// The texts that the model was told in a turn and that nobody said.
fn texts(turn: &ScriptedTurn) -> Vec<String> {
    let mut added = turn.all("message_added");
    added.retain(|added| added["message"]["role"] == "system");
    added.iter().map(|added| added["message"]["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_session_is_told_of_its_workspace_once() {
    let stage = ScriptedDaemon::with("", TOLD).await;
    stage.write("AGENTS.md", "Use tabs, never spaces.\n");
    stage.write("src/lib.rs", "pub fn saddle() {}\n");
    let skill = "---\nname: shoe-a-horse\ndescription: how to shoe a horse\n---\nLift the hoof.\n";
    std::fs::create_dir_all(stage.data.parent().unwrap().join("skills/shoe-a-horse")).unwrap();
    std::fs::write(stage.data.parent().unwrap().join("skills/shoe-a-horse/SKILL.md"), skill).unwrap();
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &[call("skill", json!({"name": "shoe-a-horse"}))]).await;
    assert!(turn.result().text.contains("Lift the hoof."), "{}", turn.result().text);
    let mut told = texts(&turn);
    for expected in ["Use tabs, never spaces.", "lib.rs", "shoe-a-horse: how to shoe a horse"] {
        assert!(told[0].contains(expected), "{expected}: {told:?}");
    }
    assert!(stage.last_asked().contains("Use tabs, never spaces."));
    assert!(stage.offered().contains(&"skill".to_owned()) && stage.offered().contains(&"task".to_owned()));
    told.extend(texts(&stage.play(id, &[]).await));
    // Git may take longer than the first calls; what it says then comes by itself.
    let is_whole =
        |text: &&String| text.contains("Use tabs") || text.contains("lib.rs") || text.contains("shoe");
    assert_eq!(told.iter().filter(is_whole).count(), 1, "nothing is told twice: {told:?}");
    assert!(told.len() <= 2, "{told:?}");
}

#[tokio::test]
async fn another_session_does_the_work_and_its_changes_are_merged() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\n");
    stage.commit();
    let id = stage.session(policy_without_approvals()).await;
    let work = prompt(&[call("write_file", json!({"path": "b.txt", "content": "two\n"})), json!("written")]);
    let turn = stage
        .play(id, &[call("task", json!({"description": "write", "prompt": work, "worktree": true}))])
        .await;
    let result = turn.result();
    assert!(result.ok && result.text.starts_with("written"), "{}", result.text);
    assert!(!stage.work.join("b.txt").exists(), "it worked elsewhere");
    let task_id = result.result["details"]["session_id"].as_str().unwrap().to_owned();
    let turn = stage.play(id, &[call("task_control", json!({"task_id": task_id, "action": "merge"}))]).await;
    assert!(turn.result().ok, "{}", turn.result().text);
    assert_eq!(stage.read("b.txt"), "two\n");
}

#[tokio::test]
async fn a_daemon_that_is_killed_while_a_session_works_for_another_goes_on_with_both() {
    let mut stage = ScriptedDaemon::new("").await;
    let id = stage.session(ostler_types::Policy::default()).await;
    // The other session waits for an answer, which is asked for at both.
    let work = prompt(&[call("shell", json!({"command": "touch made"})), json!("made it")]);
    let mut turn = stage.start(id, &[call("task", json!({"description": "make", "prompt": work}))]).await;
    let asked = turn.until("approval_requested").await;
    assert!(asked["data"]["child"].is_object(), "{asked}");
    stage.crash().await;
    let mut turn = stage.follow(id, turn.id).await;
    let asked = turn.until("approval_requested").await;
    let (status, answer) = stage.answer(&asked, json!({"action": "approve"})).await;
    assert_eq!(status, 200, "{answer}");
    turn.until("turn_completed").await;
    assert!(turn.result().text.starts_with("made it"), "{}", turn.result().text);
    assert_eq!(turn.all("subagent_started").len(), 1, "no second session was started");
    assert!(stage.work.join("made").exists());
}

#[tokio::test]
async fn a_conversation_that_was_made_shorter_stays_so_after_a_crash() {
    let mut stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    for number in 0..3 {
        stage.play(id, &[json!(format!("answer {number} {}", "word ".repeat(500)))]).await;
    }
    let (status, started) = stage.request("POST", &format!("/v1/sessions/{id}/compact"), &Value::Null).await;
    assert_eq!(status, 202, "{started}");
    let mut turn = stage.follow(id, started["turn_id"].as_str().unwrap().parse().unwrap()).await;
    let compacted = turn.until("context_compacted").await["data"].clone();
    assert_eq!(compacted["trigger"], "asked");
    assert!(compacted["tokens_after"].as_u64() < compacted["tokens_before"].as_u64(), "{compacted}");
    assert_eq!(turn.finish().await["data"]["stop_reason"], "compacted");
    stage.crash().await;
    stage.play(id, &[json!("on")]).await;
    let asked = stage.last_asked();
    assert!(asked.contains("notes of what was said") && asked.contains("answer 0"), "{asked}");
    assert!(!asked.contains(&format!("answer 0 {}", "word ".repeat(500))), "{asked}");
}
