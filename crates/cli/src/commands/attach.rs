//! `ostler attach`: what was said in a session, then what happens.

use futures_util::StreamExt;
use ostler_client::Client;

use super::Setting;
use super::follow::Screen;
use crate::args::Attach;
use crate::exit::Exit;
use crate::reach::{Purpose, reach};

pub(super) async fn attach(setting: Setting, attach: Attach) -> anyhow::Result<Exit> {
    let config = &setting.loaded.config;
    let reached = reach(&setting.data_dir, config, &setting.environment, Purpose::Look).await?;
    let followed = follow(&reached.client, &setting, &attach).await;
    reached.leave().await;
    followed.map(|()| Exit::Success)
}

async fn follow(client: &Client, setting: &Setting, attach: &Attach) -> anyhow::Result<()> {
    let mut events = client.events_resuming(attach.id, attach.after).await?;
    let mut screen = Screen::new(attach.json, true, true, setting);
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
