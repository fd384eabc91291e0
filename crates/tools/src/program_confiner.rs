//! Where programs run: in the sandbox, or in the open where somebody has agreed to it, or not at all.
//! It prepares a command; starting it, and what it prints, is left to `process`.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_process::{Invocation, PreparedCommand, ProgramFinder};
use ostler_runner::ToolContext;
use ostler_sandbox::{Confinement, Sandbox, SandboxProfile, WorkspaceAccess};

use crate::hidden_paths::HiddenPaths;
use crate::workspace::Workspace;
use crate::{Failed, prompts};
use ostler_process::{child_environment, terminal_environment};

/// What there is to confine programs with, and what a confined one may do.
#[derive(Debug, Default)]
pub(crate) struct ProgramConfiner {
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) allow_unconfined: bool,
    pub(crate) network: bool,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) hidden_paths: Arc<HiddenPaths>,
    /// The daemon's environment, of which programs are given a part.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Finds programs that nobody named in a command.
    pub(crate) programs: Option<ProgramFinder>,
}

/// A program to run in a workspace.
#[derive(Debug, Clone)]
pub(crate) struct ProgramSpec {
    /// The program by its absolute path, and its arguments.
    command_line: Vec<OsString>,
    /// Relative to the workspace.
    cwd: String,
    pub(crate) terminal: bool,
    /// Whether it goes on in the background.
    pub(crate) long_lived: bool,
    access: WorkspaceAccess,
}

/// A command that is ready to be given pipes, and to be spawned.
pub(crate) struct PreparedProgram {
    pub(crate) command: PreparedCommand,
    pub(crate) confinement: Option<Confinement>,
    /// What it may do, where it is confined.
    pub(crate) profile: Option<SandboxProfile>,
    /// Names the directory in which an unconfined command starts, until it has started.
    _directory: OwnedFd,
}

impl ProgramSpec {
    /// A command for bash, in the workspace or a directory of it.
    pub(crate) fn bash_path(command: &str, cwd: Option<&str>) -> ProgramSpec {
        let words = vec![shell().into(), "-c".into(), command.into()];
        let cwd = cwd.filter(|cwd| !cwd.is_empty()).unwrap_or(".").to_owned();
        let access = WorkspaceAccess::ReadWrite;
        ProgramSpec { command_line: words, cwd, terminal: false, long_lived: false, access }
    }

    /// A program that only looks at the workspace.
    pub(crate) fn read_only(words: Vec<OsString>) -> ProgramSpec {
        ProgramSpec {
            command_line: words,
            cwd: ".".to_owned(),
            terminal: false,
            long_lived: false,
            access: WorkspaceAccess::ReadOnly,
        }
    }
}

impl ProgramConfiner {
    /// The sandbox, where it can confine.
    pub(crate) fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref().filter(|sandbox| sandbox.is_available())
    }

    /// What a person must know before a program runs, where nothing confines it.
    pub(crate) fn warning(&self) -> Option<String> {
        if self.allow_unconfined || self.sandbox().is_some() {
            return None;
        }
        let reasons = self.sandbox.as_ref().map(|sandbox| sandbox.report().reasons.join(" "));
        let reasons = reasons.unwrap_or_else(|| "No sandbox was set up.".to_owned());
        Some(format!(
            "This would run without a sandbox: it could read and change every file that you can, including \
             keys, and use the network. {reasons}"
        ))
    }

    /// Says that something was not run because it would have been unconfined and nobody has agreed to that.
    pub(crate) fn unconfined_refusal(&self) -> Failed {
        let warning = self.warning().unwrap_or_default();
        Failed::new(format!("{warning} This was not approved, so nothing was run."))
    }

    /// Why a program cannot be left running, where that is so.
    pub(crate) fn background_refusal(&self) -> Option<&'static str> {
        let sandbox = self.sandbox()?;
        (!sandbox.holds_protected_paths()).then_some(prompts::NO_BACKGROUND)
    }

    /// Says how commands are confined. Follows the description of a tool, after a space.
    pub(crate) fn description(&self) -> String {
        match (self.sandbox(), self.network) {
            (Some(_), false) => format!(" {}", prompts::CONFINED_OFFLINE),
            (Some(_), true) => format!(" {}", prompts::CONFINED),
            (None, _) => String::new(),
        }
    }

    /// Makes a command of a program, as confined as it can be. Looks at the workspace, on a thread that may
    /// wait for the disk.
    pub(crate) async fn prepare(
        &self,
        context: &ToolContext,
        program: ProgramSpec,
    ) -> Result<PreparedProgram, Failed> {
        let sandbox = self.sandbox().cloned();
        if sandbox.is_none() && !context.unconfined && !self.allow_unconfined {
            return Err(self.unconfined_refusal());
        }
        let mut profile = SandboxProfile::new(&context.workspace);
        profile.network = self.network;
        profile.writable.clone_from(&self.writable);
        profile.hidden = self.hidden_paths.paths().to_vec();
        let (hidden, environment) = (Arc::clone(&self.hidden_paths), self.program_environment(&program));
        let prepared = tokio::task::spawn_blocking(move || {
            let directory = Workspace::open(&profile.workspace, &hidden)?.directory(&program.cwd)?;
            match sandbox {
                Some(sandbox) => prepare_confined(&sandbox, profile, (&program, environment), directory),
                None => Ok(prepare_unconfined(&program, environment, directory)),
            }
        });
        prepared.await.unwrap_or_else(|error| {
            Err(Failed::new(format!("preparing it crashed ({error}). This is a bug in Ostler.")))
        })
    }

    /// Cleans up after sandboxes that were let go of.
    pub(crate) async fn clean_up_abandoned(&self) {
        if let Some(sandbox) = self.sandbox.clone() {
            // A sweep that breaks down leaves its work to the next one.
            let _ = tokio::task::spawn_blocking(move || sandbox.clean_up_abandoned()).await;
        }
    }
}

