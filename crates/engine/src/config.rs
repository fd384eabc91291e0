//! What an engine is made of. Everything comes in from outside: the log, the index, the agents, the
//! clock; so tests can put their own in place of each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::{Timestamp, TimestampRound, Unit};
use ostler_agent::Agent;
use ostler_checkpoint::Store;
use ostler_documents::Documents;
use ostler_eventlog::Log;
use ostler_git::Worktrees;
use ostler_index::{Index, Opened};
use ostler_types::{ApprovalPolicy, Clock, Rule, Secrets, SessionId};
use uuid::Uuid;

/// Finds what a workspace that is trusted says of approvals itself, by its path: what is asked about besides,
/// and what is allowed. None where it says nothing.
pub type WorkspaceApproval = Arc<dyn Fn(String) -> BoxFuture<'static, Option<ApprovalPolicy>> + Send + Sync>;

/// Says why nobody should work in a directory, in sentences for people; none where one can. May block.
pub type UnfitWorkspace = Arc<dyn Fn(&Path) -> Option<String> + Send + Sync>;

/// What an engine is made of.
pub struct EngineConfig {
    /// The truth.
    pub log: Arc<dyn Log>,
    /// The view for listing and searching.
    pub index: Arc<dyn Index>,
    /// Whether that view was found, or has to be made from the logs.
    pub index_opened: Opened,
    /// The remembered rules, the workspaces that are trusted, the projects.
    pub documents: Arc<dyn Documents>,
    /// Where the views beside each log go.
    pub data_dir: PathBuf,
    /// Who runs turns, by name. `native` is the default of every door.
    pub agents: HashMap<String, Arc<dyn Agent>>,
    /// Where times and ids come from.
    pub clock: Arc<dyn Clock>,
    /// Where workspaces are kept as they were before each turn, so that turns can be undone.
    pub checkpoints: Option<Arc<Store>>,
    /// Where sessions that are started by others get git worktrees of their own, if they can. Tools must be
    /// able to see it, so it lies outside of the data directory; no other engine may use it.
    pub worktrees: Option<Arc<Worktrees>>,
    /// Calls that are allowed in every session.
    pub rules: Vec<Rule>,
    /// What trusted workspaces say of approvals themselves, if they are heard.
    pub workspace_approval: Option<WorkspaceApproval>,
    /// Says why a directory is no workspace, if there is a rule for that.
    pub unfit_workspace: Option<UnfitWorkspace>,
    /// Words that are masked in all that is recorded and shown.
    pub secrets: Secrets,
    /// Is told when a session was closed or removed, to end what it left running.
    pub closed: Arc<dyn Fn(SessionId) + Send + Sync>,
    /// How long an actor without turn and subscriber stays awake.
    pub idle_after: Duration,
    /// Whether sessions are only looked at and answered: no turn is run, recovered or ended. For a
    /// process that comes for a moment and must leave everything to the next daemon.
    pub at_rest: bool,
}

/// The system's time and random ids.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        now.round(TimestampRound::new().smallest(Unit::Millisecond)).unwrap_or(now)
    }

    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}
