//! Repositories and worktrees that try to have something run, or to be taken for others.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::repository::{Repository, git, put};

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
    let repository =
        Repository::with(&[("a.txt", "1\n"), (".gitattributes", "*.txt filter=evil diff=evil merge=evil\n")]);
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
    let made = repository.worktrees.make("one", &repository.path(), &CancellationToken::new()).await.unwrap();
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
    let repository = Repository::with(&[("a", "1")]);
    let made = repository.worktrees.make("one", &repository.path(), &CancellationToken::new()).await.unwrap();
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
    let repository = Repository::with(&[("a", "1")]);
    for name in ["", "..", "a/b", ".git", "a.b"] {
        assert!(
            repository.worktrees.make(name, &repository.path(), &CancellationToken::new()).await.is_err()
        );
        assert!(repository.worktrees.remove(name).await.is_err(), "{name:?}");
    }
    assert_eq!(repository.read("a").as_deref(), Some("1"));
}
