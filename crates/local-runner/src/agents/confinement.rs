//! What a confined third-party agent may do: write the workspace and its own login and state, read where it is
//! installed, and reach the network. Making the sandbox is left to `sandbox`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ostler_config::AgentSection;
use ostler_process::{Program, ProgramFinder};
use ostler_sandbox::SandboxProfile;

use super::installation;

/// An agent that is about to be started.
pub(super) struct ConfinedAgentLaunch<'a> {
    pub(super) command: &'a AgentSection,
    pub(super) workspace: &'a Path,
    pub(super) program: &'a Program,
    pub(super) arguments: &'a [String],
    /// The variables that it gets.
    pub(super) variables: &'a [(OsString, OsString)],
    /// The home directory of the daemon's user.
    pub(super) home: &'a Path,
    pub(super) finder: &'a ProgramFinder,
}

impl ConfinedAgentLaunch<'_> {
    /// Its profile. Makes the places of its state that do not exist yet, so that a first login works.
    pub(super) fn profile(&self) -> Result<SandboxProfile, String> {
        let mut profile = SandboxProfile::new(self.workspace);
        // It has to reach its provider unless that is on this machine, and many confine their own commands.
        (profile.network, profile.may_nest_sandboxes) = (self.command.network.unwrap_or(true), true);
        profile.long_lived = true;
        // Other projects lie there, with what they keep secret.
        if self.home.is_dir() {
            profile.hidden.push(self.home.to_owned());
        }
        for (path, content) in self.state_paths() {
            create_state_path(&path, content).map_err(|error| {
                format!("{}, where it keeps its login, cannot be made: {error}", path.display())
            })?;
            profile.state.push(path);
        }
        let writable = self.command.writable.iter().map(|path| self.expand(path));
        profile.writable = writable.filter(|path| !profile.state.contains(path)).collect();
        let readable = self.command.readable.iter().chain(&self.command.writable);
        profile.readable = readable.map(|path| self.expand(path)).collect();
        profile.readable.extend(self.named_files());
        let first = self.arguments.first().map(String::as_str);
        profile.readable.extend(installation::readable_paths(self.program, first, self.home, self.finder));
        Ok(profile)
    }

    /// Where it keeps its login and its state, and what a new file there holds.
    fn state_paths(&self) -> Vec<(PathBuf, Option<&'static str>)> {
        let home = self.variable("HOME");
        let places = self.command.preset().into_iter().flat_map(|preset| preset.state_paths);
        let mut state: Vec<(PathBuf, Option<&'static str>)> = Vec::new();
        for place in places {
            let path = place.path(home.as_deref(), |name| self.variable(name));
            // In the workspace, and in a directory that it writes anyway, it could have put a link to anything.
            let is_fresh = |path: &PathBuf| {
                let leads_inside =
                    |step: &Path| step.canonicalize().is_ok_and(|real| real.starts_with(self.workspace));
                let is_inside = path.ancestors().any(leads_inside);
                !is_inside && !state.iter().any(|(other, _)| path.starts_with(other))
            };
            state.extend(path.filter(is_fresh).map(|path| (path, place.content())));
        }
        state
    }

    /// Files that its variables name.
    fn named_files(&self) -> impl Iterator<Item = PathBuf> {
        let names = self.command.preset().into_iter().flat_map(|preset| preset.file_variables);
        let paths = names.filter_map(|name| self.variable(name));
        paths
            .filter(|path| path.is_absolute() && path.is_file() && !self.finder.is_writable_by_commands(path))
    }

    /// The last value of a variable, which is the one that it gets.
    fn variable(&self, name: &str) -> Option<PathBuf> {
        let (_, value) = self.variables.iter().rev().find(|(other, _)| other == name)?;
        Some(PathBuf::from(value)).filter(|value| value.as_os_str() != OsStr::new(""))
    }

    fn expand(&self, path: &str) -> PathBuf {
        expand(path, self.home)
    }
}

/// A path of the configuration, in which `~/` is the home directory.
pub fn expand(path: &str, home: &Path) -> PathBuf {
    path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| home.join(rest))
}

