//! Verification through a real daemon: a model that breaks something is told, and the end of the turn says
//! what there is to say.

use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, policy_without_approvals, write};

/// A test of the workspace's own.
const TEST: &str = "grep -q oats feed.txt || { echo 'FAILED: the horse wants oats'; exit 1; }\n";

#[tokio::test]
async fn a_model_that_broke_a_test_is_told_and_mends_it() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("test.sh", TEST);
    stage.write("feed.txt", "oats\n");
    let mut policy = policy_without_approvals();
    policy.verify.commands = vec!["sh test.sh".to_owned()];
    let id = stage.session(policy).await;
    let steps = [write("feed.txt", "hay\n"), json!("that is it"), write("feed.txt", "oats\n")];
    let turn = stage.play(id, &steps).await;
    let end = turn.records.last().unwrap();
    assert_eq!(end["data"]["verified"], true, "{end}");
    assert_eq!(end["data"]["verification"], "verified after 2 rounds");
    let rounds: Vec<Value> = turn.all("verification_completed").iter().map(|it| it["ok"].clone()).collect();
    assert_eq!(rounds, [false, true]);
    let told = stage.last_asked();
    assert!(told.contains("Verification failed (round 1 of 3)"), "{told}");
    assert!(told.contains("FAILED: the horse wants oats"), "{told}");
}

#[tokio::test]
async fn a_model_that_never_mends_it_is_not_believed() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("test.sh", TEST);
    let mut policy = policy_without_approvals();
    policy.verify.commands = vec!["sh test.sh".to_owned()];
    policy.verify.max_rounds = 1;
    let id = stage.session(policy).await;
    let turn = stage.play(id, &[write("feed.txt", "hay\n"), json!("all tests pass")]).await;
    let end = turn.records.last().unwrap();
    assert_eq!(end["type"], "turn_completed");
    assert_eq!(end["data"]["verified"], false, "{end}");
    let said = end["data"]["verification"].as_str().unwrap();
    assert!(said.starts_with("not verified: it still fails"), "{said}");
}

#[tokio::test]
async fn a_workspace_says_how_it_is_checked_only_when_it_is_trusted() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("Makefile", "test:\n\techo ran >> ran.txt\n");
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &[write("a.txt", "1")]).await;
    let end = turn.records.last().unwrap();
    assert_eq!(end["data"]["verified"], Value::Null);
    let said = end["data"]["verification"].as_str().unwrap();
    assert!(said.contains("the Makefile") && said.contains("not trusted"), "{said}");
    assert!(!stage.work.join("ran.txt").exists());

    let work = stage.work.to_str().unwrap();
    let trusted = stage.request("PUT", "/v1/trust", &json!({"workspace_path": work, "trusted": true})).await;
    assert_eq!((trusted.0, &trusted.1["trusted"]), (200, &json!(true)));
    let turn = stage.play(id, &[write("a.txt", "2")]).await;
    let end = turn.records.last().unwrap();
    assert_eq!(end["data"]["verified"], true, "{end}");
    assert_eq!(stage.read("ran.txt"), "ran\n");

    stage.write("AGENTS.md", "## Verification\n```sh\ntest $(cat a.txt) = 3\n```\n");
    let turn = stage.play(id, &[write("a.txt", "3")]).await;
    assert_eq!(turn.records.last().unwrap()["data"]["verified"], true);
    assert_eq!(turn.all("verification_started")[0]["commands"], json!(["test $(cat a.txt) = 3"]));

    assert!(!stage.client.trust(work, false).await.unwrap().trusted);
    let turn = stage.play(id, &[write("a.txt", "4")]).await;
    assert!(turn.all("verification_started").is_empty(), "trust can be taken back");
}

#[tokio::test]
async fn a_turn_that_leaves_nothing_behind_is_not_checked() {
    let stage = ScriptedDaemon::new("").await;
    let mut policy = policy_without_approvals();
    policy.verify.commands = vec!["false".to_owned()];
    let id = stage.session(policy).await;
    let turn = stage.play(id, &[crate::scripted::shell("touch a; rm a")]).await;
    assert!(turn.all("verification_started").is_empty());
    assert_eq!(turn.records.last().unwrap()["data"]["verified"], Value::Null);
}

#[tokio::test]
async fn checks_are_confined_like_commands() {
    let stage = ScriptedDaemon::new("").await;
    let mut policy = policy_without_approvals();
    let outside = stage.outside.join("made.txt");
    policy.verify.commands = vec![format!("touch {}", outside.display())];
    policy.verify.max_rounds = 0;
    let id = stage.session(policy).await;
    let turn = stage.play(id, &[write("a.txt", "1")]).await;
    assert_eq!(turn.records.last().unwrap()["data"]["verified"], false);
    assert!(!outside.exists());
}
