//! `ostler trust`: whether what lies in a workspace may start processes and change what is asked.

use std::path::Path;

use anyhow::Context;

use super::Setting;
use crate::args::Trust;
use crate::exit::Exit;
use crate::reach::{Purpose, reach};

pub(super) async fn trust(setting: Setting, args: Trust) -> anyhow::Result<Exit> {
    let workspace = args.workspace.as_deref().unwrap_or(Path::new("."));
    let workspace =
        workspace.canonicalize().with_context(|| format!("{} cannot be used", workspace.display()))?;
    let workspace = workspace.to_string_lossy().into_owned();
    let reached =
        reach(&setting.data_dir, &setting.loaded.config, &setting.environment, Purpose::Look).await?;
    let trusted = match (args.show, args.revoke) {
        (true, _) => reached.client.is_trusted(&workspace).await,
        (false, revoke) => reached.client.trust(&workspace, !revoke).await,
    };
    reached.leave().await;
    if trusted? {
        println!("{workspace} is trusted: its own settings, checks and servers are used");
    } else {
        println!("{workspace} is not trusted: nothing that lies in it is run or believed unasked");
    }
    Ok(Exit::Success)
}
