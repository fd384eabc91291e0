//! Patch review through a real daemon: the change of a turn waits for a person, who takes some of it.

use ostler_types::{PatchReviewMode, Policy};
use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, policy_without_approvals, write};

fn reviewed() -> Policy {
    let mut policy = policy_without_approvals();
    policy.patch_review.mode = PatchReviewMode::Request;
    policy
}

#[tokio::test]
async fn a_file_that_is_rejected_is_put_back_and_the_model_hears_why() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("kept.txt", "before\n");
    stage.write("rejected.txt", "before\n");
    let id = stage.session(reviewed()).await;
    let steps = [write("kept.txt", "after\n"), write("rejected.txt", "after\n"), write("new.txt", "new\n")];
    let mut turn = stage.start(id, &steps).await;
    let review = turn.until("patch_review_requested").await;
    let mut paths: Vec<&str> = review["data"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["kept.txt", "new.txt", "rejected.txt"]);
    assert!(review["data"]["files"].to_string().contains("-before"), "the diff is shown: {review}");
    let (_, waiting) = stage.request("GET", "/v1/approvals", &Value::Null).await;
    let waiting = &waiting["approvals"][0];
    assert_eq!(
        waiting["tool"].as_str().or(waiting["tool_call"]["name"].as_str()),
        Some("patch_review"),
        "{waiting}"
    );

    let body = json!({
        "turn_id": turn.id, "tool_call_id": review["data"]["tool_call_id"], "action": "approve",
        "review": {"reject": [{"path": "rejected.txt"}, {"path": "new.txt"}],
                   "comments": [{"path": "rejected.txt", "line": 1, "text": "leave this one alone"}]},
    });
    let (status, answered) = stage.request("POST", &format!("/v1/sessions/{id}/approve"), &body).await;
    assert_eq!(status, 200, "{answered}");
    turn.until("model_output_completed").await;
    assert_eq!(stage.read("kept.txt"), "after\n");
    assert_eq!(stage.read("rejected.txt"), "before\n");
    assert!(!stage.work.join("new.txt").exists());
    let told = stage.last_asked();
    assert!(told.contains("rejected.txt:1: leave this one alone"), "{told}");
    assert!(told.contains("reverted: new.txt"), "{told}");
}

#[tokio::test]
async fn a_change_that_is_refused_as_a_whole_is_gone() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "before\n");
    let id = stage.session(reviewed()).await;
    let mut turn = stage.start(id, &[write("a.txt", "after\n"), write("b.txt", "new\n")]).await;
    let review = turn.until("patch_review_requested").await;
    let body = json!({
        "turn_id": turn.id, "tool_call_id": review["data"]["tool_call_id"], "action": "deny",
        "reason": "not in this stable",
    });
    assert_eq!(stage.request("POST", &format!("/v1/sessions/{id}/approve"), &body).await.0, 200);
    turn.finish().await;
    assert_eq!(stage.read("a.txt"), "before\n");
    assert!(!stage.work.join("b.txt").exists());
    assert!(stage.last_asked().contains("not in this stable"));
}

#[tokio::test]
async fn what_a_review_put_back_is_checked_again() {
    let stage = ScriptedDaemon::new("").await;
    let mut policy = reviewed();
    policy.verify.commands = vec!["test -f a.txt".to_owned()];
    for (answer, verified) in [
        (json!({"reject": [{"path": "b.txt"}]}), true),
        (json!({"reject": [{"path": "a.txt"}]}), false),
        (json!({"comments": [{"text": "well done"}]}), true),
    ] {
        let id = stage.session(policy.clone()).await;
        let mut turn = stage.start(id, &[write("a.txt", "a\n"), write("b.txt", "b\n")]).await;
        let mut review = answer.clone();
        let end = loop {
            let record = turn.next().await;
            match record["type"].as_str().unwrap() {
                "patch_review_requested" => {
                    let call = &record["data"]["tool_call_id"];
                    let body = json!({"turn_id": turn.id, "tool_call_id": call, "action": "approve", "review": review});
                    stage.request("POST", &format!("/v1/sessions/{id}/approve"), &body).await;
                    review = json!({});
                }
                "turn_completed" => break record,
                _ => {}
            }
        };
        assert_eq!(end["data"]["verified"], verified, "{answer}: {end}");
        std::fs::remove_file(stage.work.join("a.txt")).ok();
        std::fs::remove_file(stage.work.join("b.txt")).ok();
    }
}

#[tokio::test]
async fn a_review_survives_the_daemon() {
    let mut stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "before\n");
    let id = stage.session(reviewed()).await;
    let mut turn = stage.start(id, &[write("a.txt", "after\n"), write("b.txt", "new\n")]).await;
    turn.until("patch_review_requested").await;
    let turn_id = turn.id;
    stage.crash().await;
    let mut turn = stage.follow(id, turn_id).await;
    let review = turn.until("patch_review_requested").await;
    let body = json!({
        "turn_id": turn_id, "tool_call_id": review["data"]["tool_call_id"], "action": "deny", "reason": "no",
    });
    assert_eq!(stage.request("POST", &format!("/v1/sessions/{id}/approve"), &body).await.0, 200);
    assert_eq!(turn.finish().await["type"], "turn_completed");
    assert_eq!(stage.read("a.txt"), "before\n");
    assert!(!stage.work.join("b.txt").exists());
    assert_eq!(turn.all("patch_review_requested").len(), 1, "nobody is asked twice");
}
