//! `ostler attach`: what was said in a session, then what happens.

use futures_util::StreamExt;
use ostler_client::Client;

use super::CommandContext;
use super::event_output::EventOutput;
use crate::args::Attach;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;

pub(super) async fn attach(setting: CommandContext, attach: Attach) -> anyhow::Result<CliExit> {
    let config = &setting.loaded.config;
    let reached =
        connect_or_start(&setting.data_dir, config, &setting.environment, DaemonPurpose::Look).await?;
    let followed = follow(&reached.client, &setting, &attach).await;
    reached.stop_when_idle().await;
    followed.map(|()| CliExit::Success)
}

async fn follow(client: &Client, setting: &CommandContext, attach: &Attach) -> anyhow::Result<()> {
    let id = setting.finder(client).session_or_only(attach.id.as_ref()).await?;
    let mut events = client.events_resuming(id, attach.after).await?;
    let mut screen = EventOutput::new(attach.json, true, true, setting);
    loop {
        let line = tokio::select! {
            line = events.next() => line,
            _ = tokio::signal::ctrl_c() => break,
        };
        let Some(line) = line else { break };
        screen.show(&line?)?;
    }
    Ok(screen.finish()?)
}
