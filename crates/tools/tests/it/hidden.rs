//! Places that no tool shows or changes, in workspaces that hold them or are them.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_sandbox::BackendChoice;
use ostler_tools::{ToolSettings, Tools};
use serde_json::{Value, json};

use crate::sandboxed::Sandboxed;

const CANARY: &str = "canary_4711";

/// A world whose home and data directory hold secrets, and its root, which holds both.
async fn world(confined: bool) -> (Sandboxed, PathBuf) {
    let mut world = Sandboxed::with(BackendChoice::Best, |_| {}).await;
    let root = world.workspace.parent().unwrap().to_owned();
    let put = |path: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("fn {CANARY}() {{}}\n")).unwrap();
    };
    for path in
        ["home/.ssh/id.rs", "home/.netrc", "home/.config/gh/hosts.yml", "data/token", "data/a/b/log.rs"]
    {
        put(path);
    }
    fs::write(root.join("home/ordinary.rs"), "fn ordinary() {}\n").unwrap();
    if !confined {
        world.tools = Tools::new(ToolSettings {
            allow_unconfined: true,
            hidden: vec![root.join("data")],
            home: Some(root.join("home")),
            ..ToolSettings::default()
        });
    }
    (world, root)
}

/// Every way to look at a file or to change it.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let folder = Path::new(path).parent().unwrap().to_str().unwrap();
    vec![
        ("read_file", json!({"path": path})),
        ("search", json!({"query": CANARY, "path": path})),
        ("search", json!({"query": CANARY, "path": folder})),
        ("write_file", json!({"path": path, "content": "mine"})),
        ("edit_file", json!({"path": path, "old": CANARY, "new": "mine"})),
        (
            "apply_patch",
            json!({"patch": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n")}),
        ),
    ]
}

async fn nothing_is_shown_or_changed(confined: bool) {
    let (world, root) = world(confined).await;
    let linked = root.join("workspace");
    std::os::unix::fs::symlink("../home", linked.join("up")).unwrap();
    std::os::unix::fs::symlink(".ssh", root.join("home/keys")).unwrap();
    std::os::unix::fs::symlink(".netrc", root.join("home/net")).unwrap();
    fs::hard_link(root.join("home/.netrc"), root.join("home/other_name")).unwrap();
    for (workspace, path) in [
        ("", "home/.ssh/id.rs"),
        ("", "home/.netrc"),
        ("", "home/.config/gh/hosts.yml"),
        ("", "data/token"),
        ("", "data/a/b/log.rs"),
        ("", "workspace/../data/token"),
        ("", "workspace/up/.ssh/id.rs"),
        ("", "home/keys/id.rs"),
        ("", "home/net"),
        ("home", ".ssh/id.rs"),
        ("home", "./.ssh/../.ssh/id.rs"),
        ("home", "keys/id.rs"),
        ("home", "net"),
        ("home", "other_name"),
        ("home/.config", "gh/hosts.yml"),
        ("home/.ssh", "id.rs"),
        ("data", "token"),
        ("data/a", "b/log.rs"),
    ] {
        for (tool, input) in calls(path) {
            let outcome = world.call_in(&root.join(workspace), tool, input.clone()).await;
            let shown = outcome.text.replace(&input.to_string(), "");
            assert!(!shown.contains(&format!("fn {CANARY}")), "{workspace} {tool} {input}: {}", outcome.text);
            if tool != "search" {
                let told = outcome.text.contains("protected location");
                assert!(!outcome.ok && told, "{workspace} {tool} {input}: {}", outcome.text);
            }
        }
        let outcome = world.call_in(&root.join(workspace), "read_file", json!({"path": path})).await;
        assert!(outcome.text.contains("protected location"), "{workspace} {path}: {}", outcome.text);
    }
    for path in ["home/.ssh/id.rs", "home/.netrc", "data/token", "data/a/b/log.rs"] {
        assert!(fs::read_to_string(root.join(path)).unwrap().contains(CANARY), "{path}");
    }
}

#[tokio::test]
async fn nothing_is_shown_or_changed_with_a_sandbox() {
    nothing_is_shown_or_changed(true).await;
}

#[tokio::test]
async fn nothing_is_shown_or_changed_without_one() {
    nothing_is_shown_or_changed(false).await;
}

#[tokio::test]
async fn walks_pass_over_it() {
    for confined in [true, false] {
        let (world, root) = world(confined).await;
        for workspace in ["", "home"] {
            for (tool, input) in [
                ("repo_tree", json!({"depth": 10})),
                ("repo_map", json!({})),
                ("search", json!({"query": "fn "})),
            ] {
                let outcome = world.call_in(&root.join(workspace), tool, input).await;
                let found = ["token", "id.rs", "log.rs", "hosts.yml", "netrc", CANARY]
                    .into_iter()
                    .find(|name| outcome.text.contains(name));
                assert!(outcome.ok && found.is_none(), "{workspace} {tool} {found:?}: {}", outcome.text);
                assert!(outcome.text.contains("ordinary"), "{tool}: {}", outcome.text);
            }
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_yet_is_not_made() {
    let (world, root) = world(false).await;
    let home = root.join("home");
    for path in [".pgpass", ".kube/config", ".ssh/new/key"] {
        let outcome = world.call_in(&home, "write_file", json!({"path": path, "content": "x"})).await;
        assert!(!outcome.ok && outcome.text.contains("protected location"), "{path}: {}", outcome.text);
        assert!(!home.join(path).exists());
    }
    assert!(!home.join(".kube").join("config").exists() && !home.join(".ssh/new").exists());
    let outcome = world.call_in(&home, "write_file", json!({"path": ".profile_new", "content": "x"})).await;
    assert!(outcome.ok, "{}", outcome.text);
}

#[tokio::test]
async fn commands_do_not_start_there() {
    let (world, root) = world(false).await;
    for (workspace, cwd) in
        [("", "data"), ("", "home/.ssh"), ("home", ".ssh"), ("data", "."), ("data/a", ".")]
    {
        let input = json!({"command": "cat *", "cwd": cwd});
        let outcome = world.call_in(&root.join(workspace), "shell", input).await;
        assert!(
            !outcome.ok && outcome.text.contains("protected location"),
            "{workspace} {cwd}: {}",
            outcome.text
        );
    }
}

#[tokio::test]
async fn confined_commands_see_none_of_it() {
    let (world, root) = world(true).await;
    for workspace in ["", "home", "data", "data/a", "home/.ssh"] {
        let input = json!({"command": "cat home/.ssh/* .ssh/* data/token token *"});
        let outcome = world.call_in(&root.join(workspace), "shell", input).await;
        assert!(!outcome.ok && !outcome.text.contains(CANARY), "{workspace}: {}", outcome.text);
    }
    // A workspace around the data directory runs commands, without it.
    let above = root.join("above");
    fs::create_dir(&above).unwrap();
    fs::write(above.join("key"), CANARY).unwrap();
    fs::write(above.join("mine"), "mine\n").unwrap();
    let world =
        Sandboxed::with(BackendChoice::Best, |settings| settings.hidden.push(above.join("key"))).await;
    let outcome = world.call_in(&above, "shell", json!({"command": "cat mine; cat key"})).await;
    assert!(outcome.text.contains("mine\n") && !outcome.text.contains(CANARY), "{}", outcome.text);
}

/// Other agents keep worktrees beside their tokens.
#[tokio::test]
async fn a_workspace_below_a_place_of_secrets_is_an_ordinary_one() {
    let (world, root) = world(true).await;
    let below = root.join("home/.cursor/worktrees/one");
    fs::create_dir_all(&below).unwrap();
    fs::write(root.join("home/.cursor/token"), CANARY).unwrap();
    let outcome = world.call_in(&below, "write_file", json!({"path": "a", "content": "mine\n"})).await;
    assert!(outcome.ok, "{}", outcome.text);
    let outcome = world.call_in(&below, "shell", json!({"command": "cat a; cat ../../token"})).await;
    assert!(outcome.text.contains("mine\n") && !outcome.text.contains(CANARY), "{}", outcome.text);
}

#[tokio::test]
async fn the_daemons_own_process_is_not_read() {
    let (world, _) = world(false).await;
    for path in ["/proc/self/environ", "proc/self/status", "/proc/1/cmdline"] {
        let outcome = world.call_in(Path::new("/"), "read_file", json!({"path": path})).await;
        assert!(!outcome.ok && outcome.text.contains("protected location"), "{path}: {}", outcome.text);
    }
}
