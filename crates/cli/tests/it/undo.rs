//! Undo through a real daemon: whatever a turn did to the workspace, by tools or by commands, is taken back
//! to the byte.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ostler_types::Policy;
use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, ScriptedTurn, policy_without_approvals, shell, write};

/// Every path with its mode and content.
type FileTree = BTreeMap<String, (u32, Vec<u8>)>;

fn tree(root: &Path) -> FileTree {
    let mut tree = FileTree::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(place) = waiting.pop() {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if metadata.is_dir() {
                waiting.push(path.clone());
                continue;
            } else {
                std::fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            tree.insert(name, (metadata.permissions().mode(), content));
        }
    }
    tree
}

async fn stage() -> ScriptedDaemon {
    let stage = ScriptedDaemon::new("").await;
    stage.write("written.txt", "before\n");
    stage.write("deleted.bin", "\u{0}\u{1}binary\r\n");
    stage.write("deep/renamed.txt", "a name\n");
    stage.write("run.sh", "#!/bin/sh\n");
    stage.write("untouched/ü.txt", "ü\n");
    std::fs::set_permissions(stage.work.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("written.txt", stage.work.join("link")).unwrap();
    stage
}

/// A turn that does all that can be done to files.
async fn upheaval(stage: &ScriptedDaemon, policy: Policy) -> ScriptedTurn {
    let id = stage.session(policy).await;
    let turn = stage
        .play(
            id,
            &[
                write("written.txt", "after\n"),
                write("new/made.txt", "made\n"),
                shell("rm deleted.bin && mv deep/renamed.txt moved.txt && rmdir deep"),
                shell("echo more >> untouched/ü.txt; mkdir -p a/b && echo shell > a/b/c"),
                shell("chmod 600 run.sh; ln -sfn run.sh link; ln -s nowhere dangling"),
            ],
        )
        .await;
    assert!(turn.results().iter().all(|result| result.ok), "{:#?}", turn.results());
    turn
}

async fn undo(stage: &ScriptedDaemon, turn: &ScriptedTurn, more: Value) -> (u16, Value) {
    let mut body = json!({"turn_id": turn.id});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    stage.request("POST", &format!("/v1/sessions/{}/undo", turn.session), &body).await
}

#[tokio::test]
async fn a_turn_is_undone_to_the_byte_in_a_repository_and_outside_one() {
    for in_git in [false, true] {
        let stage = stage().await;
        if in_git {
            stage.commit();
            stage.write("untouched/dirty.txt", "not committed\n");
        }
        let before = tree(&stage.work);
        let turn = upheaval(&stage, policy_without_approvals()).await;
        let after = tree(&stage.work);
        assert_ne!(before, after);
        let (status, preview) = undo(&stage, &turn, json!({"preview": true})).await;
        assert_eq!((status, &preview["preview"]), (200, &json!(true)), "{preview}");
        assert_eq!(tree(&stage.work), after, "a preview changes nothing");
        let (status, undone) = undo(&stage, &turn, json!({})).await;
        assert_eq!(status, 200, "{undone}");
        assert_eq!(undone["conflicts"], json!([]));
        for list in ["restored", "recreated", "deleted"] {
            assert_eq!(undone[list], preview[list], "the preview said what would be done");
        }
        let now = tree(&stage.work);
        let different: Vec<&String> =
            before.keys().chain(now.keys()).filter(|path| before.get(*path) != now.get(*path)).collect();
        assert!(different.is_empty(), "git: {in_git}; {different:?}; {undone}");
        let page = stage.client.messages(turn.session, None, None).await.unwrap();
        let last = serde_json::to_value(page.messages.last().unwrap()).unwrap();
        assert_eq!(last["role"], "system", "{last}");
        let said = last["parts"][0]["text"].as_str().unwrap();
        assert!(said.contains("reverted the workspace") && said.contains("deleted.bin"), "{said}");
        stage.play(turn.session, &[]).await;
        assert!(stage.last_asked().contains("reverted the workspace"), "the model hears of it");
    }
}

#[tokio::test]
async fn what_the_user_changed_since_is_left_alone_unless_forced() {
    let stage = stage().await;
    let before = tree(&stage.work);
    let turn = upheaval(&stage, policy_without_approvals()).await;
    stage.write("written.txt", "mine\n");
    stage.write("mine.txt", "mine too\n");
    let (status, undone) = undo(&stage, &turn, json!({})).await;
    assert_eq!(status, 200, "{undone}");
    assert_eq!(undone["conflicts"].as_array().unwrap().len(), 1, "{undone}");
    assert_eq!(undone["conflicts"][0]["path"], "written.txt");
    assert_eq!(stage.read("written.txt"), "mine\n");
    assert_eq!(stage.read("mine.txt"), "mine too\n");
    assert!(stage.work.join("deleted.bin").exists(), "the rest is undone");
    let (_, forced) = undo(&stage, &turn, json!({"force": true})).await;
    assert_eq!(forced["conflicts"], json!([]), "{forced}");
    assert_eq!(stage.read("written.txt"), "before\n");
    std::fs::remove_file(stage.work.join("mine.txt")).ok();
    assert_eq!(tree(&stage.work), before);
}

#[tokio::test]
async fn nothing_is_undone_while_a_turn_runs() {
    let stage = stage().await;
    let turn = upheaval(&stage, policy_without_approvals()).await;
    let after = tree(&stage.work);
    let mut policy = policy_without_approvals();
    policy.approval.require_for_tools = vec!["shell".to_owned()];
    let change = ostler_api_types::UpdateSession { policy: Some(policy.into()), ..Default::default() };
    stage.client.update(turn.session, &change).await.unwrap();
    let mut waiting = stage.start(turn.session, &[shell("touch later")]).await;
    waiting.until("approval_requested").await;
    let (status, refused) = undo(&stage, &turn, json!({})).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("turn_running")), "{refused}");
    assert_eq!(tree(&stage.work), after);
    stage.client.cancel(turn.session).await.unwrap();
    waiting.finish().await;
}

