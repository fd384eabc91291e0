//! What the sandbox does on this machine and what it does not, in plain sentences. It claims only what
//! the probe has seen working.

use ostler_sandbox_helper::LANDLOCK_WITH_TCP;

/// What confines programs here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxBackend {
    /// Namespaces and mounts, by bubblewrap, and seccomp.
    Bubblewrap,
    /// Landlock of this version, and seccomp.
    Landlock {
        /// Which rules the kernel knows.
        abi: u8,
    },
    /// Nothing: no program is run confined.
    None,
}

/// What is enforced, for `ostler doctor` and for whoever decides whether that is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    /// What is used.
    pub backend: SandboxBackend,
    /// What a confined program cannot do, a sentence each.
    pub enforced: Vec<String>,
    /// What it can do all the same, a sentence each.
    pub not_enforced: Vec<String>,
    /// Why something stronger is not used, and what would help.
    pub reasons: Vec<String>,
}

/// What the probe found besides the backend.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProbeFindings {
    pub(crate) is_root: bool,
    pub(crate) user_namespace: bool,
    pub(crate) scoped: bool,
    /// Whether the home directory is hidden.
    pub(crate) hides_home: bool,
    /// Whether caches can be covered with a layer of the program's own.
    pub(crate) overlays: bool,
    /// Whether processes are counted by a cgroup, and whether memory is.
    pub(crate) cgroup: Option<bool>,
}

impl SandboxReport {
    /// A name for it.
    pub fn name(&self) -> String {
        match self.backend {
            SandboxBackend::Bubblewrap => "bubblewrap".to_owned(),
            SandboxBackend::Landlock { abi } => format!("Landlock (version {abi}) with seccomp"),
            SandboxBackend::None => "none".to_owned(),
        }
    }

    pub(crate) fn new(backend: SandboxBackend, found: ProbeFindings, reasons: Vec<String>) -> SandboxReport {
        let mut report = SandboxReport { backend, enforced: Vec::new(), not_enforced: Vec::new(), reasons };
        match backend {
            SandboxBackend::Bubblewrap => report.bubblewrap(found),
            SandboxBackend::Landlock { abi } => report.landlock(abi, found),
            SandboxBackend::None => {
                report.add_not_enforced(
                    "Nothing confines a program on this machine, so Ostler runs none without asking.",
                );
                return report;
            }
        }
        report.limits(found);
        report
    }

    fn bubblewrap(&mut self, found: ProbeFindings) {
        self.add_enforced(
            "Files outside the workspace and the private /tmp, /var/tmp, /run and /dev/shm are read-only.",
        );
        self.add_enforced(
            "Git hooks and settings and the settings of agents and editors at the top of the workspace are read-only, also \
             where they do not exist yet, and settings and hooks that git is told to look for elsewhere in it. Commands \
             that a program adds to a rebase are taken out again. What it makes under the names of rarer settings, \
             such as .qwen and opencode.json, is removed when it has ended.",
        );
        self.add_enforced(
            "Ostler's data and the usual places of keys, tokens and browser profiles are hidden.",
        );
        self.home(found, "is hidden and in its place is an empty one of the command's own");
        self.add_enforced(
            "Without leave for the network there is only a loopback interface of the sandbox's own.",
        );
        self.add_enforced(
            "Unix sockets cannot be made, so none outside can be reached, unless a profile allows them.",
        );
        self.add_enforced("Other processes cannot be seen, and every process of a command ends with it.");
        self.add_enforced(
            "Capabilities are dropped; mounting, tracing, namespaces, typing into a terminal and files that run as \
             their owner are denied.",
        );
        self.add_not_enforced(
            "A git repository that a command makes inside the workspace has no protected settings. Your own git \
             enters it from the workspace's top once it is added there, so `git status` can run a program that it \
             names. A command after which such settings are found says so, to the model and to you; the search is \
             bounded, and a repository without such settings can still get them later.",
        );
        self.add_not_enforced(
            "In directories below the top of the workspace, settings of agents and editors are protected only where they \
             exist, at most three directories deep, and so many of them.",
        );
        self.add_not_enforced(
            "A command is ended when you or your programs replace something protected while it runs, as `git config` does \
             with git's settings: what protects it is gone from its sandbox then.",
        );
        self.add_not_enforced("A protected path that is a link can be changed while a command runs; it is restored when the command has ended.");
        if !found.user_namespace {
            self.add_not_enforced(
                "There is no user namespace: root in the sandbox is root without capabilities.",
            );
        }
    }

