//! The sandbox of this machine: made once by probing, then asked for commands.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::process::Command;

use crate::cgroup::Cgroups;
use crate::confinement::{Confinement, LEASE, Leftovers, Parts};
use crate::embedded::Embedded;
use crate::error::SandboxError;
use crate::helper::{CONFINE, SUPERVISE};
use crate::layout::{Layout, PRIVATE};
use crate::mounts;
use crate::orders::{Confine, Filter, Rules, Supervise};
use crate::placeholders::Placeholders;
use crate::probe::{self, Means};
use crate::profile::Profile;
use crate::report::{Backend, Report};
use crate::snapshot::Snapshot;

/// What the sandbox has to know of this installation. Nothing of it is read from the environment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The user's home directory, in which the places of secrets are known.
    pub home: PathBuf,
    /// Ostler's own data, which no program sees.
    pub data_dir: PathBuf,
    /// A directory of Ostler's own for what lives as long as a command. It is made if it is missing.
    pub scratch: PathBuf,
    /// The program and the arguments that lead to [`crate::run_helper`], as in `ostler sandbox-helper`.
    /// The program by its absolute path.
    pub helper: Vec<OsString>,
    /// What is hidden from every program.
    pub hidden: Vec<PathBuf>,
    /// What may be used.
    pub choice: Choice,
    /// Whether to try anew what was found to work before.
    pub anew: bool,
}

/// What a probe may settle for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The best that works.
    Best,
    /// Bubblewrap or nothing.
    Bubblewrap,
    /// Landlock or nothing.
    Landlock,
}

/// Confines programs. Cheap to clone; all clones share what is in use.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    means: Option<Means>,
    report: Report,
    cgroups: Option<Cgroups>,
    placeholders: Placeholders,
    leftovers: Leftovers,
}

/// A command that is ready to be given an environment and pipes, and to be spawned.
#[derive(Debug)]
pub struct Confined {
    /// Its environment is empty and it reads nothing. Add to it, but change neither its program nor its
    /// directory. Its process ends when nothing of the sandbox is left, with the program's code, or
    /// 128 and the number of the signal that ended it.
    pub command: Command,
    /// To be kept until the process is reaped.
    pub confinement: Confinement,
}

impl Sandbox {
    /// Finds out what this machine can do, by running a program in each way until one works.
    pub async fn probe(settings: Settings) -> Sandbox {
        probe::run(settings).await
    }

    /// What is enforced here and what is not.
    pub fn report(&self) -> &Report {
        &self.0.report
    }

    /// What it was given to know of this installation.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Whether anything confines programs here.
    pub fn is_available(&self) -> bool {
        self.0.report.backend != Backend::None
    }

