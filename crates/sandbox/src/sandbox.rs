//! The sandbox of this machine: made once by probing, then asked for commands.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_process::{Invocation, PreparedCommand, Program};
use ostler_sandbox_helper::{
    CONFINE_COMMAND, ConfineOrder, EnvironmentVariable, INNER_HELPER, LEASE_FILE, LandlockRules, OwnHome,
    PRIVATE_DIRECTORIES, ProcessLimits, SUPERVISE_COMMAND, SavedModes, SuperviseOrder, SyscallFilter,
    TemporaryQuota, write_environment,
};
use tempfile::TempDir;

use crate::cgroup::Cgroups;
use crate::confinement::{AbandonedSandboxes, Confinement, SandboxParts, TEMPORARY};
use crate::embedded_repositories::EmbeddedRepositories;
use crate::error::SandboxError;
use crate::helper_image::HelperImage;
use crate::home::{self, HomePlaces};
use crate::layout::SandboxLayout;
use crate::mounts;
use crate::placeholders;
use crate::probe::{self, ConfinementMethod};
use crate::profile::{SandboxLimits, SandboxProfile};
use crate::protected_paths::{MissingPathAction, ResolvedProtectedPath};
use crate::report::{SandboxBackend, SandboxReport};
use crate::run_directory::RunDirectory;
use crate::shared_snapshot::{self, SnapshotRequest, SnapshotShares};

/// The name of the file with a program's environment, in a sandbox's own directory.
const ENVIRONMENT_FILE: &str = "environment";

/// How often a workspace is looked at while commands are started beside it.
const MAXIMUM_LAYOUT_ATTEMPTS: usize = 64;

/// What the sandbox has to know of this installation. Nothing of it is read from the environment.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// The user's home directory, in which the places of secrets are known.
    pub home: PathBuf,
    /// Ostler's own data, which no program sees.
    pub data_dir: PathBuf,
    /// A directory of Ostler's own for what lives as long as a command. It is made if it is missing.
    pub scratch: PathBuf,
    /// The program that leads to [`crate::run_helper`], for machines on which the embedded helper cannot be started.
    pub helper: Program,
    /// The arguments that lead there, as in `ostler sandbox-helper`.
    pub helper_arguments: Vec<OsString>,
    /// What is hidden from every program.
    pub hidden: Vec<PathBuf>,
    /// Whether programs see nothing of the home directory but toolchains and caches.
    pub hides_home: bool,
    /// Places that every program may read though they would be hidden.
    pub readable: Vec<PathBuf>,
    /// Where programs look for others; directories in the home directory stay readable.
    pub search_path: Vec<PathBuf>,
    /// What may be used.
    pub backend_choice: BackendChoice,
    /// Whether to try anew what was found to work before.
    pub ignore_cached_probe: bool,
}

/// What a probe may settle for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendChoice {
    /// The best that works.
    Best,
    /// Bubblewrap or nothing.
    Bubblewrap,
    /// Landlock or nothing.
    Landlock,
}

/// Confines programs. Cheap to clone; all clones share what is in use.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<SandboxInner>);

#[derive(Debug)]
struct SandboxInner {
    settings: SandboxSettings,
    method: Option<ConfinementMethod>,
    helper: HelperImage,
    report: SandboxReport,
    cgroups: Option<Cgroups>,
    run: Mutex<Option<Arc<RunDirectory>>>,
    abandoned: AbandonedSandboxes,
    /// The directories that programs could write so far.
    opened_directories: Mutex<BTreeSet<PathBuf>>,
}

/// A program that is ready to be given an environment, and to be prepared for its start.
#[derive(Debug)]
pub struct ConfinedCommand {
    invocation: Invocation,
    confinement: Confinement,
    variables: Vec<EnvironmentVariable>,
    /// Where they are written.
    environment: PathBuf,
}

impl ConfinedCommand {
    fn new(invocation: Invocation, parts: SandboxParts, leftovers: AbandonedSandboxes) -> ConfinedCommand {
        let environment = parts.directory.path().join(ENVIRONMENT_FILE);
        let confinement = Confinement::new(parts, leftovers);
        ConfinedCommand { invocation, confinement, variables: Vec::new(), environment }
    }

