//! The tools that change files, each by a call that a model makes, through a real daemon.

use ostler_types::Policy;
use serde_json::json;

use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, write};

const PATCH: &str = "*** Begin Patch\n*** Update File: notes.md\n@@\n one\n-two\n+zwei\n three\n*** Add File: more/added.md\n\
                     +new\n*** Delete File: old.md\n*** End Patch\n";

#[tokio::test]
async fn the_tools_that_change_files_do_what_they_say() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("notes.md", "one\ntwo\nthree\n");
    stage.write("old.md", "gone soon\n");
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage
        .play(
            id,
            &[
                call("apply_patch", json!({"patch": PATCH})),
                call("edit_file", json!({"path": "notes.md", "old": "three", "new": "drei"})),
                write("deep/down/made.txt", "made\n"),
                call("edit_file", json!({"path": "notes.md", "old": "nowhere", "new": "x"})),
            ],
        )
        .await;
    let ok: Vec<bool> = turn.results().iter().map(|result| result.ok).collect();
    assert_eq!(ok, [true, true, true, false], "{:#?}", turn.results());
    assert_eq!(stage.read("notes.md"), "one\nzwei\ndrei\n");
    assert_eq!(stage.read("more/added.md"), "new\n");
    assert_eq!(stage.read("deep/down/made.txt"), "made\n");
    assert!(!stage.work.join("old.md").exists());
    assert_eq!(turn.all("checkpoint_created").len(), 2, "one before the first change, one after the turn");
}

#[tokio::test]
async fn each_of_them_waits_for_an_answer_by_default() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("notes.md", "one\ntwo\nthree\n");
    let id = stage.session(Policy::default()).await;
    for step in [
        call("apply_patch", json!({"patch": PATCH})),
        call("edit_file", json!({"path": "notes.md", "old": "three", "new": "drei"})),
        write("made.txt", "made\n"),
    ] {
        let mut turn = stage.start(id, std::slice::from_ref(&step)).await;
        let asked = turn.until("approval_requested").await;
        assert_eq!(asked["data"]["kind"], "write", "{step}");
        assert_eq!(stage.answer(&asked, json!({"action": "deny"})).await.0, 200);
        turn.finish().await;
    }
    assert_eq!(stage.read("notes.md"), "one\ntwo\nthree\n");
    assert!(!stage.work.join("made.txt").exists());
}