    fn landlock(&mut self, abi: u8, found: ProbeFindings) {
        self.add_enforced(
            "Files outside the workspace and a temporary directory of the command's own cannot be written.",
        );
        self.add_enforced(
            "Ostler's data, /tmp, /run, /dev/shm and the usual places of keys and tokens cannot be read.",
        );
        self.home(found, "cannot be read, and another, empty one is in its place");
        self.add_enforced(
            "Without leave for the network no Internet socket can be made, not even for loopback.",
        );
        self.add_enforced(
            "Unix sockets cannot be made, so none outside can be reached, unless a profile allows them.",
        );
        self.add_enforced(
            "Mounting, tracing, namespaces, typing into a terminal and files that run as their owner are denied.",
        );
        self.add_enforced(
            "Limits, priorities and processors of other processes cannot be changed, and their shared memory and \
             message queues not be used.",
        );
        self.add_enforced("Terminals and devices other than the command's own terminal cannot be opened.");
        self.add_enforced(
            "A command that keeps too much in its temporary directory is ended, and the directory is removed after it.",
        );
        self.add_not_enforced(
            "Git hooks and settings and the settings of agents in the workspace can be changed while a command \
             runs, also where they do not exist; they are restored when it has ended, also after a crash. What you change there meanwhile \
             is undone too. So no command runs in the background, and tool servers only read the workspace; a \
             third-party agent that is confined can change them for as long as it runs.",
        );
        self.add_not_enforced(
            "In directories below the top of the workspace, settings of agents and editors are restored only where they \
             exist, at most three directories deep, and so many of them; what a command makes there stays.",
        );
        self.add_not_enforced(
            "A git repository that a command makes inside the workspace is not restored. Your own git enters it \
             once it is added, so `git status` can run a program that it names; a command after which such \
             settings are found says so, to the model and to you.",
        );
        self.add_not_enforced(
            "The names of hidden files can be listed, and the mode and times of the user's own files changed, also \
             outside the workspace. Modes of Ostler's data and of the usual places of keys are restored when a \
             command has ended; until then other users of this machine could read what was opened to them. Nothing can be \
             made writable for everybody.",
        );
        self.add_not_enforced(
            "Other processes and their arguments can be seen, though not their memory or environment.",
        );
        self.add_not_enforced(
            "Programs that need a new terminal, POSIX or System V shared memory, or threads bound to processors fail: \
             `script`, Python's multiprocessing, PostgreSQL.",
        );
        self.add_not_enforced("Processes that leave their session are killed by Ostler's helper, not by the kernel: not if it is killed.");
        if !found.scoped {
            self.add_not_enforced(
                "This kernel's Landlock cannot keep a command from signalling the user's other processes.",
            );
        }
        if abi < LANDLOCK_WITH_TCP {
            self.add_not_enforced(
                "This kernel's Landlock cannot close TCP ports; seccomp alone denies the network.",
            );
        }
    }

    fn home(&mut self, found: ProbeFindings, how: &str) {
        if !found.hides_home {
            return self.add_not_enforced("Your home directory can be read, but for the usual places of keys and tokens (sandbox.home).");
        }
        let written = match found.overlays {
            true => "what a command writes there is its own and goes with it",
            false => "they cannot be written",
        };
        self.add_enforced(&format!(
            "Your home directory {how}. Toolchains in it can be read, and so can the caches of package managers; {written}."
        ));
        if !found.overlays {
            self.add_not_enforced("Programs that must write to the cache of a package manager fail.");
        }
    }

    fn limits(&mut self, found: ProbeFindings) {
        self.add_enforced("Each process has limits on its memory, its open files and the size of a file, and dumps no core.");
        match found.cgroup {
            Some(true) => {
                self.add_enforced("A cgroup limits the processes and the memory of a command as a whole.")
            }
            Some(false) => {
                self.add_enforced("A cgroup limits the processes of a command as a whole.");
                self.add_not_enforced("Memory is limited for each process, not for a command as a whole.");
            }
            None => {
                self.add_not_enforced("Memory is limited for each process, not for a command as a whole: no cgroup can be made.");
                if found.is_root {
                    self.add_not_enforced("The number of processes is not limited: that takes a cgroup where Ostler runs as root.");
                } else {
                    self.add_enforced("The number of processes is limited for the user.");
                }
            }
        }
        if found.is_root {
            self.add_not_enforced(
                "Ostler runs as root: commands are root without capabilities, so they own root's files, and not \
                 those of others in the workspace.",
            );
        }
    }

    fn add_enforced(&mut self, sentence: &str) {
        self.enforced.push(sentence.to_owned());
    }

    fn add_not_enforced(&mut self, sentence: &str) {
        self.not_enforced.push(sentence.to_owned());
    }
}
