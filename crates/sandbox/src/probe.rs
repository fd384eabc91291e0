//! Finds out what works here, by running a program exactly as later ones are run.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_sandbox_helper::{
    LANDLOCK_OLDEST, LANDLOCK_WITH_SCOPES, RECOVERY_TIMEOUT, landlock_version, recover,
};
use rustix::process::geteuid;

use crate::cgroup::Cgroups;
use crate::helper_image::HelperImage;
use crate::probe_cache;
use crate::profile::SandboxProfile;
use crate::report::{ProbeFindings, SandboxBackend, SandboxReport};
use crate::sandbox::{BackendChoice, Sandbox, SandboxSettings};

/// Where bubblewrap is installed. It is not looked for in PATH, which a project may change.
const BUBBLEWRAP: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// How long a try may take.
const TRY_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a failed try is told.
const MAXIMUM_REASON_BYTES: usize = 400;

/// How programs are confined here.
#[derive(Debug, Clone)]
pub(crate) enum ConfinementMethod {
    Bubblewrap { program: PathBuf, user_namespace: bool, scoped: bool, overlays: bool },
    Landlock { abi: u8, scoped: bool },
}

/// Tries one means after the other.
pub(crate) async fn run(settings: SandboxSettings, may_embed: bool) -> Sandbox {
    let scratch = settings.scratch.clone();
    let recovery = tokio::task::spawn_blocking(move || recover(&scratch, RECOVERY_TIMEOUT));
    // What breaks down here is tried again at the next start.
    let _ = recovery.await;
    let cgroups = Cgroups::probe();
    let mut found = ProbeFindings {
        is_root: geteuid().is_root(),
        hides_home: settings.hides_home,
        cgroup: cgroups.as_ref().map(|cgroups| cgroups.memory),
        ..ProbeFindings::default()
    };
    let mut reasons = Vec::new();
    let candidates = candidates(settings.backend_choice, found.is_root, &mut reasons);
    // Found out only where nothing is remembered.
    let mut helper = None;
    for means in candidates {
        let (backend, name) = match &means {
            ConfinementMethod::Bubblewrap { user_namespace, scoped, overlays, .. } => {
                (found.user_namespace, found.scoped) = (*user_namespace, *scoped);
                found.overlays = *overlays;
                (SandboxBackend::Bubblewrap, "bubblewrap")
            }
            ConfinementMethod::Landlock { abi, scoped } => {
                (found.user_namespace, found.scoped, found.overlays) = (false, *scoped, false);
                (SandboxBackend::Landlock { abi: *abi }, "Landlock")
            }
        };
        let report = SandboxReport::new(backend, found, reasons.clone());
        let known =
            (!settings.ignore_cached_probe).then(|| probe_cache::cached_helper(&settings, &means)).flatten();
        if let Some(helper) = known.filter(|helper| may_embed || *helper == HelperImage::Given) {
            return Sandbox::new(settings, Some(means), helper, report, cgroups);
        }
        let helper = match helper {
            Some(helper) => helper,
            None => *helper.insert(HelperImage::find(may_embed).await),
        };
        // The try runs inside the data directory, where nothing else may.
        let data_dir = settings.scratch.join("nothing");
        let trial = SandboxSettings { data_dir, ..settings.clone() };
        let trial = Sandbox::new(trial, Some(means.clone()), helper, report.clone(), cgroups.clone());
        match try_out(&trial, &settings.scratch).await {
            Ok(()) => {
                probe_cache::store(&settings, &means, helper);
                return Sandbox::new(settings, Some(means), helper, report, cgroups);
            }
            // The same without overlays is tried next, and says why it does not work.
            Err(_) if matches!(means, ConfinementMethod::Bubblewrap { overlays: true, .. }) => {}
            Err(reason) => reasons.push(format!("{name} does not work here: {reason}.")),
        }
    }
    probe_cache::clear(&settings);
    let report = SandboxReport::new(SandboxBackend::None, found, reasons);
    let helper = match helper {
        Some(helper) => helper,
        None => HelperImage::find(may_embed).await,
    };
    Sandbox::new(settings, None, helper, report, cgroups)
}

fn candidates(choice: BackendChoice, is_root: bool, reasons: &mut Vec<String>) -> Vec<ConfinementMethod> {
    let version = landlock_version();
    let scoped = version >= LANDLOCK_WITH_SCOPES;
    let mut candidates = Vec::new();
    if choice != BackendChoice::Landlock {
        match find_bubblewrap() {
            Ok(program) => {
                // Root can do without a user namespace, where containers forbid it.
                let ways = if is_root { &[true, false][..] } else { &[true][..] };
                // Where caches cannot be covered, they are only read.
                let ways = ways.iter().flat_map(|namespace| [(*namespace, true), (*namespace, false)]);
                candidates.extend(ways.map(|(user_namespace, overlays)| ConfinementMethod::Bubblewrap {
                    program: program.clone(),
                    user_namespace,
                    scoped,
                    overlays,
                }));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    if choice != BackendChoice::Bubblewrap {
        if version >= LANDLOCK_OLDEST {
            candidates.push(ConfinementMethod::Landlock { abi: version, scoped });
        } else {
            reasons.push(format!(
                "Landlock is missing or too old (version {version}, {} is needed): use Linux 6.2 or later with Landlock enabled.",
                LANDLOCK_OLDEST
            ));
        }
    }
    candidates
}

/// A bubblewrap that only root can have put there, and that does not itself run as root.
fn find_bubblewrap() -> Result<PathBuf, String> {
    let path = BUBBLEWRAP.iter().map(Path::new).find(|path| path.exists());
    let path = path.ok_or("bubblewrap is not installed: install the package `bubblewrap`.")?;
    let metadata = path.metadata().map_err(|error| format!("{}: {error}.", path.display()))?;
    if metadata.mode() & 0o6000 != 0 {
        return Err(format!("{} is setuid, which Ostler does not use: remove that bit.", path.display()));
    }
    if metadata.uid() != 0 || metadata.mode() & 0o022 != 0 {
        return Err(format!("{} can be changed by others than root.", path.display()));
    }
    Ok(path.to_owned())
}

async fn try_out(sandbox: &Sandbox, scratch: &Path) -> Result<(), String> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch);
    made.map_err(|error| format!("{}: {error}", scratch.display()))?;
    let workspace =
        tempfile::tempdir_in(scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let cache = tempfile::tempdir_in(scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut profile = SandboxProfile::new(workspace.path());
    profile.caches.push(cache.path().to_owned());
    let prepared = sandbox.command(&profile, "/bin/sh", ["-c", "exit 42"]);
    let prepared = prepared.map_err(|error| error.to_string())?;
    let (mut command, confinement) = prepared.envs([("PATH", "/usr/local/bin:/usr/bin:/bin")]).prepare();
    let output = tokio::time::timeout(TRY_TIMEOUT, command.output()).await;
    let output = output.map_err(|_| "it did not end".to_owned())?.map_err(|error| error.to_string())?;
    confinement.finish();
    if output.status.code() == Some(42) {
        return Ok(());
    }
    let told =
        String::from_utf8_lossy(&output.stderr[..output.stderr.len().min(MAXIMUM_REASON_BYTES)]).into_owned();
    Err(format!("{} ({})", told.trim().replace('\n', "; ").trim_end_matches('.'), output.status))
}
