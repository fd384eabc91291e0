//! What the daemon tells its helper, as JSON in one argument each: no secrets, only paths and numbers.

use std::path::{Path, PathBuf};

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
    /// What bubblewrap, if that is what it starts, is to mount.
    pub(crate) mounts: Option<Mounts>,
    /// Directories whose repository must stay one, or which must not become one.
    pub(crate) tops: Vec<PathBuf>,
    /// The file with the program's environment, which it removes.
    pub(crate) environment: PathBuf,
    /// Whether what it starts is a sandbox, to which the program's environment is only handed on; else it is
    /// the program itself, which nothing confines.
    pub(crate) confines: bool,
    /// What its temporary files may take, where no mount limits them.
    pub(crate) quota: Option<Quota>,
}

/// How much a directory may hold.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Quota {
    pub(crate) directory: PathBuf,
    pub(crate) bytes: u64,
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
    /// The home directory that it has for itself, if it has one.
    pub(crate) home: Option<OwnHome>,
    /// Directories that get a writable layer of its own.
    pub(crate) caches: Vec<PathBuf>,
    /// Whether `/proc` becomes read-only when that is done.
    pub(crate) proc_read_only: bool,
    /// The file rules, where no mounts do their work.
    pub(crate) rules: Option<Rules>,
    /// Whether Landlock can keep signals and abstract sockets inside.
    pub(crate) scoped: bool,
    /// The system calls to deny.
    pub(crate) filter: Filter,
    /// Whether it waits until the helper outside has looked at its mounts.
    pub(crate) waits_at_gate: bool,
}

/// What the mounts of a sandbox should be.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mounts {
    /// Directories in which mounts may be writable.
    pub(crate) roots: Vec<PathBuf>,
    /// What is mounted where.
    pub(crate) at: Vec<(PathBuf, Shows)>,
    /// Those of them without which a program must not go on.
    pub(crate) watched: Vec<PathBuf>,
}

impl Mounts {
    /// What is to be at a path.
    pub(crate) fn shows(&self, path: &Path) -> Option<Shows> {
        self.at.iter().find(|(at, _)| at == path).map(|(_, shows)| *shows)
    }
}

/// What is seen at a path on which something is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shows {
    /// A directory of the sandbox's own.
    Own,
    /// A file that cannot be opened.
    Nothing,
    /// What is there, writable.
    Writable,
    /// What is there, read-only.
    ReadOnly,
}

/// A home directory of a program's own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OwnHome {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The user's, in whose place it is.
    pub(crate) real: PathBuf,
    /// Names in it that lead to what the program keeps in the user's.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// What git finds there as the user's settings.
    pub(crate) git_configuration: String,
    /// Variables that lead to toolchains elsewhere, where the program has none of that name.
    pub(crate) variables: Vec<(String, PathBuf)>,
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
    /// Whether the user's other processes can be named, because there is no namespace that hides them.
    pub(crate) shares_processes: bool,
    /// Whether what is written beside files stays as it is: no mount keeps it from changing outside the workspace.
    pub(crate) keeps_attributes: bool,
}