#[tokio::test]
async fn an_earlier_turn_takes_the_later_ones_with_it() {
    let stage = stage().await;
    let before = tree(&stage.work);
    let first = upheaval(&stage, policy_without_approvals()).await;
    stage.play(first.session, &[write("written.txt", "again\n"), write("last.txt", "last\n")]).await;
    let looking = stage.play(first.session, &[shell("ls")]).await;
    let (status, nothing) = undo(&stage, &looking, json!({})).await;
    assert!(status == 409 || nothing["deleted"] == json!([]), "{status} {nothing}");
    let (status, undone) = undo(&stage, &first, json!({})).await;
    assert_eq!((status, &undone["conflicts"]), (200, &json!([])), "{undone}");
    assert_eq!(tree(&stage.work), before);
}

#[tokio::test]
async fn a_turn_that_was_stopped_can_be_taken_back_too() {
    let stage = stage().await;
    let before = tree(&stage.work);
    let mut policy = policy_without_approvals();
    policy.approval.require_for_tools = vec!["repo_map".to_owned()];
    let id = stage.session(policy).await;
    let steps = [write("written.txt", "after\n"), crate::scripted::call("repo_map", json!({}))];
    let mut turn = stage.start(id, &steps).await;
    turn.until("approval_requested").await;
    stage.client.cancel(id).await.unwrap();
    turn.finish().await;
    let (status, undone) = undo(&stage, &turn, json!({})).await;
    assert_eq!((status, &undone["restored"]), (200, &json!(["written.txt"])), "{undone}");
    assert_eq!(undone["conflicts"], json!([]));
    assert_eq!(tree(&stage.work), before);
}

async fn diff(stage: &ScriptedDaemon, turn: &ScriptedTurn) -> (u16, Value) {
    stage.request("GET", &format!("/v1/sessions/{}/turns/{}/diff", turn.session, turn.id), &Value::Null).await
}

/// The changed files by path, each with what happened to it.
fn kinds(diff: &Value) -> BTreeMap<String, String> {
    let files = diff["files"].as_array().unwrap().iter();
    files
        .map(|file| (file["path"].as_str().unwrap().to_owned(), file["kind"].as_str().unwrap().to_owned()))
        .collect()
}

#[tokio::test]
async fn what_a_turn_changed_is_told_from_the_files_whoever_changes_them_later() {
    let stage = stage().await;
    let turn = upheaval(&stage, policy_without_approvals()).await;
    stage.write("written.txt", "somebody else\n");
    let later = stage.play(turn.session, &[write("new/made.txt", "made again\n")]).await;
    let (status, changed) = diff(&stage, &turn).await;
    assert_eq!(
        (status, &changed["more"], &changed["running"], &changed["note"]),
        (200, &json!(0), &json!(false), &Value::Null)
    );
    let expected = [
        ("a/b/c", "added"),
        ("dangling", "added"),
        ("deleted.bin", "deleted"),
        ("link", "modified"),
        ("moved.txt", "renamed"),
        ("new/made.txt", "added"),
        ("run.sh", "mode_changed"),
        ("untouched/ü.txt", "modified"),
        ("written.txt", "modified"),
    ];
    assert_eq!(kinds(&changed), expected.map(|(path, kind)| (path.to_owned(), kind.to_owned())).into());
    let of = |path: &str| {
        changed["files"].as_array().unwrap().iter().find(|file| file["path"] == path).unwrap().clone()
    };
    assert!(of("written.txt")["diff"].as_str().unwrap().ends_with("-before\n+after\n"), "{changed}");
    assert_eq!(of("moved.txt")["from"], "deep/renamed.txt");
    let (_, changed) = diff(&stage, &later).await;
    assert_eq!(kinds(&changed), [("new/made.txt".to_owned(), "modified".to_owned())].into());
    let looking = stage.play(turn.session, &[shell("ls")]).await;
    let (status, nothing) = diff(&stage, &looking).await;
    assert_eq!((status, &nothing["files"]), (200, &json!([])));
    let path = format!("/v1/sessions/{}/turns/turn_{}/diff", turn.session, "0".repeat(32));
    let (status, refused) = stage.request("GET", &path, &Value::Null).await;
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("turn_not_found")));
}

#[tokio::test]
async fn the_changes_of_a_turn_that_runs_or_was_killed_are_those_so_far() {
    let mut stage = stage().await;
    let mut policy = policy_without_approvals();
    policy.approval.require_for_tools = vec!["repo_map".to_owned()];
    let id = stage.session(policy).await;
    let steps = [write("written.txt", "after\n"), crate::scripted::call("repo_map", json!({}))];
    let mut turn = stage.start(id, &steps).await;
    turn.until("approval_requested").await;
    let (status, changed) = diff(&stage, &turn).await;
    assert_eq!((status, &changed["running"]), (200, &json!(true)));
    assert_eq!(kinds(&changed), [("written.txt".to_owned(), "modified".to_owned())].into());
    stage.crash().await;
    let (status, again) = diff(&stage, &turn).await;
    assert_eq!((status, &again["files"]), (200, &changed["files"]), "a turn that waits is picked up");
}
