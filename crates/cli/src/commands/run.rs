//! `ostler run`: one prompt, its answer as it comes, and an exit code that tells the outcome.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::Context;
use futures_util::StreamExt;
use ostler_client::{Approve, Client, ClientError, CreateSession, EventLine, EventStream, SendMessage};
use ostler_types::{Event, Record, SessionId, ToolCallId, TurnId, Verdict};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::Setting;
use super::follow::Screen;
use crate::args::{ApproveWhen, Run};
use crate::exit::Exit;
use crate::reach::reach;

pub(super) async fn run(setting: Setting, run: Run) -> anyhow::Result<Exit> {
    let prompt = prompt(&run.prompt)?;
    let reached = reach(&setting.data_dir, &setting.loaded.config, &setting.environment).await?;
    let exit = turn(&reached.client, &setting, &run, prompt).await;
    reached.leave().await;
    exit
}

async fn turn(client: &Client, setting: &Setting, run: &Run, prompt: String) -> anyhow::Result<Exit> {
    let when = run.approve.unwrap_or(if std::io::stdin().is_terminal() && run.prompt != "-" {
        ApproveWhen::Ask
    } else {
        ApproveWhen::Never
    });
    let (id, after) = match run.session {
        Some(id) => (id, client.session(id).await?.last_seq),
        None => (create(client, run).await?, 0),
    };
    let events = client.events_resuming(id, after).await?;
    let sent =
        client.send_message(id, &SendMessage { auto_run: Some(true), ..SendMessage::prompt(prompt) }).await?;
    let turn_id = sent.turn_id.context("the daemon started no turn")?;
    let screen = Screen::new(run.json, false, false, &setting.environment);
    let mut turn = Turn { client, id, turn_id, when, screen, refused: false };
    let exit = turn.follow(events).await?;
    if !run.json {
        eprintln!("session {id}");
    }
    Ok(exit)
}

/// A turn that is being watched.
struct Turn<'a> {
    client: &'a Client,
    id: SessionId,
    turn_id: TurnId,
    when: ApproveWhen,
    screen: Screen,
    /// Whether a call was refused for want of somebody to ask.
    refused: bool,
}

impl Turn<'_> {
    async fn follow(&mut self, mut events: EventStream) -> anyhow::Result<Exit> {
        let mut interrupts = 0;
        loop {
            let line = tokio::select! {
                line = events.next() => line,
                _ = tokio::signal::ctrl_c() => {
                    interrupts += 1;
                    if interrupts > 1 {
                        return Ok(Exit::Canceled);
                    }
                    self.client.cancel(self.id).await?;
                    continue;
                }
            };
            let line = line.context("the daemon ended the stream before the turn was over")??;
            self.screen.show(&line)?;
            if let Some(exit) = self.take(&line).await? {
                self.screen.finish()?;
                return Ok(exit);
            }
        }
    }

    /// Answers approvals, and recognises the end.
    async fn take(&mut self, line: &EventLine) -> anyhow::Result<Option<Exit>> {
        if line.seq.is_none() {
            return Ok(None);
        }
        let record: Record =
            serde_json::from_str(&line.raw).context("the daemon sent an event of an unknown kind")?;
        if record.turn_id != Some(self.turn_id) {
            return Ok(None);
        }
        Ok(match record.event {
            Event::ApprovalRequested { tool_call, summary, .. } => {
                self.answer(tool_call.id, &summary).await?;
                None
            }
            Event::TurnCompleted { .. } if self.refused => Some(Exit::NotApproved),
            Event::TurnCompleted { .. } => Some(Exit::Success),
            Event::TurnFailed { .. } => Some(Exit::Failure),
            Event::TurnCanceled { .. } => Some(Exit::Canceled),
            _ => None,
        })
    }

    async fn answer(&mut self, tool_call_id: ToolCallId, summary: &str) -> anyhow::Result<()> {
        let (action, reason) = match self.when {
            ApproveWhen::Always => (Verdict::Approve, None),
            ApproveWhen::Never => {
                self.refused = true;
                (
                    Verdict::Deny,
                    Some("nobody is there to ask; run with --approve always to allow it".to_owned()),
                )
            }
            ApproveWhen::Ask => match ask(summary).await? {
                Verdict::Approve => (Verdict::Approve, None),
                Verdict::Deny => {
                    self.refused = true;
                    (Verdict::Deny, None)
                }
            },
        };
        let answer = Approve { turn_id: self.turn_id, tool_call_id, action, scope: None, reason };
        match self.client.approve(self.id, &answer).await {
            // Somebody else was quicker; the events tell what they said.
            Err(ClientError::Refused { status: 409, .. }) => Ok(()),
            other => Ok(other?),
        }
    }
}

async fn ask(summary: &str) -> anyhow::Result<Verdict> {
    eprint!("allow `{}`? [y/N] ", summary.escape_debug());
    let mut line = String::new();
    BufReader::new(tokio::io::stdin()).read_line(&mut line).await?;
    let yes = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
    Ok(if yes { Verdict::Approve } else { Verdict::Deny })
}

async fn create(client: &Client, run: &Run) -> anyhow::Result<SessionId> {
    let workspace = run.workspace.as_deref().unwrap_or(Path::new("."));
    let workspace =
        workspace.canonicalize().with_context(|| format!("{} cannot be used", workspace.display()))?;
    let session = CreateSession {
        workspace_path: workspace.to_string_lossy().into_owned(),
        system_prompt: run.system_prompt.clone(),
        model: run.model.clone(),
        mode: Some("repl".to_owned()),
        ..CreateSession::default()
    };
    Ok(client.create_session(&session).await?)
}

fn prompt(given: &str) -> anyhow::Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).context("the prompt cannot be read from stdin")?;
    Ok(prompt)
}
