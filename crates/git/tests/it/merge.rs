//! Merging: both sides' changes, or none.

use std::os::unix::fs::PermissionsExt;

use ostler_git::{GitError, WorktreeChange};
use tokio_util::sync::CancellationToken;

use crate::repository::{TestRepository, put};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

async fn make(repository: &TestRepository) -> std::path::PathBuf {
    let made = repository.worktrees.create("one", &repository.path(), &CancellationToken::new()).await;
    made.unwrap().workspace
}

#[tokio::test]
async fn what_both_sides_did_is_kept() {
    let repository =
        TestRepository::with(&[("lines", LINES), ("theirs", "1"), ("gone", "1"), ("ours", "1")]).await;
    repository.put("dirty", "before\n");
    let workspace = make(&repository).await;
    put(&workspace, "lines", &LINES.replace("9\n", "nine\n"));
    put(&workspace, "theirs", "2");
    put(&workspace, "dirty", "after\n");
    put(&workspace, "new/deep/file", "new");
    std::fs::remove_file(workspace.join("gone")).unwrap();
    std::fs::write(workspace.join("run"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(workspace.join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("theirs", workspace.join("link")).unwrap();
    // Meanwhile the owner works on.
    repository.put("lines", &LINES.replace("1\n", "one\n"));
    repository.put("ours", "2");
    repository.git(&["add", "ours"]);
    let index = repository.git(&["ls-files", "--stage"]);

    let merged = repository.worktrees.merge("one").await.unwrap();
    let changed: Vec<(&str, &str)> = merged.changed.iter().map(|one| (one.what, one.path.as_str())).collect();
    assert_eq!(
        changed,
        [
            ("modified", "dirty"),
            ("deleted", "gone"),
            ("modified", "lines"),
            ("added", "link"),
            ("added", "new/deep/file"),
            ("added", "run"),
            ("modified", "theirs")
        ]
    );
    assert_eq!(repository.read("lines").unwrap(), LINES.replace("1\n", "one\n").replace("9\n", "nine\n"));
    assert_eq!(repository.read("ours").as_deref(), Some("2"));
    assert_eq!(repository.read("dirty").as_deref(), Some("after\n"));
    assert_eq!(repository.read("new/deep/file").as_deref(), Some("new"));
    assert_eq!(repository.read("gone"), None);
    assert_eq!(std::fs::read_link(repository.path().join("link")).unwrap().to_str(), Some("theirs"));
    let mode = std::fs::metadata(repository.path().join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(repository.git(&["ls-files", "--stage"]), index, "the user's index is untouched");
    assert_eq!(repository.worktrees.merge("one").await.unwrap().changed, [], "a second time changes nothing");
}

#[tokio::test]
async fn a_contradiction_changes_nothing_and_is_named() {
    let repository =
        TestRepository::with(&[("lines", LINES), ("other", "1"), ("gone", "1"), ("folder/x", "1")]).await;
    let workspace = make(&repository).await;
    put(&workspace, "lines", &LINES.replace("5\n", "five\n"));
    put(&workspace, "other", "2");
    put(&workspace, "gone", "changed there");
    put(&workspace, "folder/x", "2");
    put(&workspace, "blocked/y", "2");
    repository.put("lines", &LINES.replace("5\n", "fünf\n"));
    std::fs::remove_file(repository.path().join("gone")).unwrap();
    repository.put("blocked", "a file where a folder is wanted");
    let conflict = repository.worktrees.merge("one").await.unwrap_err();
    let GitError::Conflict(mut files) = conflict else { panic!("{conflict}") };
    files.sort();
    assert_eq!(files, ["gone", "lines"]);
    assert_eq!(repository.read("other").as_deref(), Some("1"), "all or nothing");
    assert_eq!(repository.read("lines").unwrap(), LINES.replace("5\n", "fünf\n"));
    assert_eq!(repository.worktrees.changes("one").await.unwrap().len(), 5, "the worktree is as it was");

    repository.put("lines", LINES);
    repository.put("gone", "1");
    let failed = repository.worktrees.merge("one").await.unwrap_err();
    assert!(failed.to_string().contains("Nothing was changed."), "{failed}");
    for name in ["lines", "other", "gone", "folder/x"] {
        assert_eq!(
            repository.read(name),
            Some(if name == "lines" { LINES } else { "1" }.to_owned()),
            "{name}"
        );
    }
    std::fs::remove_file(repository.path().join("blocked")).unwrap();
    assert_eq!(repository.worktrees.merge("one").await.unwrap().changed.len(), 5);
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let repository = TestRepository::with(&[("folder/x", "1")]).await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x"), "1").unwrap();
    let workspace = make(&repository).await;
    put(&workspace, "folder/x", "2");
    std::fs::remove_dir_all(repository.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(outside.path(), repository.path().join("folder")).unwrap();
    let refused = repository.worktrees.merge("one").await.unwrap_err();
    assert_eq!(refused, GitError::Conflict(vec!["folder/x".to_owned()]));
    assert_eq!(std::fs::read_to_string(outside.path().join("x")).unwrap(), "1");
}

#[tokio::test]
async fn a_file_that_is_not_text_is_merged_when_one_side_changed_it() {
    let repository = TestRepository::with(&[("binary", "\0\u{1}")]).await;
    let workspace = make(&repository).await;
    std::fs::write(workspace.join("binary"), b"\0\xff\xfe").unwrap();
    let changed = repository.worktrees.changes("one").await.unwrap();
    assert_eq!(changed, [WorktreeChange { path: "binary".to_owned(), what: "modified" }]);
    repository.put("binary", "\0both");
    assert!(matches!(repository.worktrees.merge("one").await, Err(GitError::Conflict(_))));
    repository.put("binary", "\0\u{1}");
    repository.worktrees.merge("one").await.unwrap();
    assert_eq!(std::fs::read(repository.path().join("binary")).unwrap(), b"\0\xff\xfe");
}
