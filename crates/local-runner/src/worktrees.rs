//! Worktrees made by git on this machine.

use std::path::Path;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_git::{GitError, WorktreeChange, WorktreeFileDiff};
use ostler_runner::{ChangedPath, MadeWorktree, NewWorktree, WorktreeError, WorktreeName, Worktrees};
use ostler_types::{ChangeKind, FileChange};
use tokio_util::sync::CancellationToken;

/// The worktrees of one directory.
pub(crate) struct LocalWorktrees {
    worktrees: ostler_git::GitWorktrees,
}

impl LocalWorktrees {
    pub(crate) fn new(worktrees: ostler_git::GitWorktrees) -> LocalWorktrees {
        LocalWorktrees { worktrees }
    }
}

impl Worktrees for LocalWorktrees {
    fn create(
        &self,
        new: NewWorktree,
        canceled: CancellationToken,
    ) -> BoxFuture<'_, Result<MadeWorktree, WorktreeError>> {
        async move {
            let made = self.worktrees.create(&new.name, Path::new(&new.workspace), &canceled).await;
            let ostler_git::CreatedWorktree { workspace, base } = made.map_err(to_worktree_error)?;
            Ok(MadeWorktree { workspace: workspace.display().to_string(), base })
        }
        .boxed()
    }

    fn changes(&self, name: String) -> BoxFuture<'_, Result<Vec<ChangedPath>, WorktreeError>> {
        async move { self.worktrees.changes(&name).await.map(to_changed_paths).map_err(to_worktree_error) }
            .boxed()
    }

    fn changes_to_merge(&self, name: String) -> BoxFuture<'_, Result<Vec<ChangedPath>, WorktreeError>> {
        async move {
            self.worktrees.changes_to_merge(&name).await.map(to_changed_paths).map_err(to_worktree_error)
        }
        .boxed()
    }

    fn diff(&self, name: String) -> BoxFuture<'_, Result<Vec<FileChange>, WorktreeError>> {
        async move {
            let changed = self.worktrees.diff(&name).await.map_err(to_worktree_error)?;
            Ok(changed.into_iter().map(to_file_change).collect())
        }
        .boxed()
    }

    fn merge(&self, name: String) -> BoxFuture<'_, Result<Vec<ChangedPath>, WorktreeError>> {
        async move {
            self.worktrees
                .merge(&name)
                .await
                .map(|merged| to_changed_paths(merged.changed))
                .map_err(to_worktree_error)
        }
        .boxed()
    }

    fn remove(&self, name: String) -> BoxFuture<'_, Result<(), WorktreeError>> {
        async move { self.worktrees.remove(&name).await.map_err(to_worktree_error) }.boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<WorktreeName>, WorktreeError>> {
        async move {
            let name =
                |it: ostler_git::ListedWorktree| WorktreeName { name: it.name, is_made: it.is_complete };
            Ok(self.worktrees.list().await.map_err(to_worktree_error)?.into_iter().map(name).collect())
        }
        .boxed()
    }

    fn source_workspace(&self, name: String) -> BoxFuture<'_, Option<String>> {
        let made_of = self.worktrees.source_workspace(&name);
        std::future::ready(made_of.map(|workspace| workspace.display().to_string())).boxed()
    }

    fn root_workspace(&self, path: String) -> BoxFuture<'_, String> {
        // A path that is no text is that of no session.
        let origin = self.worktrees.origin(Path::new(&path)).into_os_string().into_string();
        std::future::ready(origin.unwrap_or(path)).boxed()
    }
}

fn to_changed_paths(changed: Vec<WorktreeChange>) -> Vec<ChangedPath> {
    let path = |it: WorktreeChange| ChangedPath { path: it.path, what: it.what.to_owned() };
    changed.into_iter().map(path).collect()
}

fn to_file_change(file: WorktreeFileDiff) -> FileChange {
    FileChange {
        path: file.path,
        kind: match file.what {
            "added" => ChangeKind::Added,
            "deleted" => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        },
        from: None,
        added: file.added,
        removed: file.removed,
        binary: file.is_binary,
        diff: file.diff,
    }
}

fn to_worktree_error(error: GitError) -> WorktreeError {
    let text = error.to_string();
    match error {
        GitError::Conflict(_) => WorktreeError::Conflict(text),
        GitError::Protected(_) => WorktreeError::Protected(text),
        GitError::Changed => WorktreeError::Changed(text),
        GitError::Failed(why) => WorktreeError::Failed(why),
    }
}
