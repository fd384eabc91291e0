//! Where programs are looked for that run with more rights than a sandboxed command: third-party agents, and commands
//! that print keys.

use std::path::{Path, PathBuf};

use ostler_config::{AgentConfinement, AgentSection, Config, Environment};
use ostler_local_runner::expand;
use ostler_process::ProgramFinder;
use ostler_sandbox::{Sandbox, unfit_workspace_reason};

use crate::daemon::worktrees_path;

/// Finds programs for the daemon: in its PATH, but in no workspace of any session and in no other place that a
/// sandboxed command may write.
pub fn program_finder(
    config: &Config,
    environment: &Environment,
    data_dir: &Path,
    sandbox: Option<&Sandbox>,
) -> ProgramFinder {
    let (index, data_dir) = (data_dir.join("index.db"), data_dir.to_owned());
    let home = environment.path("HOME").unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let agents = config.agents.values().flat_map(|agent| &agent.writable).map(|path| expand(path, &home));
    let named = config.sandbox.writable.iter().map(PathBuf::from).chain(agents);
    let state = config.agents.values().flat_map(|agent| agent_state_paths(agent, environment));
    let fixed: Vec<PathBuf> = named.chain(state).chain([worktrees_path(&data_dir)]).collect();
    let sandbox = sandbox.cloned();
    ProgramFinder::new(environment.get("PATH"), move || {
        // Nothing writes in an unfit workspace, and one that holds the system would hold every program.
        let is_fit = |workspace: &PathBuf| unfit_workspace_reason(workspace, &data_dir, &home).is_none();
        let workspaces = ostler_index::workspaces(&index).into_iter().filter(is_fit);
        let opened = sandbox.as_ref().map(Sandbox::opened_directories).unwrap_or_default();
        fixed.iter().cloned().chain(workspaces).chain(opened).collect()
    })
}

/// Where a confined agent keeps its state, which it and its commands write.
fn agent_state_paths(agent: &AgentSection, environment: &Environment) -> Vec<PathBuf> {
    let value = |name: &str| agent.env.get(name).map(PathBuf::from).or_else(|| environment.path(name));
    let places = agent.preset().filter(|_| agent.sandbox != AgentConfinement::Off).into_iter();
    places
        .flat_map(|preset| preset.state_paths)
        .filter_map(|place| place.path(value("HOME").as_deref(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ostler_config::{AgentConfinement, AgentSection, Environment};

    use super::agent_state_paths;

    #[test]
    fn nothing_counts_that_a_confined_agent_can_write() {
        let environment = Environment::from_pairs(&[("HOME", "/h"), ("CODEX_HOME", "/c")]);
        let codex = AgentSection { preset: Some("codex".to_owned()), ..AgentSection::default() };
        assert_eq!(agent_state_paths(&codex, &environment), [PathBuf::from("/c")]);
        let mut moved = codex.clone();
        moved.env.insert("CODEX_HOME".to_owned(), "/d".to_owned());
        assert_eq!(agent_state_paths(&moved, &environment), [PathBuf::from("/d")]);
        let open = AgentSection { sandbox: AgentConfinement::Off, ..codex };
        assert!(agent_state_paths(&open, &environment).is_empty());
    }
}
