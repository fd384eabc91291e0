//! What the daemon tells its helper, as JSON in one argument each: no secrets, only paths and numbers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::profile::Limits;

/// For the helper outside the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Supervise {
    /// The process that must live as long as the sandbox.
    pub(crate) parent: u32,
    /// The file that tells the daemon how far this got; see `confinement`.
    pub(crate) lease: PathBuf,
    /// Where the sandbox is counted.
    pub(crate) cgroup: Option<JoinCgroup>,
    /// Whether what it starts is bubblewrap, which can wait at a gate until it is counted.
    pub(crate) has_gate: bool,
}

/// How a sandbox comes to be counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum JoinCgroup {
    /// The thread that starts it is a member while it does so. The kernel moves a thread that asks for
    /// itself at once; other processes it moves only after a grace period of some ten milliseconds. Only
    /// version 1 knows single threads.
    Thread {
        /// What is written to before.
        join: PathBuf,
        /// What is written to after.
        leave: PathBuf,
    },
    /// A whole process is moved.
    Process {
        /// What its id is written to, before the program starts.
        join: PathBuf,
        /// After it, where the helper had to join for its child to be counted, so that it does not die
        /// where memory runs out.
        leave: Option<PathBuf>,
    },
}

/// For the helper inside the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Confine {
    /// Directories that must still be the ones that were checked.
    pub(crate) identities: Vec<Identity>,
    /// Where the program starts.
    pub(crate) current_dir: PathBuf,
    /// Where the program puts temporary files.
    pub(crate) temporary: PathBuf,
    /// Whether its input becomes its controlling terminal.
    pub(crate) terminal: bool,
    /// What it may use.
    pub(crate) limits: Limits,
    /// Whether the user's other processes count against the limit on processes.
    pub(crate) shared_process_count: bool,
    /// The file rules, where no mounts do their work.
    pub(crate) rules: Option<Rules>,
    /// Whether Landlock can keep signals and abstract sockets inside.
    pub(crate) scoped: bool,
    /// The system calls to deny.
    pub(crate) filter: Filter,
}

/// A directory as it was when it was checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) path: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// What Landlock opens. Everything else is closed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rules {
    pub(crate) abi: u8,
    /// Written to and read.
    pub(crate) writable: Vec<PathBuf>,
    /// Read, though it is below something hidden.
    pub(crate) readable: Vec<PathBuf>,
    /// Not read, though everything else is.
    pub(crate) hidden: Vec<PathBuf>,
    /// Whether TCP is open.
    pub(crate) network: bool,
}

/// Which system calls are let through that are denied otherwise.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Filter {
    pub(crate) internet_sockets: bool,
    pub(crate) unix_sockets: bool,
    pub(crate) namespaces: bool,
}