/// Makes a place of state for its user alone, unless it exists.
fn create_state_path(path: &Path, content: Option<&str>) -> io::Result<()> {
    if fs::metadata(path).is_ok() {
        return Ok(());
    }
    let directory = if content.is_some() { path.parent().unwrap_or(path) } else { path };
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let Some(content) = content else { return Ok(()) };
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(mut file) => file.write_all(content.as_bytes()),
        // Another process of it was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use ostler_config::AgentSection;
    use ostler_process::{Program, ProgramFinder};
    use ostler_sandbox::SandboxProfile;

    use super::ConfinedAgentLaunch;

    struct World {
        _place: tempfile::TempDir,
        home: PathBuf,
        workspace: PathBuf,
    }

    fn world() -> World {
        let place = tempfile::tempdir().unwrap();
        let [home, workspace] =
            ["home", "home/work"].map(|name| place.path().canonicalize().unwrap().join(name));
        fs::create_dir_all(&workspace).unwrap();
        World { _place: place, home, workspace }
    }

    impl World {
        fn profile(
            &self,
            command: &AgentSection,
            variables: &[(&str, &Path)],
        ) -> Result<SandboxProfile, String> {
            let home = [("HOME", self.home.as_path())];
            let variables = home.iter().chain(variables);
            let variables: Vec<(OsString, OsString)> =
                variables.map(|(name, value)| (name.into(), value.into())).collect();
            let writable = vec![self.workspace.clone()];
            let confining = ConfinedAgentLaunch {
                command,
                workspace: &self.workspace,
                program: &Program::at("/usr/bin/env".into()),
                arguments: &[],
                variables: &variables,
                home: &self.home,
                finder: &ProgramFinder::new(None, move || writable.clone()),
            };
            confining.profile()
        }
    }

    fn preset(name: &str) -> AgentSection {
        AgentSection { preset: Some(name.to_owned()), ..AgentSection::default() }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn an_agent_has_its_login_and_its_state_which_are_made_for_a_first_login() {
        let world = world();
        let profile = world.profile(&preset("claude"), &[]).unwrap();
        let [login, file] = [".claude", ".claude.json"].map(|name| world.home.join(name));
        assert_eq!(profile.state, [login.clone(), file.clone()]);
        assert_eq!((mode(&login), mode(&file)), (0o700, 0o600));
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
        assert!(profile.network && profile.may_nest_sandboxes && profile.hidden == [world.home.clone()]);
        fs::write(&file, "kept").unwrap();
        fs::set_permissions(&login, fs::Permissions::from_mode(0o755)).unwrap();
        world.profile(&preset("claude"), &[]).unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&login)), ("kept", 0o755), "as it was");

        let moved = world.home.join("elsewhere");
        let profile = world.profile(&preset("claude"), &[("CLAUDE_CONFIG_DIR", &moved)]).unwrap();
        assert_eq!(profile.state, std::slice::from_ref(&moved), "what is in it is not opened by itself");
        assert_eq!(mode(&moved), 0o700);
        let profile = world.profile(&preset("goose"), &[("XDG_STATE_HOME", &moved)]).unwrap();
        assert!(profile.state.contains(&moved.join("goose")) && profile.state.len() == 3, "{profile:?}");
        assert!(
            world.profile(&AgentSection::default(), &[]).unwrap().state.is_empty(),
            "nothing is known of it"
        );
    }

    #[test]
    fn a_variable_that_leads_into_the_workspace_opens_nothing() {
        let world = world();
        let inside = world.workspace.join(".codex");
        let profile = world.profile(&preset("codex"), &[("CODEX_HOME", &inside)]).unwrap();
        assert!(profile.state.is_empty() && !inside.exists(), "{profile:?}");
        let (key, link) = (world.home.join("key"), world.workspace.join("config.json"));
        fs::write(&key, "").unwrap();
        std::os::unix::fs::symlink(&key, &link).unwrap();
        let profile = world.profile(&preset("opencode"), &[("OPENCODE_CONFIG", &link)]).unwrap();
        assert!(!profile.readable.contains(&link), "{profile:?}");
        let profile = world.profile(&preset("opencode"), &[("OPENCODE_CONFIG", &key)]).unwrap();
        assert!(profile.readable.contains(&key), "{profile:?}");
    }

    #[test]
    fn what_is_configured_comes_on_top() {
        let world = world();
        let command = AgentSection {
            writable: vec!["~/cache".to_owned(), "/srv/x".to_owned(), "~/.gemini".to_owned()],
            readable: vec!["~/notes/~/x".to_owned()],
            network: Some(false),
            ..preset("gemini")
        };
        let profile = world.profile(&command, &[]).unwrap();
        assert_eq!(profile.writable, [world.home.join("cache"), "/srv/x".into()]);
        assert!(profile.readable.starts_with(&[world.home.join("notes/~/x"), world.home.join("cache")]));
        assert_eq!((profile.state, profile.network), (vec![world.home.join(".gemini")], false));
    }

    #[test]
    fn state_that_cannot_be_made_is_told() {
        let world = world();
        fs::write(world.home.join("file"), "").unwrap();
        let told =
            world.profile(&preset("codex"), &[("CODEX_HOME", &world.home.join("file/x"))]).unwrap_err();
        assert!(told.contains("file/x") && told.contains("login"), "{told}");
    }
}