    /// Gives the program these variables, whatever they do: they are set inside the sandbox, just before the
    /// program starts there.
    #[must_use]
    pub fn envs(
        mut self,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl Into<OsString>)>,
    ) -> ConfinedCommand {
        let variables = variables.into_iter().map(|(name, value)| (name.as_ref().to_owned(), value.into()));
        self.variables.extend(variables);
        self
    }

    /// The command, whose pipes are left to choose, and what is to be kept until its process is reaped. The
    /// process ends when nothing of the sandbox is left, with the program's code, or 128 and the number of the
    /// signal that ended it.
    pub fn prepare(self) -> (PreparedCommand, Confinement) {
        // A helper that finds no environment says so and runs nothing.
        let _ = write_environment(&self.environment, &self.variables);
        let mut command = self.invocation.prepare();
        // The confinement ends it, in order: a helper that is killed cannot see to what is left of the sandbox.
        command.detach();
        (command, self.confinement)
    }
}

impl Sandbox {
    /// Finds out what this machine can do, by running a program in each way until one works.
    pub async fn probe(settings: SandboxSettings) -> Sandbox {
        probe::run(settings, true).await
    }

    /// The same where programs cannot be started from memory: with the helper of the settings alone.
    pub async fn probe_without_embedded_helper(settings: SandboxSettings) -> Sandbox {
        probe::run(settings, false).await
    }

    /// What is enforced here and what is not.
    pub fn report(&self) -> &SandboxReport {
        &self.0.report
    }

    /// What it was given to know of this installation.
    pub fn settings(&self) -> &SandboxSettings {
        &self.0.settings
    }

    /// What programs see of the user's home directory, where they see nothing else of it.
    pub fn home_places(&self) -> Option<HomePlaces> {
        let settings = &self.0.settings;
        let home = settings.home.canonicalize().ok().filter(|_| settings.hides_home)?;
        Some(HomePlaces::find(&home, &settings.search_path))
    }

    /// Whether anything confines programs here.
    pub fn is_available(&self) -> bool {
        self.0.report.backend != SandboxBackend::None
    }

    /// Whether protected paths stay as they are while a program runs. Where they do not, they are restored when
    /// it ends, which is too late for one that runs for hours in a workspace that it may write to.
    pub fn holds_protected_paths(&self) -> bool {
        match self.0.report.backend {
            SandboxBackend::Bubblewrap => true,
            SandboxBackend::Landlock { .. } | SandboxBackend::None => false,
        }
    }

