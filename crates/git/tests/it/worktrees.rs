//! Making and removing worktrees: what is in them, and that nothing of the user's changes.

use std::os::unix::fs::PermissionsExt;

use ostler_git::GitWorktrees;
use tokio_util::sync::CancellationToken;

use crate::repository::{TestRepository, git};

fn never() -> CancellationToken {
    CancellationToken::new()
}

#[tokio::test]
async fn a_worktree_has_the_files_as_they_are_and_leaves_the_users_alone() {
    let repository =
        TestRepository::with(&[("same", "1"), ("changed", "1"), ("gone", "1"), (".gitignore", "ignored\n")])
            .await;
    repository.put("changed", "2");
    repository.put("staged", "new and staged");
    repository.git(&["add", "staged"]);
    repository.put("staged", "and changed since");
    repository.put("folder/new", "not known to git");
    repository.put("ignored", "secret");
    std::fs::remove_file(repository.path().join("gone")).unwrap();
    let before = repository.user_state();
    let made = repository.worktrees.create("one", &repository.path(), &never()).await.unwrap();
    assert_eq!(repository.user_state(), before);
    let read = |name: &str| std::fs::read_to_string(made.workspace.join(name)).ok();
    assert_eq!(read("same").as_deref(), Some("1"));
    assert_eq!(read("changed").as_deref(), Some("2"));
    assert_eq!(read("staged").as_deref(), Some("and changed since"));
    assert_eq!(read("folder/new").as_deref(), Some("not known to git"));
    assert_eq!((read("gone"), read("ignored")), (None, None));
    assert_eq!(git(&made.workspace, &["status", "--porcelain"]), "");
    assert_eq!(git(&made.workspace, &["branch", "--show-current"]), "", "no branch is made");
    assert_eq!(repository.worktrees.changes("one").await.unwrap(), []);

    repository.worktrees.remove("one").await.unwrap();
    repository.worktrees.remove("one").await.unwrap();
    assert_eq!(repository.user_state(), before);
    assert!(!made.workspace.exists());
    assert!(!repository.path().join(".git/worktrees").exists());
    assert_eq!(std::fs::read_dir(repository.worktrees_dir()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_clean_repository_is_not_committed_again_and_an_empty_one_will_do() {
    let repository = TestRepository::with(&[("a", "1")]).await;
    let made = repository.worktrees.create("one", &repository.path(), &never()).await.unwrap();
    assert_eq!(made.base, repository.git(&["rev-parse", "HEAD"]).trim());

    let empty = tempfile::tempdir().unwrap();
    git(empty.path(), &["init", "--quiet"]);
    std::fs::write(empty.path().join("first"), "x").unwrap();
    let made = repository.worktrees.create("two", empty.path(), &never()).await.unwrap();
    assert_eq!(std::fs::read_to_string(made.workspace.join("first")).unwrap(), "x");
    repository.worktrees.remove("two").await.unwrap();

    let none = tempfile::tempdir().unwrap();
    let refused = repository.worktrees.create("three", none.path(), &never()).await.unwrap_err();
    assert_eq!(refused.to_string(), "The workspace is not in a git repository.");
    let names: Vec<String> =
        repository.worktrees.list().await.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["one"]);
}

#[tokio::test]
async fn a_workspace_inside_a_repository_is_found_at_the_same_place() {
    let repository = TestRepository::with(&[("app/a", "1"), ("other/b", "1")]).await;
    let app = repository.path().join("app");
    let made = repository.worktrees.create("one", &app, &never()).await.unwrap();
    assert!(made.workspace.ends_with("one/app"));
    std::fs::write(made.workspace.join("a"), "2").unwrap();
    std::fs::write(made.workspace.join("../other/b"), "not its business").unwrap();
    assert_eq!(repository.worktrees.origin(&made.workspace), app);
    let nested = repository.worktrees.create("two", &made.workspace, &never()).await.unwrap();
    assert_eq!(repository.worktrees.origin(&nested.workspace), app);
    assert_eq!(std::fs::read_to_string(nested.workspace.join("a")).unwrap(), "2");
    repository.worktrees.merge("one").await.unwrap();
    assert_eq!(repository.read("app/a").as_deref(), Some("2"));
    assert_eq!(repository.read("other/b").as_deref(), Some("1"));
}

#[tokio::test]
async fn twenty_at_once_are_made_changed_and_merged() {
    let repository = TestRepository::with(&[("a", "1\n")]).await;
    repository.put("new", "2");
    let (path, none) = (repository.path(), never());
    let names: Vec<String> = (0..20).map(|number| format!("w{number}")).collect();
    let making = names.iter().map(|name| repository.worktrees.create(name, &path, &none));
    let mut made = Vec::new();
    for one in futures(making).await {
        made.push(one.unwrap());
    }
    for (number, one) in made.iter().enumerate() {
        std::fs::write(one.workspace.join(format!("file{number}")), format!("{number}")).unwrap();
    }
    for name in &names {
        assert_eq!(repository.worktrees.merge(name).await.unwrap().changed.len(), 1);
        repository.worktrees.remove(name).await.unwrap();
    }
    for number in 0..20 {
        assert_eq!(repository.read(&format!("file{number}")), Some(format!("{number}")));
    }
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn one_that_is_given_up_leaves_nothing() {
    let many: Vec<(String, String)> =
        (0..400).map(|n| (format!("d{}/f{n}", n % 20), format!("{n}"))).collect();
    let files: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let repository = TestRepository::with(&files).await;
    repository.put("new", "x");
    let before = repository.user_state();
    // At every stage that can be told from outside: at once, once the note is there, once files are there.
    for stage in 0..4 {
        let canceled = CancellationToken::new();
        let path = repository.path();
        let making = repository.worktrees.create("one", &path, &canceled);
        let dir = repository.worktrees_dir();
        let watching = async {
            loop {
                let reached = match stage {
                    0 => true,
                    1 => dir.join("one.json").exists(),
                    2 => dir.join("one.index").exists(),
                    _ => dir.join("one/.git").exists(),
                };
                if reached {
                    canceled.cancel();
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::select! {
            biased;
            ended = making => ended,
            () = async { watching.await; std::future::pending().await } => unreachable!(),
        };
        // It may have been ready before anybody could say no.
        if ended.is_ok() {
            repository.worktrees.remove("one").await.unwrap();
        }
        assert_eq!(repository.user_state(), before, "stage {stage}");
        assert!(!repository.path().join(".git/worktrees").exists(), "stage {stage}");
        let left = std::fs::read_dir(&dir).map_or(0, |entries| entries.count());
        assert_eq!(left, 0, "stage {stage}");
    }
}

#[tokio::test]
async fn what_a_crash_left_half_made_is_listed_and_removed() {
    let repository = TestRepository::with(&[("a", "1")]).await;
    let made = repository.worktrees.create("one", &repository.path(), &never()).await.unwrap();
    // The note as it is before the worktree is ready, and a worktree of which git has only begun to know.
    let note = repository.worktrees_dir().join("one.json");
    let text = std::fs::read_to_string(&note).unwrap().replace(&format!("\"{}\"", made.base), "null");
    std::fs::write(&note, text).unwrap();
    std::fs::remove_file(repository.path().join(".git/worktrees/one/gitdir")).unwrap();
    let again = GitWorktrees::new(repository.worktrees_dir(), repository.isolation.clone());
    let listed = again.list().await.unwrap();
    assert_eq!(
        listed.iter().map(|one| (one.name.as_str(), one.is_complete)).collect::<Vec<_>>(),
        [("one", false)]
    );
    again.remove("one").await.unwrap();
    assert_eq!(again.list().await.unwrap(), []);
    assert!(!repository.path().join(".git/worktrees").exists());
}

#[tokio::test]
async fn directories_that_somebody_has_closed_are_removed_all_the_same() {
    let repository = TestRepository::with(&[("a", "1")]).await;
    let made = repository.worktrees.create("one", &repository.path(), &never()).await.unwrap();
    let closed = made.workspace.join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::write(closed.join("x"), "x").unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
    repository.worktrees.remove("one").await.unwrap();
    assert!(!made.workspace.exists());
}

/// Waits for all of them at the same time.
async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(Box::pin).map(|future| (Some(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, output) in &mut all {
            if let Some(running) = future
                && let std::task::Poll::Ready(ready) = running.as_mut().poll(context)
            {
                (*future, *output) = (None, Some(ready));
            }
        }
        if all.iter().any(|(future, _)| future.is_some()) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(all.iter_mut().filter_map(|(_, output)| output.take()).collect())
    })
    .await
}

#[tokio::test]
async fn git_does_not_look_at_a_worktree_before_somebody_agreed_where_nothing_confines_it() {
    let repository = TestRepository::with(&[("a", "1")]).await;
    let made = repository.worktrees.create("one", &repository.path(), &never()).await.unwrap();
    std::fs::write(made.workspace.join("a"), "2").unwrap();
    let asking = GitWorktrees::new(repository.worktrees_dir(), repository.isolation.clone()).asking_first();
    for refused in [asking.changes("one").await.err(), asking.changes_to_merge("one").await.err()] {
        assert!(refused.unwrap().to_string().contains("Nothing on this machine confines git"));
    }
    assert!(asking.diff("one").await.is_err());
    assert_eq!(asking.merge("one").await.unwrap().changed.len(), 1);
}
