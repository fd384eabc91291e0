//! What the daemon tells its helper, as JSON in one argument each: no secrets, only paths and numbers.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Directories that a program has for itself.
pub const PRIVATE_DIRECTORIES: &[&str] = &["/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm"];

/// For the helper outside the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub struct SuperviseOrder {
    /// The process that must live as long as the sandbox.
    pub parent: u32,
    /// The file that tells the daemon how far this got; see `confinement`.
    pub lease: PathBuf,
    /// Where the sandbox is counted.
    pub cgroup: Option<JoinCgroup>,
    /// What bubblewrap, if that is what it starts, is to mount.
    pub mounts: Option<ExpectedMounts>,
    /// Directories whose repository must stay one, or which must not become one.
    pub tops: Vec<PathBuf>,
    /// The file with the program's environment, which it removes.
    pub environment: PathBuf,
    /// Whether what it starts is a sandbox, to which the program's environment is only handed on; else it is
    /// the program itself, which nothing confines.
    pub confines: bool,
    /// What its temporary files may take, where no mount limits them.
    pub quota: Option<TemporaryQuota>,
}

/// How much a directory may hold.
#[derive(Debug, Serialize, Deserialize)]
pub struct TemporaryQuota {
    /// The directory.
    pub directory: PathBuf,
    /// How many bytes.
    pub bytes: u64,
}

/// How a sandbox comes to be counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum JoinCgroup {
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
pub struct ConfineOrder {
    /// Directories that must still be the ones that were checked.
    pub identities: Vec<DirectoryIdentity>,
    /// Where the program starts.
    pub current_dir: PathBuf,
    /// Where the program puts temporary files.
    pub temporary: PathBuf,
    /// Whether its input becomes its controlling terminal.
    pub terminal: bool,
    /// What it may use.
    pub limits: ProcessLimits,
    /// Whether the user's other processes count against the limit on processes.
    pub shared_process_count: bool,
    /// The home directory that it has for itself, if it has one.
    pub home: Option<OwnHome>,
    /// Directories that get a writable layer of its own.
    pub caches: Vec<PathBuf>,
    /// Whether `/proc` becomes read-only when that is done.
    pub proc_read_only: bool,
    /// The file rules, where no mounts do their work.
    pub rules: Option<LandlockRules>,
    /// Whether Landlock can keep signals and abstract sockets inside.
    pub scoped: bool,
    /// The system calls to deny.
    pub filter: SyscallFilter,
    /// Whether it waits until the helper outside has looked at its mounts.
    pub waits_at_gate: bool,
}

/// What the mounts of a sandbox should be.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExpectedMounts {
    /// Directories in which mounts may be writable.
    pub roots: Vec<PathBuf>,
    /// What is mounted where.
    pub at: Vec<(PathBuf, MountShows)>,
    /// Those of them without which a program must not go on.
    pub watched: Vec<PathBuf>,
}

impl ExpectedMounts {
    /// What is to be at a path.
    pub fn shows(&self, path: &Path) -> Option<MountShows> {
        self.at.iter().find(|(at, _)| at == path).map(|(_, shows)| *shows)
    }
}

/// What is seen at a path on which something is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountShows {
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
pub struct OwnHome {
    /// Where it is.
    pub path: PathBuf,
    /// The user's, in whose place it is.
    pub real: PathBuf,
    /// Names in it that lead to what the program keeps in the user's.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// What git finds there as the user's settings.
    pub git_configuration: String,
    /// Variables that lead to toolchains elsewhere, where the program has none of that name.
    pub variables: Vec<(String, PathBuf)>,
}

/// A directory as it was when it was checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DirectoryIdentity {
    /// Where it is.
    pub path: PathBuf,
    /// Its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// What Landlock opens. Everything else is closed.
#[derive(Debug, Serialize, Deserialize)]
pub struct LandlockRules {
    /// The version that the rules are for.
    pub abi: u8,
    /// Written to and read.
    pub writable: Vec<PathBuf>,
    /// Read, though it is below something hidden.
    pub readable: Vec<PathBuf>,
    /// Not read, though everything else is.
    pub hidden: Vec<PathBuf>,
    /// Whether TCP is open.
    pub network: bool,
}

/// Which system calls are let through that are denied otherwise.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SyscallFilter {
    /// Sockets of the internet.
    pub internet_sockets: bool,
    /// Unix sockets.
    pub unix_sockets: bool,
    /// Whatever makes namespaces and mounts.
    pub namespaces: bool,
    /// Whether the user's other processes can be named, because there is no namespace that hides them.
    pub shares_processes: bool,
    /// Whether what is written beside files stays as it is: no mount keeps it from changing outside the workspace.
    pub keeps_attributes: bool,
}

/// What a program and all that it starts may use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessLimits {
    /// Processes and threads at once.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// The size of one file.
    pub file_bytes: u64,
    /// Memory that is really used.
    pub memory_bytes: u64,
    /// Addresses of one process.
    pub address_bytes: Option<u64>,
    /// What the layers over caches hold together.
    pub cache_bytes: u64,
}
