//! Repositories and worktrees that try to have something run, or to be taken for others.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::repository::{TestRepository, git, put};

/// A program that leaves a trace when it runs.
fn trap(folder: &Path) -> (String, std::path::PathBuf) {
    let (program, trace) = (folder.join("trap.sh"), folder.join("trace"));
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", trace.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program.display().to_string(), trace)
}

#[tokio::test]
async fn making_and_merging_run_nothing_of_the_repositorys_own() {
    let place = tempfile::tempdir().unwrap();
    let (program, trace) = trap(place.path());
    let repository = TestRepository::with(&[
        ("a.txt", "1\n"),
        (".gitattributes", "*.txt filter=evil diff=evil merge=evil\n"),
    ])
    .await;
    for (name, value) in [
        ("filter.evil.clean", program.as_str()),
        ("filter.evil.smudge", &program),
        ("filter.evil.process", &program),
        ("filter.evil.required", "true"),
        ("diff.evil.command", &program),
        ("diff.evil.textconv", &program),
        ("merge.evil.driver", &program),
        ("core.fsmonitor", &program),
        ("core.hooksPath", ".hooks"),
        ("core.sshCommand", &program),
        ("gpg.program", &program),
        ("commit.gpgSign", "true"),
    ] {
        git(&repository.path(), &["config", name, value]);
    }
    for hook in ["post-checkout", "post-index-change", "pre-commit", "post-commit", "reference-transaction"] {
        for folder in [".hooks", ".git/hooks"] {
            put(
                &repository.path(),
                &format!("{folder}/{hook}"),
                &format!("#!/bin/sh\ntouch {}\n", trace.display()),
            );
            let path = repository.path().join(folder).join(hook);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    std::fs::write(
        repository.path().join(".git/info/attributes"),
        "*.txt filter=evil diff=evil merge=evil\n",
    )
    .unwrap();
    put(&repository.path(), "a.txt", "2\n");
    put(&repository.path(), "b.txt", "new\n");
    let made =
        repository.worktrees.create("one", &repository.path(), &CancellationToken::new()).await.unwrap();
    assert_eq!(std::fs::read_to_string(made.workspace.join("a.txt")).unwrap(), "2\n");
    put(&made.workspace, "a.txt", "2\n3\n");
    put(&repository.path(), "a.txt", "1\n2\n");
    repository.worktrees.merge("one").await.unwrap();
    assert_eq!(std::fs::read_to_string(repository.path().join("a.txt")).unwrap(), "1\n2\n3\n");
    repository.worktrees.remove("one").await.unwrap();
    assert!(!trace.exists(), "something of the repository's own has run");
}

#[tokio::test]
async fn a_worktree_that_claims_another_repository_is_not_believed() {
    let repository = TestRepository::with(&[("a", "1")]).await;
    let made =
        repository.worktrees.create("one", &repository.path(), &CancellationToken::new()).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let (program, trace) = trap(place.path());
    let evil = tempfile::tempdir().unwrap();
    git(evil.path(), &["init", "--quiet"]);
    git(evil.path(), &["config", "core.fsmonitor", &program]);
    std::fs::write(made.workspace.join(".git"), format!("gitdir: {}/.git\n", evil.path().display())).unwrap();
    put(&made.workspace, "a", "2");
    assert_eq!(repository.worktrees.changes("one").await.unwrap().len(), 1);
    repository.worktrees.merge("one").await.unwrap();
    assert_eq!(repository.read("a").as_deref(), Some("2"));
    assert!(!trace.exists());
    repository.worktrees.remove("one").await.unwrap();
    assert!(!repository.path().join(".git/worktrees").exists());
    assert!(evil.path().join(".git").exists());
}

#[tokio::test]
async fn names_lead_nowhere_else() {
    let repository = TestRepository::with(&[("a", "1")]).await;
    for name in ["", "..", "a/b", ".git", "a.b"] {
        assert!(
            repository.worktrees.create(name, &repository.path(), &CancellationToken::new()).await.is_err()
        );
        assert!(repository.worktrees.remove(name).await.is_err(), "{name:?}");
    }
    assert_eq!(repository.read("a").as_deref(), Some("1"));
}

/// Settings whose names are not UTF-8 count for git, and so do attributes that name them.
#[tokio::test]
async fn a_filter_with_a_name_that_is_no_text_does_not_run() {
    let place = tempfile::tempdir().unwrap();
    let (program, trace) = trap(place.path());
    let repository = TestRepository::with(&[("a", "1\n")]).await;
    let mut config = std::fs::read(repository.path().join(".git/config")).unwrap();
    for line in [
        b"[filter \"\xff\"]\n\tclean = ".as_slice(),
        program.as_bytes(),
        b"\n\tsmudge = ",
        program.as_bytes(),
        b"\n\trequired\n[include]\n\tpath = more\n",
    ] {
        config.extend_from_slice(line);
    }
    std::fs::write(repository.path().join(".git/config"), config).unwrap();
    std::fs::write(repository.path().join(".git/more"), format!("[core]\n\tfsmonitor = {program}\n"))
        .unwrap();
    std::fs::write(repository.path().join(".git/info/attributes"), b"* filter=\xff\n").unwrap();
    // The trap works: the user's own git falls into it.
    put(&repository.path(), "a", "2\n");
    git(&repository.path(), &["status"]);
    assert!(trace.exists());
    std::fs::remove_file(&trace).unwrap();
    put(&repository.path(), "a", "3\n");
    let made =
        repository.worktrees.create("one", &repository.path(), &CancellationToken::new()).await.unwrap();
    put(&made.workspace, "a", "4\n");
    assert_eq!(repository.worktrees.diff("one").await.unwrap().len(), 1);
    repository.worktrees.merge("one").await.unwrap();
    let asked =
        ostler_git::query_repository(&repository.path(), &repository.isolation, &[&["status"], &["diff"]])
            .await;
    assert!(asked.unwrap().outputs.iter().all(|output| output.is_success));
    assert!(!trace.exists());
}

/// What a command beside us writes into the repository while a worktree is used.
#[tokio::test]
async fn a_repository_that_is_led_elsewhere_meanwhile_is_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let (program, trace) = trap(place.path());
    let repository = TestRepository::with(&[("a", "1\n"), (".gitattributes", "* filter=evil\n")]).await;
    let made =
        repository.worktrees.create("one", &repository.path(), &CancellationToken::new()).await.unwrap();
    let evil = repository.path().join("evil");
    std::fs::create_dir(&evil).unwrap();
    git(&evil, &["init", "--quiet"]);
    for key in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor"] {
        git(&evil, &["config", key, &program]);
    }
    let registered = repository.path().join(".git/worktrees/one");
    std::fs::write(registered.join("commondir"), format!("{}/.git\n", evil.display())).unwrap();
    std::fs::write(repository.path().join(".git/commondir"), format!("{}/.git\n", evil.display())).unwrap();
    put(&made.workspace, "a", "2\n");
    assert_eq!(repository.worktrees.changes("one").await.unwrap().len(), 1);
    repository.worktrees.merge("one").await.unwrap();
    assert_eq!(repository.read("a").as_deref(), Some("2\n"));
    assert!(!trace.exists());
}

