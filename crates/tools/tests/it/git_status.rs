//! The state of a repository, and that looking at it runs nothing of the repository's own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::fixture::ToolFixture;

/// Runs git as a person would, in a folder of the workspace.
fn git_in(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Nobody",
            "-c",
            "user.email=nobody@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(["-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // Merges and picks that end in a conflict are what some tests want.
    assert!(output.status.success() || !stderr.contains("fatal"), "git {arguments:?}: {stderr}");
}

fn git(fixture: &ToolFixture, arguments: &[&str]) {
    git_in(&fixture.workspace(), arguments);
}

fn repository(files: &[(&str, &str)]) -> ToolFixture {
    let fixture = ToolFixture::with(files);
    git(&fixture, &["init"]);
    git(&fixture, &["add", "."]);
    git(&fixture, &["commit", "-m", "first", "--allow-empty"]);
    fixture
}

async fn status(fixture: &ToolFixture) -> String {
    fixture.ok("git_status", json!({})).await.text
}

#[tokio::test]
async fn changes_are_listed_by_kind() {
    let fixture =
        repository(&[("changed", "1\n"), ("gone", "1\n"), ("old name", "1\n2\n3\n"), ("d/x", "1\n")]);
    assert!(status(&fixture).await.starts_with("On branch main.\nNothing is changed.\nRecent commits:\n  "));
    fixture.put("changed", "other\n");
    fixture.put("staged\u{1b}", "new\n");
    fixture.put("new folder/x", "x");
    std::fs::remove_file(fixture.path("gone")).unwrap();
    git(&fixture, &["mv", "old name", "new name"]);
    git(&fixture, &["add", "staged\u{1b}"]);
    let outcome = fixture.ok("git_status", json!({})).await;
    assert!(
        outcome.text.contains(
            "Staged (2):\n  renamed new name (from old name)\n  added staged\\u{1b}\nChanged, not staged (2):\n  \
             modified changed\n  deleted gone\nNot tracked (1):\n  new new folder/\nRecent commits:\n"
        ),
        "{}",
        outcome.text
    );
    assert!(outcome.text.ends_with(" first\n"), "{}", outcome.text);
    let details = outcome.details.unwrap();
    for (name, expected) in [
        ("branch", json!("main")),
        ("staged", json!(2)),
        ("unstaged", json!(2)),
        ("untracked", json!(1)),
        ("conflicted", json!(0)),
        ("upstream", json!(null)),
        ("under_way", json!([])),
        ("truncated", json!(false)),
    ] {
        assert_eq!(details[name], expected, "{name}");
    }
}

#[tokio::test]
async fn upstream_and_odd_heads_are_told() {
    let fixture = ToolFixture::new();
    git(&fixture, &["init"]);
    let text = status(&fixture).await;
    assert_eq!(text, "On branch main, which has no commits yet.\nNothing is changed.\n");
    git(&fixture, &["commit", "--allow-empty", "-m", "one"]);
    git(&fixture, &["branch", "base"]);
    git(&fixture, &["branch", "--set-upstream-to=base"]);
    assert!(status(&fixture).await.starts_with("On branch main, up to date with base.\n"));
    git(&fixture, &["commit", "--allow-empty", "-m", "two"]);
    assert!(status(&fixture).await.starts_with("On branch main, 1 ahead of and 0 behind base.\n"));
    git(&fixture, &["branch", "-D", "base"]);
    assert!(status(&fixture).await.starts_with("On branch main; its upstream base is gone.\n"));
    git(&fixture, &["checkout", "--detach"]);
    assert!(status(&fixture).await.starts_with("No branch is checked out; HEAD is at "));
}

#[tokio::test]
async fn what_is_half_done_is_told() {
    let fixture = repository(&[("a", "base\n")]);
    git(&fixture, &["checkout", "-b", "side"]);
    fixture.put("a", "side\n");
    git(&fixture, &["commit", "-am", "side"]);
    git(&fixture, &["checkout", "main"]);
    fixture.put("a", "main\n");
    git(&fixture, &["commit", "-am", "main"]);
    git(&fixture, &["merge", "side"]);
    let text = status(&fixture).await;
    assert!(text.contains("A merge is in progress.\nIn conflict (1):\n  conflict a\n"), "{text}");
    git(&fixture, &["merge", "--abort"]);
    git(&fixture, &["rebase", "side"]);
    let text = status(&fixture).await;
    assert!(text.contains("A rebase is in progress.\n"), "{text}");
}

#[tokio::test]
async fn many_changes_are_cut() {
    let fixture = repository(&[("a", "x")]);
    for number in 0..60 {
        fixture.put(&format!("new{number:02}"), "x");
    }
    let text = status(&fixture).await;
    assert!(text.contains("Not tracked (60):\n  new new00\n"), "{text}");
    assert!(text.contains("  new new49\n  … and 10 more\n") && !text.contains("new50"), "{text}");
}

#[tokio::test]
async fn what_is_no_repository_is_said() {
    let fixture = ToolFixture::with(&[("a", "x")]);
    let text = fixture.refusal("git_status", json!({})).await;
    assert_eq!(text, "The workspace is not in a git repository.");
    fixture.put(".git/config", "[core\n");
    fixture.put(".git/HEAD", "ref: refs/heads/main\n");
    std::fs::create_dir_all(fixture.path(".git/objects")).unwrap();
    std::fs::create_dir_all(fixture.path(".git/refs")).unwrap();
    // Settings that cannot be read are none: git never sees them.
    let text = fixture.ok("git_status", json!({})).await.text;
    assert!(text.contains("On branch main"), "{text}");
}