    /// Prepares a program to run as the profile says. Looks at the workspace and may put placeholders
    /// there, so it takes a few milliseconds of file system calls. A program that is not found is found
    /// out by running it: then the command ends with 127.
    pub fn command(
        &self,
        profile: &Profile,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Confined, SandboxError> {
        let inner = &*self.0;
        let means =
            inner.means.as_ref().ok_or_else(|| SandboxError::Unavailable(inner.report.reasons.join(" ")))?;
        inner.leftovers.sweep();
        let layout = Layout::of(profile, &inner.settings)?;
        let parts = inner.parts(means, &layout, profile)?;
        let mut words = inner.supervise(means, &parts)?;
        words.extend(inner.confine(means, &layout, profile, &parts)?);
        words.push(program.as_ref().to_owned());
        words.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().stdin(Stdio::null()).current_dir("/");
        Ok(Confined { command, confinement: Confinement::new(parts, inner.leftovers.clone()) })
    }

    /// Prepares a program to run in a directory as it is, with nothing confined: only that nothing which it
    /// starts outlives it, or this process, however that ends. Works wherever the helper does.
    pub fn attended(
        &self,
        directory: &Path,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Confined, SandboxError> {
        let inner = &*self.0;
        inner.leftovers.sweep();
        let own = inner.own_directory()?;
        let (snapshot, lease) = (Snapshot::default(), own.path().join(LEASE));
        let parts = Parts { directory: own, placeholders: None, snapshot, cgroup: None, repositories: None };
        let order = Supervise { parent: std::process::id(), lease, cgroup: None, has_gate: false };
        let mut command = Command::new(&inner.settings.helper[0]);
        command.args(&inner.settings.helper[1..]).args([SUPERVISE.into(), json(&order)?, "--".into()]);
        command.arg(program).args(arguments).env_clear().stdin(Stdio::null()).current_dir(directory);
        Ok(Confined { command, confinement: Confinement::new(parts, inner.leftovers.clone()) })
    }

    /// Cleans up after sandboxes that were let go of before they had ended. Every new command does so
    /// too; a daemon calls it before it stops.
    pub fn sweep(&self) {
        self.0.leftovers.sweep();
        if let Some(cgroups) = &self.0.cgroups {
            cgroups.remove_stale();
        }
    }

    pub(crate) fn new(
        settings: Settings,
        means: Option<Means>,
        report: Report,
        cgroups: Option<Cgroups>,
    ) -> Sandbox {
        let (placeholders, leftovers) = (Placeholders::default(), Leftovers::default());
        Sandbox(Arc::new(Inner { settings, means, report, cgroups, placeholders, leftovers }))
    }
}

impl Inner {
    /// A directory for what lives as long as one command.
    fn own_directory(&self) -> Result<TempDir, SandboxError> {
        let scratch = &self.settings.scratch;
        let made = std::fs::create_dir_all(scratch)
            .and_then(|()| tempfile::Builder::new().prefix("sandbox-").tempdir_in(scratch));
        made.map_err(|error| SandboxError::Prepare(format!("Making a directory for it: {error}.")))
    }

    /// What must exist before the sandbox starts.
    fn parts(&self, means: &Means, layout: &Layout, profile: &Profile) -> Result<Parts, SandboxError> {
        let failed = |what: &str, error: std::io::Error| SandboxError::Prepare(format!("{what}: {error}."));
        let directory = self.own_directory()?;
        let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let (placeholders, kept): (_, Vec<_>) = match means {
            Means::Bubblewrap { .. } => {
                let held = self.placeholders.hold(&layout.protected);
                let held = held.map_err(|error| failed("Protecting paths that do not exist", error))?;
                (Some(held), layout.protected.iter().filter(|protected| is_link(&protected.path)).collect())
            }
            Means::Landlock { .. } => (None, layout.protected.iter().collect()),
        };
        let snapshot =
            Snapshot::take(kept.into_iter()).map_err(|error| failed("Keeping the protected files", error))?;
        // Its name is as random as the directory's.
        let name = directory.path().file_name().unwrap_or_default().display().to_string();
        let cgroup = self.cgroups.as_ref().map(|cgroups| cgroups.make(&name, &profile.limits)).transpose();
        let cgroup = cgroup.map_err(|error| failed("Making a cgroup", error))?;
        std::fs::create_dir(directory.path().join("tmp"))
            .map_err(|error| failed("Making its /tmp", error))?;
        let repositories = layout
            .writable
            .contains(&layout.workspace)
            .then(|| Embedded::look(&layout.workspace, Arc::clone(&layout.nested)));
        Ok(Parts { directory, placeholders, snapshot, cgroup, repositories })
    }

    /// The helper outside.
    fn supervise(&self, means: &Means, parts: &Parts) -> Result<Vec<OsString>, SandboxError> {
        let order = Supervise {
            parent: std::process::id(),
            lease: parts.directory.path().join(LEASE),
            cgroup: parts.cgroup.as_ref().map(crate::cgroup::Cgroup::join),
            has_gate: matches!(means, Means::Bubblewrap { .. }),
        };
        let mut words = self.settings.helper.clone();
        words.extend([SUPERVISE.into(), json(&order)?, "--".into()]);
        Ok(words)
    }

    /// What the helper outside starts, up to the program.
    fn confine(
        &self,
        means: &Means,
        layout: &Layout,
        profile: &Profile,
        parts: &Parts,
    ) -> Result<Vec<OsString>, SandboxError> {
        let (mut words, helper, order) = match means {
            Means::Bubblewrap { program, user_namespace, scoped } => {
                let helper = PathBuf::from(&self.settings.helper[0]);
                let mut words = vec![program.clone().into_os_string()];
                words.extend(mounts::arguments(layout, profile, &helper, *user_namespace));
                let mut order = order(layout, profile, "/tmp".into());
                order.scoped = *scoped && !profile.nested;
                order.filter.internet_sockets = true;
                (words, mounts::HELPER.into(), order)
            }
            Means::Landlock { abi, scoped } => {
                let mut order = order(layout, profile, parts.directory.path().join("tmp"));
                order.rules = Some(rules(layout, profile, *abi, &order.temporary)?);
                order.scoped = *scoped;
                order.shared_process_count = true;
                (Vec::new(), self.settings.helper[0].clone(), order)
            }
        };
        words.push(helper);
        words.extend(self.settings.helper[1..].iter().cloned());
        words.extend([CONFINE.into(), json(&order)?, "--".into()]);
        Ok(words)
    }
}

fn order(layout: &Layout, profile: &Profile, temporary: PathBuf) -> Confine {
    let identities = layout.identities.clone();
    Confine {
        identities,
        current_dir: layout.current_dir.clone(),
        temporary,
        terminal: profile.terminal,
        limits: profile.limits.clone(),
        shared_process_count: false,
        rules: None,
        scoped: false,
        filter: Filter {
            internet_sockets: profile.network,
            unix_sockets: profile.unix_sockets,
            namespaces: profile.nested,
        },
    }
}

fn rules(layout: &Layout, profile: &Profile, abi: u8, temporary: &Path) -> Result<Rules, SandboxError> {
    let holds_hidden = |open: &&PathBuf| layout.hidden.iter().any(|hidden| hidden.starts_with(open));
    if let Some(path) = layout.writable.iter().find(holds_hidden) {
        let reason = "Something inside it is to be hidden, which Landlock cannot do.";
        return Err(SandboxError::Unfit { path: path.clone(), reason });
    }
    let mut writable = layout.writable.clone();
    writable.push(temporary.to_owned());
    let mut hidden = layout.hidden.clone();
    let private = PRIVATE.iter().filter(|path| **path != "/dev/shm");
    hidden.extend(private.filter_map(|path| PathBuf::from(path).canonicalize().ok()));
    Ok(Rules { abi, writable, readable: layout.readable.clone(), hidden, network: profile.network })
}

fn json(order: &impl serde::Serialize) -> Result<OsString, SandboxError> {
    let text = serde_json::to_string(order);
    text.map(OsString::from).map_err(|error| SandboxError::Prepare(format!("A path is not UTF-8: {error}.")))
}
