//! `ostler attach`: what was said in a session, then what happens.

use futures_util::StreamExt;

use super::Setting;
use super::follow::Screen;
use crate::args::Attach;
use crate::exit::Exit;
use crate::reach::reach;

pub(super) async fn attach(setting: Setting, attach: Attach) -> anyhow::Result<Exit> {
    let reached = reach(&setting.data_dir, &setting.loaded.config, &setting.environment).await?;
    let mut events = reached.client.events_resuming(attach.id, attach.after).await?;
    let mut screen = Screen::new(attach.json, true, true, &setting.environment);
    loop {
        let line = tokio::select! {
            line = events.next() => line,
            _ = tokio::signal::ctrl_c() => break,
        };
        let Some(line) = line else { break };
        screen.show(&line?)?;
    }
    screen.finish()?;
    drop(events);
    reached.leave().await;
    Ok(Exit::Success)
}
