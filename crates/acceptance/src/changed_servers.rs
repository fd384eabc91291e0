//! Tool servers of a workspace whose program a turn wrote. They are not started until the owner has accepted it.

use ostler_runner::{CheckFileScope, FindCheckFiles, Runner};
use ostler_types::{RunnerName, workspace_key};

use crate::baselines::Baselines;

/// The names of the servers that a workspace brings and that would run what a turn wrote, each with the files.
pub async fn changed_servers(
    runner: &dyn Runner,
    baselines: &Baselines,
    runner_name: Option<&RunnerName>,
    workspace: &str,
) -> Vec<(String, Vec<String>)> {
    let mut changed = Vec::new();
    let key = workspace_key(runner_name, workspace);
    if baselines.is_empty(&key) {
        return changed;
    }
    let workspaces = runner.workspaces();
    for server in workspaces.settings(workspace.to_owned()).await.servers {
        let find = |scope| FindCheckFiles {
            workspace: workspace.to_owned(),
            lines: vec![server.runs.clone()],
            scope,
            candidates: Vec::new(),
        };
        let named = workspaces.check_files(find(CheckFileScope::Named)).await;
        let followed = workspaces.check_files(find(CheckFileScope::Lines)).await;
        // What cannot be read is not known to be the owner's.
        let (Ok(mut sums), Ok(followed)) = (named, followed) else {
            changed.push((server.name, Vec::new()));
            continue;
        };
        sums.extend(followed);
        let written = baselines.written_by_turns(&key, &sums);
        if !written.is_empty() {
            changed.push((server.name, written.into_iter().map(str::to_owned).collect()));
        }
    }
    changed
}
