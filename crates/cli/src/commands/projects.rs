//! `ostler projects`: the workspaces that are registered.

use std::path::Path;

use anyhow::Context;
use ostler_api_types::ProjectView;
use ostler_client::Client;

use super::CommandContext;
use crate::args::ProjectsCommand;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::sanitize;

pub(super) async fn projects(setting: CommandContext, command: ProjectsCommand) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = run_projects_command(&reached.client, command).await;
    reached.stop_when_idle().await;
    put!("{}", done?);
    Ok(CliExit::Success)
}

/// Does what is asked, and returns what there is to print.
async fn run_projects_command(client: &Client, command: ProjectsCommand) -> anyhow::Result<String> {
    Ok(match command {
        ProjectsCommand::List { json: true } => {
            serde_json::to_string_pretty(&client.projects().await?)? + "\n"
        }
        ProjectsCommand::List { json: false } => table(&client.projects().await?),
        ProjectsCommand::Add { workspace } => {
            let project =
                client.add_project(&real_directory(workspace.as_deref().unwrap_or(Path::new(".")))?).await?;
            table(&[project])
        }
        ProjectsCommand::Rm { project } => {
            let known = client.projects().await?;
            let path = real_directory(Path::new(&project)).unwrap_or_else(|_| project.clone());
            let named = |known: &&ProjectView| known.id == project || known.path == path;
            let found = known.iter().find(named);
            let found = found.with_context(|| {
                format!("No project `{}`; `ostler projects list` lists them", sanitize(&project))
            })?;
            client.remove_project(&found.id).await?;
            format!("removed {} from projects; its sessions are kept\n", sanitize(&found.path))
        }
    })
}

/// A directory as it really is.
fn real_directory(path: &Path) -> anyhow::Result<String> {
    let path = path.canonicalize().with_context(|| format!("{} cannot be used", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

fn table(projects: &[ProjectView]) -> String {
    projects.iter().map(|project| format!("{}  {}\n", project.id, sanitize(&project.path))).collect()
}