fn prepare_confined(
    sandbox: &Sandbox,
    mut profile: SandboxProfile,
    (program, environment): (&ProgramSpec, Vec<(OsString, OsString)>),
    directory: OwnedFd,
) -> Result<PreparedProgram, Failed> {
    // The descriptor was opened beneath the workspace, so the path that it has now is inside.
    let current_dir = std::fs::read_link(descriptor_path(&directory));
    profile.current_dir =
        current_dir.map_err(|error| Failed::new(format!("finding its directory: {error}.")))?;
    profile.access = program.access;
    (profile.terminal, profile.long_lived) = (program.terminal, program.long_lived);
    if program.access == WorkspaceAccess::ReadOnly {
        profile.network = false;
        profile.writable.clear();
    }
    let confined = sandbox.command(&profile, &program.command_line[0], &program.command_line[1..]);
    let confined = confined.map_err(|error| Failed::new(error.to_string()))?;
    let (command, confinement) = confined.envs(environment).prepare();
    let confinement = Some(confinement);
    Ok(PreparedProgram { command, confinement, profile: Some(profile), _directory: directory })
}

fn prepare_unconfined(
    program: &ProgramSpec,
    environment: Vec<(OsString, OsString)>,
    directory: OwnedFd,
) -> PreparedProgram {
    let mut command = Invocation::new(ostler_process::Program::at(PathBuf::from(&program.command_line[0])))
        .args(&program.command_line[1..])
        // The descriptor names the directory that was checked, whatever its path names by now.
        .current_dir(descriptor_path(&directory))
        .envs(environment)
        .prepare();
    command.own_group();
    PreparedProgram { command, confinement: None, profile: None, _directory: directory }
}

fn descriptor_path(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}

impl ProgramConfiner {
    /// What a program is given of the daemon's environment.
    fn program_environment(&self, program: &ProgramSpec) -> Vec<(OsString, OsString)> {
        let daemon = self.environment.iter().cloned();
        let environment =
            if program.terminal { terminal_environment(daemon) } else { child_environment(daemon) };
        match &self.programs {
            // It starts others by their names, and nobody was shown a line that says which.
            Some(programs) if program.access == WorkspaceAccess::ReadOnly => {
                programs.environment(environment)
            }
            Some(_) | None => environment,
        }
    }

    /// Finds a program where children find theirs, but never in the workspace nor in another place that commands can
    /// write, which anybody may have filled.
    pub(crate) fn find_program(&self, name: &str, workspace: &Path) -> Option<PathBuf> {
        let workspace = workspace.canonicalize().ok()?;
        let is_elsewhere =
            |path: &PathBuf| path.canonicalize().is_ok_and(|real| !real.starts_with(&workspace));
        let places = self.search_path().into_iter().filter(is_elsewhere);
        let mut found = places.map(|place| place.join(name)).filter(|program| program.is_file());
        let is_safe = |path: &PathBuf| match &self.programs {
            Some(programs) => programs.find(&path.to_string_lossy()).is_ok(),
            None => true,
        };
        found.find(|path| is_elsewhere(path) && is_safe(path))
    }

    /// Where children look for programs, in order.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        let environment = child_environment(self.environment.iter().cloned());
        let path = environment.iter().find(|(name, _)| name == OsStr::new("PATH"));
        path.map(|(_, path)| std::env::split_paths(path).collect()).unwrap_or_default()
    }

    /// Where programs keep temporary files.
    pub(crate) fn temporary_directory(&self) -> PathBuf {
        let named = self.environment.iter().find(|(name, value)| name == "TMPDIR" && !value.is_empty());
        named.map_or_else(|| PathBuf::from("/tmp"), |(_, value)| PathBuf::from(value))
    }
}

/// By absolute path, so that a `bash` in the workspace is not taken for it.
fn shell() -> &'static str {
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .find(|shell| Path::new(shell).exists())
        .unwrap_or("/bin/sh")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use ostler_process::ProgramFinder;

    use super::{ProgramConfiner, ProgramSpec};

    #[test]
    fn a_program_that_no_line_names_is_taken_from_no_workspace() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let [own, other, outside] = ["own", "other", "outside"].map(|name| root.join(name));
        for directory in [&own, &other, &outside] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join("dot"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(directory.join("dot"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::join_paths([&own, &other, &outside]).unwrap();
        let writable = vec![other.clone()];
        let mut confiner = ProgramConfiner {
            environment: vec![("PATH".into(), path.clone())],
            programs: Some(ProgramFinder::new(Some(&path), move || writable.clone())),
            ..ProgramConfiner::default()
        };
        assert_eq!(confiner.find_program("dot", &own), Some(outside.join("dot")));
        let given = confiner.program_environment(&ProgramSpec::read_only(vec!["dot".into()]));
        let path = given.iter().find(|(name, _)| name == "PATH").unwrap();
        assert_eq!(std::env::split_paths(&path.1).collect::<Vec<_>>(), [own.clone(), outside]);
        confiner.programs = None;
        assert_eq!(confiner.find_program("dot", &own), Some(other.join("dot")));
    }
}
