//! `ostler projects`: the workspaces that are registered.

use std::path::Path;

use anyhow::Context;
use ostler_api_types::ProjectView;
use ostler_client::Client;

use super::Setting;
use crate::args::Projects;
use crate::exit::Exit;
use crate::reach::{Purpose, reach};
use crate::render::clean;

pub(super) async fn projects(setting: Setting, command: Projects) -> anyhow::Result<Exit> {
    let reached =
        reach(&setting.data_dir, &setting.loaded.config, &setting.environment, Purpose::Look).await?;
    let done = carry_out(&reached.client, command).await;
    reached.leave().await;
    put!("{}", done?);
    Ok(Exit::Success)
}

/// Does what is asked, and returns what there is to print.
async fn carry_out(client: &Client, command: Projects) -> anyhow::Result<String> {
    Ok(match command {
        Projects::List { json: true } => serde_json::to_string_pretty(&client.projects().await?)? + "\n",
        Projects::List { json: false } => table(&client.projects().await?),
        Projects::Add { workspace } => {
            let project = client.add_project(&real(workspace.as_deref().unwrap_or(Path::new(".")))?).await?;
            table(&[project])
        }
        Projects::Rm { project } => {
            let known = client.projects().await?;
            let path = real(Path::new(&project)).unwrap_or_else(|_| project.clone());
            let named = |known: &&ProjectView| known.id == project || known.path == path;
            let found = known.iter().find(named);
            let found = found.with_context(|| {
                format!(
                    "`{}` is no project; `ostler projects list` shows those that there are",
                    clean(&project)
                )
            })?;
            client.remove_project(&found.id).await?;
            format!("{} is no project any more; its sessions stay as they are\n", clean(&found.path))
        }
    })
}

/// A directory as it really is.
fn real(path: &Path) -> anyhow::Result<String> {
    let path = path.canonicalize().with_context(|| format!("{} cannot be used", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

fn table(projects: &[ProjectView]) -> String {
    projects.iter().map(|project| format!("{}  {}\n", project.id, clean(&project.path))).collect()
}
