//! A repository that a command makes inside the workspace, with traps in its settings and hooks: whatever the
//! daemon does there later, by itself or by its tools, springs none of them outside the sandbox.

use std::process::Command;

use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, shell, write};

/// Makes a repository in `sub` whose every setting that names a program, and every hook, leaves a trace
/// outside; and has the workspace's own repository name it.
const PLANT: &str = r#"set -e
git init -q sub && cd sub
git config user.name t; git config user.email t@t
echo one > file.txt; git add file.txt; git commit -q -m one
trap="$OUT/sprung"
for name in pre-commit post-checkout post-index-change post-commit reference-transaction fsmonitor-watchman; do
  printf '#!/bin/sh\necho %s >> %s\n' "$name" "$trap" > .git/hooks/$name; chmod +x .git/hooks/$name
done
printf '*.txt filter=x diff=x\n' > .gitattributes
git config core.fsmonitor "echo fsmonitor >> $trap; false"
git config core.pager "echo pager >> $trap"; git config core.sshCommand "echo ssh >> $trap"
git config filter.x.clean "echo clean >> $trap; cat"; git config filter.x.smudge "echo smudge >> $trap; cat"
git config filter.x.required true; git config diff.x.textconv "echo textconv >> $trap; cat"
git config diff.external "echo external >> $trap"
echo two > file.txt; cd ..; git add -f sub 2>/dev/null || true
"#;

#[tokio::test]
async fn an_embedded_repository_springs_no_trap_in_what_the_daemon_does() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("top.txt", "top\n");
    stage.commit();
    let sprung = stage.outside.join("sprung");
    let plant = PLANT.replace("$OUT", stage.outside.to_str().unwrap());
    let id = stage.session(policy_without_approvals()).await;
    let planted = stage.play(id, &[shell(&plant)]).await;
    assert!(planted.result().ok, "{}", planted.result().text);
    assert!(planted.result().text.contains("core.fsmonitor"), "it is told: {}", planted.result().text);
    assert!(!sprung.exists(), "while it was made, it was confined");

    let steps = [
        call("git_status", json!({})),
        call("repo_tree", json!({})),
        call("search", json!({"query": "two"})),
        call("repo_map", json!({})),
        write("sub/file.txt", "three\n"),
        call("verify", json!({"commands": ["true"]})),
    ];
    let turn = stage.play(id, &steps).await;
    assert!(turn.results()[0].ok, "{}", turn.results()[0].text);
    assert!(!sprung.exists(), "{:?}", std::fs::read_to_string(&sprung));
    let undo = format!("/v1/sessions/{id}/undo");
    let (status, undone) = stage.request("POST", &undo, &json!({"turn_id": turn.id})).await;
    assert_eq!(status, 200, "{undone}");
    assert_eq!(stage.read("sub/file.txt"), "two\n");
    let mut clean = policy_without_approvals();
    clean.verify.require_clean = true;
    clean.verify.max_rounds = 0;
    let checked = stage.session(clean).await;
    let turn = stage.play(checked, &[write("top.txt", "changed\n")]).await;
    assert_eq!(turn.records.last().unwrap()["data"]["verified"], Value::Bool(false));
    assert!(!sprung.exists(), "{:?}", std::fs::read_to_string(&sprung));

    // A git that is not on its guard goes into the trap, or else all this shows nothing.
    let status = Command::new("git").arg("-C").arg(stage.work.join("sub")).arg("status").output().unwrap();
    assert!(sprung.exists(), "{status:?}");
}
