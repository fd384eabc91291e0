//! The runner whose workspaces lie on the disk of this process. It puts the crates that work on files (`checkpoint`,
//! `git`, `tools`) behind the contract of `runner`, off the async threads, and adds no copy and no task to what they do.

mod checkpoints;
mod file_lists;
mod workspaces;
mod worktrees;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_checkpoint::Store;
use ostler_runner::{Checkpoints, Runner, Workspaces, Worktrees};
use ostler_tools::Tools;
use ostler_types::SessionId;

use checkpoints::LocalCheckpoints;
use workspaces::LocalWorkspaces;
use worktrees::LocalWorktrees;

pub use workspaces::FindApproval;

/// The workspaces of this machine.
pub struct LocalRunner {
    workspaces: LocalWorkspaces,
    checkpoints: Option<LocalCheckpoints>,
    worktrees: Option<LocalWorktrees>,
    tools: Option<Arc<Tools>>,
}

impl LocalRunner {
    /// A runner whose own data lies there. It keeps no checkpoints, makes no worktrees, and knows no unfit workspace.
    pub fn new(data_dir: PathBuf) -> LocalRunner {
        let workspaces = LocalWorkspaces::new(data_dir);
        LocalRunner { workspaces, checkpoints: None, worktrees: None, tools: None }
    }

    /// The same, which keeps checkpoints in this store.
    #[must_use]
    pub fn with_checkpoints(self, store: Arc<Store>) -> LocalRunner {
        LocalRunner { checkpoints: Some(LocalCheckpoints::new(store)), ..self }
    }

    /// The same, which makes worktrees. Tools must be able to see them, so they lie outside of the data directory; no
    /// other runner may use their directory.
    #[must_use]
    pub fn with_worktrees(self, worktrees: ostler_git::Worktrees) -> LocalRunner {
        LocalRunner { worktrees: Some(LocalWorktrees::new(worktrees)), ..self }
    }

    /// The same, whose sessions leave running what these tools have started.
    #[must_use]
    pub fn with_tools(self, tools: Arc<Tools>) -> LocalRunner {
        LocalRunner { tools: Some(tools), ..self }
    }

    /// The same, where nobody works in a directory that the sandbox could not confine anybody to, given this home.
    #[must_use]
    pub fn with_home(self, home: PathBuf) -> LocalRunner {
        LocalRunner { workspaces: self.workspaces.with_home(home), ..self }
    }

    /// The same, which hears what trusted workspaces say of approvals.
    #[must_use]
    pub fn with_approval(self, approval: FindApproval) -> LocalRunner {
        LocalRunner { workspaces: self.workspaces.with_approval(approval), ..self }
    }
}

impl Runner for LocalRunner {
    fn workspaces(&self) -> &dyn Workspaces {
        &self.workspaces
    }

    fn checkpoints(&self) -> Option<&dyn Checkpoints> {
        self.checkpoints.as_ref().map(|checkpoints| checkpoints as &dyn Checkpoints)
    }

    fn worktrees(&self) -> Option<&dyn Worktrees> {
        self.worktrees.as_ref().map(|worktrees| worktrees as &dyn Worktrees)
    }

    fn end_session(&self, session: SessionId) -> BoxFuture<'_, ()> {
        async move {
            if let Some(tools) = &self.tools {
                tools.end_session(session).await;
            }
        }
        .boxed()
    }
}
