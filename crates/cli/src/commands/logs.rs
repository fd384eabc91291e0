//! `ostler logs`: the records of a session, as readable lines or as they are. Following one outlives the daemon: when
//! another one comes, it goes on after the last record that was shown.

use futures_util::StreamExt;
use ostler_client::{Client, ClientError, EventLine, EventStream};
use ostler_types::{Record, SessionId};

use super::CommandContext;
use super::reconnect::Reconnect;
use crate::args::LogsArgs;
use crate::connect::{DaemonPurpose, connect_or_start, find_running};
use crate::exit::CliExit;
use crate::output::{json_line, wait_for_closed_stdout};
use crate::render::record_line;

pub(super) async fn logs(setting: CommandContext, args: LogsArgs) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let read = async {
        let id = setting.finder(&reached.client).session_or_only(args.id.as_ref()).await?;
        let mut reader = LogFollower { id, cursor: args.since, json: args.json };
        reader.history(&reached.client, args.tail).await?;
        anyhow::Ok(reader)
    };
    let read = read.await;
    reached.stop_when_idle().await;
    let mut reader = read?;
    if args.follow {
        tokio::select! {
            followed = reader.follow(&setting) => followed?,
            gone = wait_for_closed_stdout() => return Err(gone.into()),
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    Ok(CliExit::Success)
}

/// How far a log has been shown.
struct LogFollower {
    id: SessionId,
    cursor: u64,
    json: bool,
}

impl LogFollower {
    /// Shows what there is, or the end of it.
    async fn history(&mut self, client: &Client, tail: Option<u64>) -> anyhow::Result<()> {
        if let Some(tail) = tail {
            let newest = client.session(self.id).await?.last_seq;
            self.cursor = self.cursor.max(newest.saturating_sub(tail));
        }
        let mut events = client.events(self.id, self.cursor, false).await?;
        self.show_all(&mut events).await
    }

    /// Shows what is to come, for ever.
    async fn follow(&mut self, setting: &CommandContext) -> anyhow::Result<()> {
        let mut patience = Reconnect::new(setting.output_manner);
        loop {
            match self.follow_daemon(setting, &mut patience).await {
                Ok(()) => {}
                Err(error) => match error.downcast_ref::<ClientError>() {
                    Some(ClientError::Unreachable { .. }) => {}
                    _ => return Err(error),
                },
            }
            patience.wait_for_retry().await;
        }
    }

    /// Shows what is to come, as long as this daemon lives.
    async fn follow_daemon(
        &mut self,
        setting: &CommandContext,
        patience: &mut Reconnect,
    ) -> anyhow::Result<()> {
        let client = find_running(&setting.data_dir).await?;
        let mut events = client.events(self.id, self.cursor, true).await?;
        patience.connected();
        self.show_all(&mut events).await
    }

    async fn show_all(&mut self, events: &mut EventStream) -> anyhow::Result<()> {
        while let Some(line) = events.next().await {
            self.show(&line?)?;
        }
        Ok(())
    }

    fn show(&mut self, line: &EventLine) -> anyhow::Result<()> {
        let Some(seq) = line.seq.filter(|seq| *seq > self.cursor) else { return Ok(()) };
        self.cursor = seq;
        if self.json {
            json_line(&line.raw)?;
        } else if let Ok(record) = serde_json::from_str::<Record>(&line.raw) {
            say!("{}", record_line(&record));
        }
        Ok(())
    }
}
