//! The contract between sessions and the machine that their workspaces lie on.
//!
//! The engine, the agents and the doors touch a workspace through [`Runner`] only. The one implementation works on the
//! disk of this process (`local-runner`); another may do the same on a machine at the other end of a link. So every
//! operation that touches a file is asynchronous, its arguments and results can be serialized, and paths are those of the
//! runner's machine, which nobody else opens. A [`Tool`] is the exception: it judges calls in this process and acts on
//! the runner's machine.

mod agents;
mod checkpoints;
mod command;
mod context;
mod tool;
mod toolbox;
mod workspaces;
mod worktrees;

use futures_util::future::BoxFuture;
use ostler_types::SessionId;

pub use agents::{
    AdoptSession, AdoptedAgentSession, BeginSession, NoAgents, ThirdPartyAgents, unknown_agent,
};
pub use checkpoints::{
    CaptureWorkspace, CapturedCheckpoint, ChangedFile, CheckpointError, CheckpointId, Checkpoints,
    CompareCheckpoints, HoldGuard, HoldPurpose, RevertOutcome, RevertRejected, TurnSpan, UndoOutcome,
    UndoTurns, UnrestoredFile,
};
pub use command::{CommandEnding, CommandOutcome, RunCommand};
pub use context::{
    ContextBudget, FindSkills, GatherContext, GatheredContext, LateContext, PrepareContext, ShownContext,
    WorkspaceContext,
};
pub use tool::{OutputSink, Tool, ToolContext, ToolOutcome, ToolSet};
pub use toolbox::{OfferTools, OfferedTools, ReadText, Toolbox};
pub use workspaces::{
    AdditionalApprovals, CheckFileScope, Directory, DocumentedChecks, FileSums, FindCheckFiles, FindFiles,
    LinkTarget, ResolvedDirectory, SubdirectoryList, WorkspaceFileList, WorkspacePathError,
    WorkspaceSettings, Workspaces,
};
pub use worktrees::{ChangedPath, MadeWorktree, NewWorktree, WorktreeError, WorktreeName, Worktrees};

/// One machine's workspaces, and all that works in them.
///
/// Whoever calls is the owner of the session concerned: a runner does not ask who may do what. An operation whose
/// future is dropped may still take effect; those that must not be half done say so.
pub trait Runner: Send + Sync + 'static {
    /// Finds directories and reads what a workspace says of itself.
    fn workspaces(&self) -> &dyn Workspaces;

    /// Workspaces as they were; none where nothing is kept, so that no turn can be undone.
    fn checkpoints(&self) -> Option<&dyn Checkpoints>;

    /// Worktrees for sessions that others have started; none where none can be made.
    fn worktrees(&self) -> Option<&dyn Worktrees>;

    /// Tools, tool servers and command lines.
    fn toolbox(&self) -> &dyn Toolbox;

    /// What models are told of workspaces.
    fn context(&self) -> &dyn WorkspaceContext;

    /// The agents of others, which work where the files are.
    fn agents(&self) -> &dyn ThirdPartyAgents;

    /// Ends what a session left running, such as background processes and terminals. Called once the session is
    /// closed or removed, and safe to call again.
    fn end_session(&self, session: SessionId) -> BoxFuture<'_, ()>;
}
