//! Settings by which somebody else's program runs code later: tools leave them alone, and say so.

use serde_json::{Value, json};

use crate::fixture::ToolFixture;
use crate::sandboxed::Sandboxed;

const PATHS: &[&str] = &[
    ".vscode/tasks.json",
    ".mcp.json",
    ".envrc",
    ".claude/settings.json",
    ".husky/pre-commit",
    ".ostler/config.toml",
    ".VSCode/tasks.json",
    "a/b/.vscode/tasks.json",
    "a/.claude/agents/one.md",
    "./a/../.envrc",
];

fn patch(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch\n")})
}

#[tokio::test]
async fn they_are_not_made() {
    let fixture = ToolFixture::with(&[("a/x", "x\n")]);
    let before = fixture.names();
    for path in PATHS {
        for (tool, input) in [
            ("write_file", json!({"path": path, "content": "evil"})),
            ("apply_patch", patch(&format!("*** Add File: {path}\n+evil"))),
            ("apply_patch", patch(&format!("*** Update File: a/x\n*** Move to: {path}\n@@\n-x\n+evil"))),
        ] {
            let told = fixture.refusal(tool, input).await;
            assert!(told.contains("run code outside the sandbox"), "{tool} {path}: {told}");
            assert!(told.contains("ask them to make it"), "{tool} {path}: {told}");
        }
    }
    assert_eq!(fixture.names(), before, "not even directories are left");
}

#[tokio::test]
async fn they_are_neither_changed_nor_removed() {
    let fixture =
        ToolFixture::with(&[(".vscode/tasks.json", "{}\n"), ("a/.envrc", "old\n"), (".mcp.json", "{}\n")]);
    for path in [".vscode/tasks.json", "a/.envrc", ".mcp.json"] {
        let old = fixture.read(path);
        for (tool, input) in [
            ("write_file", json!({"path": path, "content": "evil"})),
            ("edit_file", json!({"path": path, "old": old.trim(), "new": "evil"})),
            ("apply_patch", patch(&format!("*** Delete File: {path}"))),
            ("apply_patch", patch(&format!("*** Update File: {path}\n@@\n-{}\n+evil", old.trim()))),
        ] {
            let told = fixture.refusal(tool, input).await;
            assert!(told.contains("run code outside the sandbox"), "{tool} {path}: {told}");
        }
        assert_eq!(fixture.read(path), old);
        fixture.ok("read_file", json!({"path": path})).await;
    }
}

#[tokio::test]
async fn links_do_not_help() {
    let fixture = ToolFixture::with(&[("settings/x", "x"), ("files/mcp", "{}"), (".idea/x", "x")]);
    fixture.link("to_idea", ".idea");
    fixture.link("to_envrc", ".envrc");
    fixture.link(".vscode", "settings");
    fixture.link(".mcp.json", "files/mcp");
    let before = fixture.names();
    for path in ["to_idea/x", "to_idea/new", "to_envrc", "settings/tasks.json", "settings/x", "files/mcp"] {
        let told = fixture.refusal("write_file", json!({"path": path, "content": "evil"})).await;
        assert!(told.contains("run code outside the sandbox"), "{path}: {told}");
    }
    assert_eq!(fixture.names(), before);
    assert_eq!((fixture.read("settings/x"), fixture.read("files/mcp")), ("x".to_owned(), "{}".to_owned()));
}

#[tokio::test]
async fn names_that_are_only_alike_are_ordinary() {
    let fixture = ToolFixture::new();
    for path in
        ["vscode/tasks.json", ".vscode-test/x", ".envrc.example", "mcp.json", ".github/workflows/a.yml"]
    {
        fixture.ok("write_file", json!({"path": path, "content": "x"})).await;
    }
}

/// The user's next `git status` would have run it.
#[tokio::test]
async fn a_repository_that_a_command_has_armed_is_told() {
    let world = Sandboxed::new().await;
    let init = std::process::Command::new("git").args(["init", "-q"]).arg(&world.workspace).output().unwrap();
    assert!(init.status.success());
    let command = "git init -q sub && git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m a && \
                   git -C sub config core.fsmonitor 'touch /tmp/ran' && git add sub";
    let outcome = world.call("shell", json!({"command": command})).await;
    assert!(outcome.ok, "{}", outcome.text);
    let details = outcome.details.unwrap();
    let warning = details["notes"][0].as_str().unwrap().to_owned();
    assert!(warning.starts_with("[sandbox] warning: ") && warning.contains("core.fsmonitor"), "{warning}");
    assert!(warning.contains("/sub ") && outcome.text.contains(&warning), "{}", outcome.text);
    // People are told apart from what the model is told.
    let warning = details["warnings"][0].as_str().unwrap();
    assert!(warning.contains("core.fsmonitor") && warning.contains("before you use git"), "{warning}");
    let text = world.ok("ls sub").await;
    assert!(!text.contains("warning"), "it is told once: {text}");
}