/// Entries of an index that are no files, in either work tree, become none.
#[tokio::test]
async fn only_files_are_taken_whatever_an_index_says() {
    let repository = TestRepository::with(&[("a", "1\n")]).await;
    let plant = |directory: &Path, name: &str| {
        let blob = std::process::Command::new("sh")
            .args(["-c", "echo planted | git hash-object -w --stdin"])
            .current_dir(directory)
            .output()
            .unwrap();
        let blob = String::from_utf8(blob.stdout).unwrap();
        let entry = format!("100644,{},{name}", blob.trim());
        git(directory, &["update-index", "--add", "--cacheinfo", &entry]);
        git(directory, &["update-index", "--skip-worktree", name]);
    };
    plant(&repository.path(), "top.txt");
    let made =
        repository.worktrees.create("one", &repository.path(), &CancellationToken::new()).await.unwrap();
    assert!(!made.workspace.join("top.txt").exists());
    for name in [".mcp.json", "sub/.envrc", "plain.txt"] {
        plant(&made.workspace, name);
    }
    put(&made.workspace, "a", "2\n");
    let changed = repository.worktrees.merge("one").await.unwrap().changed;
    assert_eq!(changed.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!((repository.read(".mcp.json"), repository.read("sub/.envrc")), (None, None));
}

#[tokio::test]
async fn what_no_tool_may_write_is_not_merged_and_nothing_else_either() {
    let repository = TestRepository::with(&[("a", "1\n")]).await;
    for (number, name) in [
        ".mcp.json",
        ".ostler/config.toml",
        "sub/.claude/settings.json",
        ".VSCODE/tasks.json",
        "x/.husky/pre-commit",
    ]
    .into_iter()
    .enumerate()
    {
        let worktree = format!("w{number}");
        let path = repository.path();
        let made = repository.worktrees.create(&worktree, &path, &CancellationToken::new()).await.unwrap();
        put(&made.workspace, name, "planted");
        put(&made.workspace, "a", "2\n");
        let refused = repository.worktrees.merge(&worktree).await.unwrap_err();
        assert!(matches!(&refused, ostler_git::GitError::Protected(files) if files == &[name]), "{refused}");
        assert_eq!(repository.read(name), None);
        assert_eq!(repository.read("a").as_deref(), Some("1\n"));
    }
}

/// A repository whose `.git` is a link, or names a repository that does not know it, is not looked at.
#[tokio::test]
async fn a_git_directory_that_is_somebody_elses_is_not_looked_at() {
    let repository = TestRepository::with(&[("secret", "1\n")]).await;
    let place = tempfile::tempdir().unwrap();
    let workspace = place.path().join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let ask = async || ostler_git::query_repository(&workspace, &repository.isolation, &[&["log"]]).await;
    std::os::unix::fs::symlink(repository.path().join(".git"), workspace.join(".git")).unwrap();
    assert!(ask().await.is_err());
    std::fs::remove_file(workspace.join(".git")).unwrap();
    let text = format!("gitdir: {}/.git\n", repository.path().display());
    std::fs::write(workspace.join(".git"), text).unwrap();
    assert!(ask().await.is_err());
}

#[tokio::test]
async fn only_what_was_shown_is_merged() {
    let repository = TestRepository::with(&[("a", "1\n")]).await;
    let made =
        repository.worktrees.create("one", &repository.path(), &CancellationToken::new()).await.unwrap();
    put(&made.workspace, "a", "2\n");
    assert_eq!(repository.worktrees.changes_to_merge("one").await.unwrap().len(), 1);
    put(&made.workspace, "b", "not shown\n");
    // Asking again, as after a restart, does not make the answer one for what is there now.
    assert_eq!(repository.worktrees.changes_to_merge("one").await.unwrap().len(), 2);
    let refused = repository.worktrees.merge("one").await.unwrap_err();
    assert_eq!(refused, ostler_git::GitError::Changed);
    assert_eq!((repository.read("a").as_deref(), repository.read("b")), (Some("1\n"), None));
    assert_eq!(repository.worktrees.changes_to_merge("one").await.unwrap().len(), 2);
    repository.worktrees.merge("one").await.unwrap();
    assert_eq!(repository.read("b").as_deref(), Some("not shown\n"));
}
