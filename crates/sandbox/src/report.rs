//! What the sandbox does on this machine and what it does not, in plain sentences. It claims only what
//! the probe has seen working.

use crate::ruleset;

/// What confines programs here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
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
pub struct Report {
    /// What is used.
    pub backend: Backend,
    /// What a confined program cannot do, a sentence each.
    pub enforced: Vec<String>,
    /// What it can do all the same, a sentence each.
    pub not_enforced: Vec<String>,
    /// Why something stronger is not used, and what would help.
    pub reasons: Vec<String>,
}

/// What the probe found besides the backend.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Found {
    pub(crate) is_root: bool,
    pub(crate) user_namespace: bool,
    pub(crate) scoped: bool,
    /// Whether processes are counted by a cgroup, and whether memory is.
    pub(crate) cgroup: Option<bool>,
}

impl Report {
    /// A name for it.
    pub fn name(&self) -> String {
        match self.backend {
            Backend::Bubblewrap => "bubblewrap".to_owned(),
            Backend::Landlock { abi } => format!("Landlock (version {abi}) with seccomp"),
            Backend::None => "none".to_owned(),
        }
    }

    pub(crate) fn new(backend: Backend, found: Found, reasons: Vec<String>) -> Report {
        let mut report = Report { backend, enforced: Vec::new(), not_enforced: Vec::new(), reasons };
        match backend {
            Backend::Bubblewrap => report.bubblewrap(found),
            Backend::Landlock { abi } => report.landlock(abi, found),
            Backend::None => {
                report.gap("Nothing confines a program on this machine, so Ostler runs none without asking.");
                return report;
            }
        }
        report.limits(found);
        report
    }

    fn bubblewrap(&mut self, found: Found) {
        self.holds(
            "Files outside the workspace and the private /tmp, /var/tmp, /run and /dev/shm are read-only.",
        );
        self.holds(
            "Git hooks and settings and the settings of agents and editors at the top of the workspace are read-only, also \
             where they do not exist yet.",
        );
        self.holds("Ostler's data and the usual places of keys, tokens and browser profiles are hidden.");
        self.holds("Without leave for the network there is only a loopback interface of the sandbox's own.");
        self.holds(
            "Unix sockets cannot be made, so none outside can be reached, unless a profile allows them.",
        );
        self.holds("Other processes cannot be seen, and every process of a command ends with it.");
        self.holds(
            "Capabilities are dropped; mounting, tracing, namespaces and typing into a terminal are denied.",
        );
        self.gap(
            "A git repository that a command makes inside the workspace, or one more than three directories deep, \
             has no protected settings. Your own git enters it from the workspace's top once it is added there, \
             so `git status` can run a program that it names. A command after which such settings are found \
             says so; a repository without them can still get them later, or be too deep to be found.",
        );
        self.gap(
            "The settings of agents and editors are protected at the top of the workspace, not in directories below.",
        );
        self.gap("A protected path that is a link is put back after a command, not held while it runs.");
        if !found.user_namespace {
            self.gap("There is no user namespace: root in the sandbox is root without capabilities.");
        }
    }

    fn landlock(&mut self, abi: u8, found: Found) {
        self.holds(
            "Files outside the workspace and a temporary directory of the command's own cannot be written.",
        );
        self.holds("Ostler's data, /tmp, /run and the usual places of keys and tokens cannot be read.");
        self.holds("Without leave for the network no Internet socket can be made, not even for loopback.");
        self.holds(
            "Unix sockets cannot be made, so none outside can be reached, unless a profile allows them.",
        );
        self.holds("Mounting, tracing, namespaces and typing into a terminal are denied.");
        self.gap(
            "Git hooks and settings and the settings of agents in the workspace can be changed while a command \
             runs; they are put back when it has ended.",
        );
        self.gap(
            "A git repository that a command makes inside the workspace is not put back. Your own git enters it \
             once it is added, so `git status` can run a program that it names; a command after which such \
             settings are found says so.",
        );
        self.gap("The names of hidden files can be listed, and the mode and times of the user's own files changed.");
        self.gap("Other processes and their arguments can be seen, though not their memory or environment.");
        self.gap("/dev/shm is shared with the machine.");
        self.gap("Processes that leave their session are killed by Ostler's helper, not by the kernel: not if it is killed.");
        if !found.scoped {
            self.gap(
                "This kernel's Landlock cannot keep a command from signalling the user's other processes.",
            );
        }
        if abi < ruleset::WITH_TCP {
            self.gap("This kernel's Landlock cannot close TCP ports; seccomp alone denies the network.");
        }
    }

    fn limits(&mut self, found: Found) {
        self.holds("Each process has limits on its memory, its open files and the size of a file, and dumps no core.");
        match found.cgroup {
            Some(true) => self.holds("A cgroup limits the processes and the memory of a command as a whole."),
            Some(false) => {
                self.holds("A cgroup limits the processes of a command as a whole.");
                self.gap("Memory is limited for each process, not for a command as a whole.");
            }
            None => {
                self.gap("Memory is limited for each process, not for a command as a whole: no cgroup can be made.");
                if found.is_root {
                    self.gap("The number of processes is not limited: that takes a cgroup where Ostler runs as root.");
                } else {
                    self.holds("The number of processes is limited for the user.");
                }
            }
        }
        if found.is_root {
            self.gap(
                "Ostler runs as root: commands are root without capabilities, so they own root's files, and not \
                 those of others in the workspace.",
            );
        }
    }

    fn holds(&mut self, sentence: &str) {
        self.enforced.push(sentence.to_owned());
    }

    fn gap(&mut self, sentence: &str) {
        self.not_enforced.push(sentence.to_owned());
    }
}
