//! What works in workspaces for a session: tools, tool servers, command lines.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_types::{SessionId, ToolSpec};
use serde::{Deserialize, Serialize};

use crate::command::{CommandOutcome, RunCommand};
use crate::tool::{OutputSink, ToolSet};

/// Offers tools to sessions, and runs command lines for the daemon. Nobody is asked for leave here.
pub trait Toolbox: Send + Sync {
    /// The tools that every session has.
    fn built_in_tools(&self) -> Arc<ToolSet>;

    /// The tools of a session: the built-in ones, and those of tool servers. Starts servers, those that the workspace
    /// itself names only where it is trusted.
    fn offer_tools(&self, request: OfferTools) -> BoxFuture<'_, OfferedTools>;

    /// What models were told of the servers' tools in this workspace by the last offer. Starts nothing.
    fn last_offered(&self, workspace: &str) -> Arc<[ToolSpec]>;

    /// The status of each tool server, for people.
    fn server_statuses(&self) -> Vec<serde_json::Value>;

    /// Is told before a workspace becomes trusted, and after it no longer is; then the servers that it brought have
    /// ended when this returns, and no turn that began before starts them again.
    fn set_trusted(&self, workspace: String, trusted: bool) -> BoxFuture<'_, ()>;

    /// Runs a command line and waits for it. Dropping the future kills all that it started. A command that cannot be
    /// started is an outcome too, not an error.
    fn run_command(&self, run: RunCommand, output: Arc<OutputSink>) -> BoxFuture<'_, CommandOutcome>;

    /// The changes of a workspace that are not committed, a line for each; empty where everything is. `unconfined` says
    /// that somebody agreed to run git where nothing confines it. The error says why git did not answer.
    fn uncommitted_changes(
        &self,
        workspace: String,
        unconfined: bool,
    ) -> BoxFuture<'_, Result<String, String>>;

    /// Reads a text file of the workspace, or some of its lines, as an editor shows it where one does. The error says
    /// what was wrong.
    fn read_text(&self, read: ReadText) -> BoxFuture<'_, Result<String, String>>;

    /// Returns true where the sandbox confines the programs that tools start.
    fn confines_programs(&self) -> bool;

    /// What a person must know before a program runs, where nothing confines it.
    fn unconfined_warning(&self) -> Option<String>;
}

/// Who is offered tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferTools {
    /// The session; none for a look at what a workspace has, which is not told of the servers that an editor brought.
    pub session: Option<SessionId>,
    /// Where it works.
    pub workspace: String,
    /// Whether the workspace is trusted.
    pub trusted: bool,
    /// The servers of the workspace that are not started, because a turn wrote what they run.
    pub held_back: Vec<String>,
    /// Whether the model can be told something now.
    pub tells: bool,
}

/// What a session is offered.
#[derive(Clone, Default)]
pub struct OfferedTools {
    /// The tools.
    pub tools: Arc<ToolSet>,
    /// What the model is to be told of them, once.
    pub notice: Option<String>,
}

/// A text file to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadText {
    /// The session that it is read for.
    pub session: SessionId,
    /// The workspace.
    pub workspace: String,
    /// The file, relative to the workspace or absolute in it.
    pub path: String,
    /// The first line, counted from 1; the beginning where none is named.
    pub line: Option<u32>,
    /// The number of lines; all where none is named.
    pub limit: Option<u32>,
}
