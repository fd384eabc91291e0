//! What a confined program may do, as its caller says it. What that comes to on this machine is worked
//! out in `layout`.

use std::path::PathBuf;

/// What one program may write, read, reach and use up. Everything that is not given here is denied:
/// the file system is read-only, `/tmp` is the program's own, known places of secrets are empty, and
/// there is no network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProfile {
    /// The directory that the session works in.
    pub workspace: PathBuf,
    /// Whether the program may write there.
    pub access: WorkspaceAccess,
    /// Where the program starts: the workspace, unless said otherwise.
    pub current_dir: PathBuf,
    /// Further directories that it may write, such as a build cache, and single files. They must exist.
    pub writable: Vec<PathBuf>,
    /// Directories of Ostler's own, made or chosen for this very program: it may write them, wherever they are, and
    /// nothing in them is protected.
    pub own_directories: Vec<PathBuf>,
    /// Directories that it may read, and write for itself alone: what it changes there is gone with it. Where that
    /// cannot be had, it may only read them.
    pub caches: Vec<PathBuf>,
    /// Files and directories in which the program keeps its own state, such as its login. It may write them, and
    /// nothing in them is protected. They must exist.
    pub state: Vec<PathBuf>,
    /// Places that it may read though they would be hidden.
    pub readable: Vec<PathBuf>,
    /// Further paths that stay read-only inside what is writable.
    pub protected: Vec<PathBuf>,
    /// Further paths that it must not see, wherever they are. An open directory below one of them
    /// stays open.
    pub hidden: Vec<PathBuf>,
    /// Whether it may use the network of this machine. Without it, bubblewrap gives it a loopback
    /// interface of its own.
    pub network: bool,
    /// Whether it may make Unix sockets. They cannot be confined by path, so with this it may talk to
    /// any socket of the user's outside `/tmp` and `/run`.
    pub unix_sockets: bool,
    /// Whether it may make namespaces, as agents that confine their own commands do.
    pub may_nest_sandboxes: bool,
    /// Whether its input is a terminal that nobody else uses, which it then has as its controlling
    /// terminal: interrupts that are typed reach it, and `/dev/tty` is that terminal.
    pub terminal: bool,
    /// Whether it runs for longer than a command does: a server, an agent, a command in the background. Then the place of
    /// every protected name is held, also of those that are rare, which costs a few milliseconds.
    pub long_lived: bool,
    /// How much it may use.
    pub limits: SandboxLimits,
}

impl SandboxProfile {
    /// The usual rights: the workspace writable, nothing else.
    pub fn new(workspace: impl Into<PathBuf>) -> SandboxProfile {
        let workspace = workspace.into();
        SandboxProfile {
            current_dir: workspace.clone(),
            workspace,
            access: WorkspaceAccess::ReadWrite,
            writable: Vec::new(),
            own_directories: Vec::new(),
            caches: Vec::new(),
            state: Vec::new(),
            readable: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
            network: false,
            unix_sockets: false,
            may_nest_sandboxes: false,
            terminal: false,
            long_lived: false,
            limits: SandboxLimits::default(),
        }
    }
}

/// What a program may do with its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// Write all of it but what is protected.
    ReadWrite,
    /// Only read it.
    ReadOnly,
}

/// How much a program and all that it starts may use. What is counted for each process and what for
/// all together depends on the machine, and is in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Processes and threads at once.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// The size of one file.
    pub file_bytes: u64,
    /// Memory that is really used.
    pub memory_bytes: u64,
    /// Addresses of one process. None by default: many runtimes reserve far more than they use.
    pub address_bytes: Option<u64>,
    /// What the private `/tmp` holds, which is memory. The layers over caches hold as much together.
    pub tmp_bytes: u64,
}

impl Default for SandboxLimits {
    fn default() -> SandboxLimits {
        const GIB: u64 = 1 << 30;
        SandboxLimits {
            processes: 1024,
            open_files: 8192,
            file_bytes: 4 * GIB,
            memory_bytes: 8 * GIB,
            address_bytes: None,
            tmp_bytes: GIB,
        }
    }
}
