//! Directories of the runner's machine, and the files by which a workspace speaks for itself.

use std::collections::BTreeMap;
use std::fmt;

use futures_util::future::BoxFuture;
use ostler_types::{BroughtServer, Rule, ToolKind};
use serde::{Deserialize, Serialize};

/// Looks at workspaces. Nothing is changed and nothing of a workspace is run.
pub trait Workspaces: Send + Sync {
    /// The real path of a directory, with links followed. Trust and rules hold for this path, since a name that leads
    /// to it can be moved.
    fn resolve_directory(&self, path: String)
    -> BoxFuture<'_, Result<ResolvedDirectory, WorkspacePathError>>;

    /// Why nobody should work in a directory, in sentences for people; none where one can, or where it is gone.
    fn unsuitable_reason(&self, workspace: String) -> BoxFuture<'_, Option<String>>;

    /// The directories in a directory, for choosing a workspace. The path is a real one.
    fn list_directories(&self, path: String) -> BoxFuture<'_, Result<SubdirectoryList, WorkspacePathError>>;

    /// Files of a workspace that a few letters of their paths lead to.
    fn find_files(&self, find: FindFiles) -> BoxFuture<'_, Result<WorkspaceFileList, WorkspacePathError>>;

    /// The text of a workspace's `AGENTS.md`, cut to a bound; none where there is no such file in the workspace itself.
    fn instructions(&self, workspace: String) -> BoxFuture<'_, Option<String>>;

    /// Those of these paths in a workspace that go through a symbolic link, each with the path that it leads to.
    fn link_targets(&self, workspace: String, paths: Vec<String>) -> BoxFuture<'_, Vec<LinkTarget>>;

    /// What a workspace sets in its own files. It counts only where the workspace is trusted; whether it is, and which
    /// of its rules the owner has accepted, is for the caller to know.
    fn settings(&self, workspace: String) -> BoxFuture<'_, WorkspaceSettings>;

    /// The commands that the workspace's `AGENTS.md`, else its Makefile, names for checking it.
    fn documented_checks(&self, workspace: String) -> BoxFuture<'_, Option<DocumentedChecks>>;

    /// The files that decide what checks run, as they are now: where the lines stand, and what gives them their meaning
    /// (a Makefile, the scripts of a package, a script that a line names). The error says why they cannot be read.
    fn check_files(&self, request: FindCheckFiles) -> BoxFuture<'_, Result<FileSums, String>>;
}

/// A directory as it really is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedDirectory {
    /// Its path, absolute and without links.
    pub path: String,
    /// Whether it lies in the runner's own data, where no session may work.
    pub is_own_data: bool,
}

/// Why a path cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum WorkspacePathError {
    /// Nothing is there, or it cannot be reached.
    #[error("{0}")]
    Missing(String),
    /// Something else than a directory is there.
    #[error("it is not a directory")]
    NotADirectory,
    /// It cannot be written as text.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// It is there and cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Directories in a directory, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubdirectoryList {
    /// Hidden ones are left out.
    pub directories: Vec<Directory>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// A directory in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// The last part of its path.
    pub name: String,
    /// Its path, in which a link may be left.
    pub path: String,
    /// Whether it is a git repository.
    pub is_git: bool,
}

/// Which files to find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindFiles {
    /// Of which workspace.
    pub workspace: String,
    /// Letters of the path, in this order.
    pub letters: String,
    /// How many at most.
    pub limit: usize,
}

/// Files of a workspace, the best match first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceFileList {
    /// Relative to the workspace. What git ignores is left out.
    pub paths: Vec<String>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// A path that goes through a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkTarget {
    /// The path.
    pub path: String,
    /// The path that it leads to: relative to the workspace, or absolute where it lies outside.
    pub target: String,
}

/// For the person who is asked about a call that writes there.
impl fmt::Display for LinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} leads to {:?}", self.path, self.target)
    }
}

/// What a workspace sets in its own files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceSettings {
    /// The commands that check a turn's work; empty where it names none. The error says why its settings cannot be used.
    pub verify_commands: Result<Vec<String>, String>,
    /// What is asked about besides.
    pub asks: AdditionalApprovals,
    /// What it wants to be allowed without asking.
    pub rules: Vec<Rule>,
    /// The tool servers that it names, without what may be secret.
    pub servers: Vec<BroughtServer>,
    /// What cannot be used, and why.
    pub problems: Vec<String>,
}

impl Default for WorkspaceSettings {
    fn default() -> WorkspaceSettings {
        let (rules, servers, problems) = (Vec::new(), Vec::new(), Vec::new());
        WorkspaceSettings {
            verify_commands: Ok(Vec::new()),
            asks: AdditionalApprovals::default(),
            rules,
            servers,
            problems,
        }
    }
}

/// What a workspace wants to be asked about besides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdditionalApprovals {
    /// Calls of these kinds.
    pub kinds: Vec<ToolKind>,
    /// Calls of these tools.
    pub tools: Vec<String>,
    /// Whether commands that are known to only read still run unasked.
    pub safe_commands: bool,
}

impl Default for AdditionalApprovals {
    fn default() -> AdditionalApprovals {
        AdditionalApprovals { kinds: Vec::new(), tools: Vec::new(), safe_commands: true }
    }
}

/// The commands that check a workspace, as a file of it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentedChecks {
    /// The commands, to be run in order.
    pub commands: Vec<String>,
    /// The file that says so, for people.
    pub origin: String,
    /// The same by its name.
    pub file: String,
}

/// Whose files to find that decide what checks run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindCheckFiles {
    /// The workspace.
    pub workspace: String,
    /// The command lines of the checks.
    pub lines: Vec<String>,
    /// Which files.
    pub scope: CheckFileScope,
    /// Other files of the workspace, of which those count that can be run: recipes and scripts, wherever they lie, and
    /// what is executable. What a line leads to cannot always be told from its text.
    pub candidates: Vec<String>,
}

/// Which files of a workspace count as deciding what checks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckFileScope {
    /// Those that these lines lead to.
    Lines,
    /// Every file that may decide it, for these lines or by itself.
    Workspace,
    /// Every file that these lines name, whatever it is: they start programs that are there to stay.
    Named,
}

/// Files by their name in the workspace, each with a sum of what counts in it.
pub type FileSums = BTreeMap<String, String>;