#[tokio::test]
async fn a_work_tree_elsewhere_is_not_shown() {
    let fixture = repository(&[("a", "x")]);
    git(&fixture, &["config", "core.worktree", fixture.outside().to_str().unwrap()]);
    let text = fixture.refusal("git_status", json!({})).await;
    assert!(text.contains("work tree elsewhere") && !text.contains("secret.txt"), "{text}");
}

/// A program that leaves a mark when it runs.
fn plant(fixture: &ToolFixture, name: &str) -> String {
    let path = fixture.outside().join(name);
    let mark = fixture.outside().join("ran");
    std::fs::write(&path, format!("#!/bin/sh\necho {name} >> '{}'\ncat\n", mark.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn ran(fixture: &ToolFixture) -> String {
    std::fs::read_to_string(fixture.outside().join("ran")).unwrap_or_default()
}

/// A repository in which everything that can name a program names one.
fn armed() -> ToolFixture {
    let fixture = repository(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")]);
    for (setting, program) in [
        ("core.fsmonitor", "fsmonitor"),
        ("core.pager", "pager"),
        ("pager.status", "pager_status"),
        ("pager.log", "pager_log"),
        ("core.editor", "editor"),
        ("core.sshCommand", "ssh"),
        ("diff.external", "external"),
        ("diff.evil.command", "diff_command"),
        ("diff.evil.textconv", "textconv"),
        ("filter.evil.clean", "clean"),
        ("filter.evil.smudge", "smudge"),
        ("filter.e=v.clean", "clean_odd"),
        ("filter.Long.process", "process"),
        ("merge.evil.driver", "driver"),
        ("gpg.program", "gpg"),
        ("alias.status", "alias"),
    ] {
        git(&fixture, &["config", setting, &plant(&fixture, program)]);
    }
    git(&fixture, &["config", "filter.evil.required", "true"]);
    git(&fixture, &["config", "log.showSignature", "true"]);
    let hooks = fixture.path(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in
        ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman", "reference-transaction"]
    {
        std::fs::copy(plant(&fixture, hook), hooks.join(hook)).unwrap();
    }
    let attributes = "a.txt filter=evil diff=evil\nb.txt filter=e=v\nc.txt filter=Long merge=evil\n";
    fixture.put(".gitattributes", attributes);
    fixture.put(".git/info/attributes", attributes);
    // Content of the same size with another time makes git compare, which is when filters run.
    for file in ["a.txt", "b.txt", "c.txt"] {
        fixture.put(file, "two\n");
    }
    std::fs::remove_file(fixture.outside().join("ran")).ok();
    fixture
}

#[tokio::test]
async fn nothing_of_the_repository_runs() {
    let fixture = armed();
    let text = status(&fixture).await;
    assert!(text.contains("Changed, not staged (3):\n  modified a.txt\n"), "{text}");
    assert_eq!(ran(&fixture), "");
    // The same by a git without care, to show that the traps are set.
    git(&fixture, &["-c", "filter.Long.process=", "status"]);
    let careless = ran(&fixture);
    assert!(careless.contains("fsmonitor") && careless.contains("clean"), "{careless}");
}

#[tokio::test]
async fn submodules_are_not_looked_into() {
    let fixture = repository(&[("a.txt", "one\n")]);
    let inner = fixture.outside().join("inner");
    std::fs::create_dir(&inner).unwrap();
    git_in(&inner, &["init"]);
    git_in(&inner, &["commit", "--allow-empty", "-m", "inner"]);
    git(&fixture, &["submodule", "add", inner.to_str().unwrap(), "sub"]);
    git(&fixture, &["commit", "-m", "sub"]);
    git_in(&fixture.path("sub"), &["config", "core.fsmonitor", &plant(&fixture, "fsmonitor")]);
    fixture.put("sub/new", "x");
    status(&fixture).await;
    assert_eq!(ran(&fixture), "");
    git(&fixture, &["status"]);
    assert!(ran(&fixture).contains("fsmonitor"), "the trap is set");
}

#[tokio::test]
async fn a_git_in_the_workspace_is_not_taken_for_git() {
    let fixture = repository(&[("a", "x")]);
    std::fs::copy(plant(&fixture, "fake"), fixture.path("git")).unwrap();
    assert!(status(&fixture).await.starts_with("On branch main"));
    assert_eq!(ran(&fixture), "");
}

#[tokio::test]
async fn worktrees_and_folders_of_a_repository_are_looked_at() {
    let fixture = repository(&[("a", "x")]);
    let other = fixture.outside().join("tree");
    git(&fixture, &["worktree", "add", "-b", "other", other.to_str().unwrap()]);
    std::fs::write(other.join("new"), "x").unwrap();
    let mut context = fixture.context();
    context.workspace = other;
    let tools = ostler_tools::Tools::builtin();
    let outcome = tools.get("git_status").unwrap().run(json!({}), context.clone()).await;
    assert!(outcome.text.starts_with("On branch other.\nNot tracked (1):\n  new new\n"), "{}", outcome.text);
    fixture.put("folder/b", "x");
    fixture.put("beside", "x");
    context.workspace = fixture.path("folder");
    let outcome = tools.get("git_status").unwrap().run(json!({}), context).await;
    assert!(!outcome.text.contains("beside"), "{}", outcome.text);
}

#[tokio::test]
async fn a_repository_with_longer_hashes_is_read() {
    let fixture = ToolFixture::with(&[("a", "x")]);
    git(&fixture, &["init", "--object-format=sha256"]);
    git(&fixture, &["add", "."]);
    git(&fixture, &["commit", "-m", "first"]);
    fixture.put("a", "y");
    let text = status(&fixture).await;
    assert!(text.contains("modified a"), "{text}");
}