    /// Prepares a program to run as the profile says. Looks at the workspace and may put placeholders
    /// there, so it takes a few milliseconds of file system calls. A program that is not found is found
    /// out by running it: then the command ends with 127.
    pub fn command(
        &self,
        profile: &SandboxProfile,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<ConfinedCommand, SandboxError> {
        let inner = &*self.0;
        let means =
            inner.method.as_ref().ok_or_else(|| SandboxError::Unavailable(inner.report.reasons.join(" ")))?;
        inner.abandoned.sweep();
        let layout = inner.layout(profile)?;
        inner.opened().extend(layout.writable.iter().cloned());
        let parts = inner.parts(means, &layout, profile)?;
        let mut words = inner.supervise_order(means, &layout, profile, &parts)?;
        words.extend(inner.confine_command(means, &layout, profile, &parts)?);
        words.push(program.as_ref().to_owned());
        words.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        let invocation = inner.helper().args(words);
        Ok(ConfinedCommand::new(invocation, parts, inner.abandoned.clone()))
    }

    /// Prepares a program to run in a directory as it is, with nothing confined: only that nothing which it
    /// starts outlives it, or this process, however that ends. Works wherever the helper does.
    pub fn unconfined_command(
        &self,
        directory: &Path,
        program: &Program,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<ConfinedCommand, SandboxError> {
        let inner = &*self.0;
        inner.abandoned.sweep();
        let (own, run) = inner.command_directory()?;
        let (shares, lease) = (SnapshotShares::default(), own.path().join(LEASE_FILE));
        let parts = SandboxParts {
            directory: own,
            run,
            placeholders: None,
            snapshot_shares: shares,
            cgroup: None,
            repositories: None,
        };
        let parent = std::process::id();
        let environment = parts.directory.path().join(ENVIRONMENT_FILE);
        let (cgroup, mounts, quota, tops) = (None, None, None, Vec::new());
        let order =
            SuperviseOrder { parent, lease, cgroup, mounts, tops, environment, confines: false, quota };
        let invocation = inner.helper().args([SUPERVISE_COMMAND.into(), json_argument(&order)?, "--".into()]);
        let invocation = invocation.args([program.path()]).args(arguments).current_dir(directory);
        Ok(ConfinedCommand::new(invocation, parts, inner.abandoned.clone()))
    }

    /// The directories that confined programs could write since this was made, workspaces included.
    pub fn opened_directories(&self) -> Vec<PathBuf> {
        self.0.opened().iter().cloned().collect()
    }

    /// Cleans up after sandboxes that were let go of before they had ended. Every new command does so
    /// too; a daemon calls it before it stops.
    pub fn clean_up_abandoned(&self) {
        self.0.abandoned.sweep();
        if let Some(cgroups) = &self.0.cgroups {
            cgroups.remove_stale();
        }
    }

    pub(crate) fn new(
        settings: SandboxSettings,
        means: Option<ConfinementMethod>,
        helper: HelperImage,
        report: SandboxReport,
        cgroups: Option<Cgroups>,
    ) -> Sandbox {
        let (run, leftovers, opened) = (Mutex::default(), AbandonedSandboxes::default(), Mutex::default());
        Sandbox(Arc::new(SandboxInner {
            settings,
            method: means,
            helper,
            report,
            cgroups,
            run,
            abandoned: leftovers,
            opened_directories: opened,
        }))
    }
}

impl SandboxInner {
    /// The helper outside.
    fn helper(&self) -> Invocation {
        let (program, arguments) = self.helper.program(&self.settings);
        Invocation::new(program).args(arguments)
    }

    fn opened(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.opened_directories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A directory for what lives as long as one command, and the one that it is in.
    fn command_directory(&self) -> Result<(TempDir, Arc<RunDirectory>), SandboxError> {
        let failed = |error| SandboxError::Prepare(format!("Making a directory for it: {error}."));
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let run = match &*run {
            Some(run) => Arc::clone(run),
            None => {
                let begun = Arc::new(RunDirectory::begin(&self.settings.scratch).map_err(failed)?);
                Arc::clone(run.insert(begun))
            }
        };
        Ok((run.command_directory().map_err(failed)?, run))
    }

    /// What the profile comes to. A command that was started while this looked at the workspace may have made a
    /// protected link lead elsewhere, so then it looks again.
    fn layout(&self, profile: &SandboxProfile) -> Result<SandboxLayout, SandboxError> {
        for _ in 0..MAXIMUM_LAYOUT_ATTEMPTS {
            let beside = shared_snapshot::concurrent_commands();
            let layout = SandboxLayout::from_profile(profile, &self.settings, &beside.mounted)?;
            if shared_snapshot::concurrent_commands().taken == beside.taken {
                return Ok(layout);
            }
        }
        Err(SandboxError::Prepare("Too many commands are started beside it.".to_owned()))
    }

    /// What must exist before the sandbox starts.
    fn parts(
        &self,
        means: &ConfinementMethod,
        layout: &SandboxLayout,
        profile: &SandboxProfile,
    ) -> Result<SandboxParts, SandboxError> {
        let failed = |what: &str, error: std::io::Error| SandboxError::Prepare(format!("{what}: {error}."));
        let (directory, run) = self.command_directory()?;
        let protected = &layout.protected;
        let cannot_be_mounted = |protected: &&ResolvedProtectedPath| match protected.path.symlink_metadata() {
            Ok(found) => found.is_symlink(),
            Err(_) => protected.if_missing == MissingPathAction::Nothing,
        };
        let (placeholders, kept, modes) = match means {
            ConfinementMethod::Bubblewrap { .. } => {
                let held = placeholders::hold_missing_paths(&run, &protected.mounted);
                let held = held.map_err(|error| failed("Protecting paths that do not exist", error))?;
                (
                    Some(held),
                    protected.mounted.iter().filter(cannot_be_mounted).collect(),
                    SavedModes::default(),
                )
            }
            ConfinementMethod::Landlock { .. } => {
                let is_inside = |path: &&PathBuf| layout.writable.iter().any(|root| path.starts_with(root));
                // Ostler's own first: there is a limit.
                let own = [&self.settings.data_dir, &self.settings.scratch];
                let places = own.into_iter().chain(&layout.secret).chain(&layout.hidden);
                (
                    None,
                    protected.snapshotted.iter().collect(),
                    SavedModes::from_paths(places.filter(|path| !is_inside(path))),
                )
            }
        };
        // Programs that share their state but not their workspace have nothing protected in common.
        let holds_state = |path: &&PathBuf| layout.state.contains(path);
        let roots: Vec<PathBuf> = layout.writable.iter().filter(|path| !holds_state(path)).cloned().collect();
        let mounted = &protected.mounted;
        let wanted = SnapshotRequest {
            roots: &roots,
            protected: kept,
            mounted,
            repositories: &protected.repositories,
            modes,
        };
        let shares = SnapshotShares::take(&run, wanted)
            .map_err(|error| failed("Keeping the protected files", error))?;
        let cgroup = self.cgroups.as_ref().map(|cgroups| cgroups.make(&profile.limits)).transpose();
        let cgroup = cgroup.map_err(|error| failed("Making a cgroup", error))?;
        // A mount makes it otherwise.
        if matches!(means, ConfinementMethod::Landlock { .. }) {
            let made = std::fs::create_dir(directory.path().join(TEMPORARY));
            made.map_err(|error| failed("Making its /tmp", error))?;
        }
        let repositories = layout
            .writable
            .contains(&layout.workspace)
            .then(|| EmbeddedRepositories::scan(&layout.workspace, Arc::clone(&layout.protected.nested)));
        Ok(SandboxParts { directory, run, placeholders, snapshot_shares: shares, cgroup, repositories })
    }

    /// What the helper outside is told.
    fn supervise_order(
        &self,
        means: &ConfinementMethod,
        layout: &SandboxLayout,
        profile: &SandboxProfile,
        parts: &SandboxParts,
    ) -> Result<Vec<OsString>, SandboxError> {
        let order = SuperviseOrder {
            parent: std::process::id(),
            lease: parts.directory.path().join(LEASE_FILE),
            cgroup: parts.cgroup.as_ref().map(crate::cgroup::Cgroup::join),
            mounts: matches!(means, ConfinementMethod::Bubblewrap { .. })
                .then(|| mounts::expected_mounts(layout)),
            tops: layout.writable.iter().filter(|path| path.is_dir()).cloned().collect(),
            environment: parts.directory.path().join(ENVIRONMENT_FILE),
            confines: true,
            quota: matches!(means, ConfinementMethod::Landlock { .. }).then(|| TemporaryQuota {
                directory: parts.directory.path().join(TEMPORARY),
                bytes: profile.limits.tmp_bytes,
            }),
        };
        Ok(vec![SUPERVISE_COMMAND.into(), json_argument(&order)?, "--".into()])
    }

    /// What the helper outside starts, up to the program.
    fn confine_command(
        &self,
        means: &ConfinementMethod,
        layout: &SandboxLayout,
        profile: &SandboxProfile,
        parts: &SandboxParts,
    ) -> Result<Vec<OsString>, SandboxError> {
        let (mut words, order) = match means {
            ConfinementMethod::Bubblewrap { program, user_namespace, scoped, overlays } => {
                let mut words = vec![program.clone().into_os_string()];
                words.extend(mounts::bubblewrap_arguments(layout, profile, *user_namespace, *overlays));
                let mut order = confine_order(layout, profile, "/tmp".into());
                order.caches = if *overlays { layout.caches.clone() } else { Vec::new() };
                order.proc_read_only = mounts::proc_is_read_only(profile);
                order.home = layout.home.as_ref().map(|home| own_home(layout, home, home.clone()));
                order.scoped = *scoped && !profile.may_nest_sandboxes;
                order.filter.internet_sockets = true;
                order.waits_at_gate = true;
                (words, order)
            }
            ConfinementMethod::Landlock { abi, scoped } => {
                let mut order = confine_order(layout, profile, parts.directory.path().join(TEMPORARY));
                order.rules = Some(landlock_rules(layout, profile, *abi, &order.temporary)?);
                order.home =
                    layout.home.as_ref().map(|home| own_home(layout, home, order.temporary.join("home")));
                order.scoped = *scoped;
                order.shared_process_count = true;
                order.filter.shares_processes = true;
                order.filter.keeps_attributes = true;
                (Vec::new(), order)
            }
        };
        words.push(INNER_HELPER.into());
        words.extend(self.helper.program(&self.settings).1);
        words.extend([CONFINE_COMMAND.into(), json_argument(&order)?, "--".into()]);
        Ok(words)
    }
}

fn confine_order(layout: &SandboxLayout, profile: &SandboxProfile, temporary: PathBuf) -> ConfineOrder {
    let identities = layout.identities.clone();
    ConfineOrder {
        identities,
        current_dir: layout.current_dir.clone(),
        temporary,
        terminal: profile.terminal,
        limits: process_limits(&profile.limits),
        shared_process_count: false,
        rules: None,
        home: None,
        caches: Vec::new(),
        proc_read_only: false,
        scoped: false,
        filter: SyscallFilter {
            internet_sockets: profile.network,
            unix_sockets: profile.unix_sockets,
            namespaces: profile.may_nest_sandboxes,
            shares_processes: false,
            keeps_attributes: false,
        },
        waits_at_gate: false,
    }
}

fn process_limits(limits: &SandboxLimits) -> ProcessLimits {
    let SandboxLimits { processes, open_files, file_bytes, memory_bytes, address_bytes, tmp_bytes } = *limits;
    ProcessLimits { processes, open_files, file_bytes, memory_bytes, address_bytes, cache_bytes: tmp_bytes }
}

/// The home directory that a program has for itself, at `own`, in place of the user's.
fn own_home(layout: &SandboxLayout, real: &Path, own: PathBuf) -> OwnHome {
    let is_moved = own != real;
    let variables = if is_moved { home::toolchain_variables(real) } else { Vec::new() };
    let variables = variables.into_iter().map(|(name, path)| (name.to_owned(), path)).collect();
    let below = |path: &PathBuf| Some((path.strip_prefix(real).ok()?.to_owned(), path.clone()));
    let links = layout.state.iter().filter(|_| is_moved).filter_map(below).collect();
    let (real, git_configuration) = (real.to_owned(), home::git_configuration(real));
    OwnHome { path: own, real, links, git_configuration, variables }
}

fn landlock_rules(
    layout: &SandboxLayout,
    profile: &SandboxProfile,
    abi: u8,
    temporary: &Path,
) -> Result<LandlockRules, SandboxError> {
    let holds_hidden = |open: &&PathBuf| layout.hidden.iter().any(|hidden| hidden.starts_with(open));
    if let Some(path) = layout.writable.iter().find(holds_hidden) {
        let reason = "Something inside it is to be hidden, which Landlock cannot do.";
        return Err(SandboxError::Unfit { path: path.clone(), reason });
    }
    let mut writable = layout.writable.clone();
    writable.push(temporary.to_owned());
    let mut hidden = layout.hidden.clone();
    hidden.extend(PRIVATE_DIRECTORIES.iter().filter_map(|path| PathBuf::from(path).canonicalize().ok()));
    Ok(LandlockRules { abi, writable, readable: layout.readable.clone(), hidden, network: profile.network })
}

fn json_argument(order: &impl serde::Serialize) -> Result<OsString, SandboxError> {
    let text = serde_json::to_string(order);
    text.map(OsString::from).map_err(|error| SandboxError::Prepare(format!("A path is not UTF-8: {error}.")))
}
