//! `ostler run`: one prompt, its answer as it comes, and an exit code that tells the outcome.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use futures_util::StreamExt;
use ostler_client::{
    Approve, Client, ClientError, CreateSession, EventLine, EventStream, SendMessage, UpdateSession,
};
use ostler_types::{Event, MessageId, Record, SessionId, ToolCallId, TurnId, Verdict};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use super::Setting;
use super::follow::Screen;
use crate::args::{ApproveWhen, Run};
use crate::exit::Exit;
use crate::reach::{Purpose, reach};

/// Bytes in one file that goes along; the daemon takes no more.
const MAX_ATTACHMENT: u64 = 25 << 20;

pub(super) async fn run(setting: Setting, run: Run) -> anyhow::Result<Exit> {
    let prompt = prompt(&run.prompt)?;
    let files = files(&run.attach)?;
    let reached =
        reach(&setting.data_dir, &setting.loaded.config, &setting.environment, Purpose::Run).await?;
    let exit = turn(&reached.client, &setting, &run, prompt, files).await;
    reached.leave().await;
    exit
}

async fn turn(
    client: &Client,
    setting: &Setting,
    run: &Run,
    prompt: String,
    files: Vec<Attached>,
) -> anyhow::Result<Exit> {
    let when = run.approve.unwrap_or(if std::io::stdin().is_terminal() && run.prompt != "-" {
        ApproveWhen::Ask
    } else {
        ApproveWhen::Never
    });
    let (id, after) = match run.session {
        Some(id) => (id, change(client, id, run).await?),
        None => (create(client, run).await?, 0),
    };
    let message = message(client, id, prompt, files).await?;
    let events = client.events_resuming(id, after).await?;
    let sent = client.send_message(id, &message).await?;
    let turn_id = sent.turn_id.context("the daemon started no turn")?;
    let screen = Screen::new(run.json, false, false, &setting.environment);
    let answers = BufReader::new(tokio::io::stdin()).lines();
    let (message_id, started) = (sent.message_id, false);
    let mut turn = Turn {
        client,
        id,
        turn_id,
        message_id,
        when,
        screen,
        answers,
        asking: None,
        started,
        refused: false,
    };
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
    message_id: MessageId,
    when: ApproveWhen,
    screen: Screen,
    /// What the person at the terminal types.
    answers: Lines<BufReader<Stdin>>,
    /// The call that they are asked about.
    asking: Option<ToolCallId>,
    /// Whether the turn has begun; until then its message waits behind others.
    started: bool,
    /// Whether a call was refused.
    refused: bool,
}

impl Turn<'_> {
    async fn follow(&mut self, mut events: EventStream) -> anyhow::Result<Exit> {
        let mut interrupts = 0;
        loop {
            tokio::select! {
                line = events.next() => {
                    let line = line.context("the daemon ended the stream before the turn was over")??;
                    self.screen.show(&line)?;
                    if let Some(exit) = self.take(&line).await? {
                        self.screen.finish()?;
                        return Ok(exit);
                    }
                }
                typed = self.answers.next_line(), if self.asking.is_some() => self.typed(typed?.as_deref()).await?,
                _ = tokio::signal::ctrl_c() => {
                    interrupts += 1;
                    if interrupts > 1 {
                        return Ok(Exit::Canceled);
                    }
                    self.stop().await?;
                }
            }
        }
    }

    /// Takes a message back that still waits, and otherwise stops the turn that answers it.
    async fn stop(&self) -> anyhow::Result<()> {
        if !self.started {
            match self.client.withdraw(self.id, self.message_id).await {
                Err(ClientError::Refused { status: 404, .. }) => {}
                other => return Ok(other?),
            }
        }
        self.client.cancel(self.id).await?;
        Ok(())
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
        match record.event {
            Event::TurnStarted { .. } => self.started = true,
            Event::ApprovalRequested { tool_call, summary, .. } => self.asked(tool_call.id, &summary).await?,
            Event::PatchReviewRequested { tool_call_id, files, waits: true, more, .. } => {
                let count = files.len() as u64 + more;
                self.asked(tool_call_id, &format!("keep the change of {count} files")).await?;
            }
            Event::ApprovalGranted { tool_call_id, .. } | Event::ApprovalDenied { tool_call_id, .. } => {
                // Somebody answered, here or elsewhere.
                self.asking = self.asking.take().filter(|asking| *asking != tool_call_id);
            }
            Event::MessageWithdrawn { .. } | Event::TurnCanceled { .. } => return Ok(Some(Exit::Canceled)),
            Event::TurnCompleted { .. } if self.refused => return Ok(Some(Exit::NotApproved)),
            Event::TurnCompleted { .. } => return Ok(Some(Exit::Success)),
            Event::TurnFailed { .. } => return Ok(Some(Exit::Failure)),
            _ => {}
        }
        Ok(None)
    }

    async fn asked(&mut self, id: ToolCallId, summary: &str) -> anyhow::Result<()> {
        match self.when {
            ApproveWhen::Always => self.answer(id, Verdict::Approve, None).await,
            ApproveWhen::Never => {
                let why = "nobody is there to ask; run with --approve always to allow it".to_owned();
                self.answer(id, Verdict::Deny, Some(why)).await
            }
            ApproveWhen::Ask => {
                eprint!("allow `{}`? [y/N] ", summary.escape_debug());
                self.asking = Some(id);
                Ok(())
            }
        }
    }

    /// Takes a typed answer; the end of the input is a no.
    async fn typed(&mut self, line: Option<&str>) -> anyhow::Result<()> {
        let Some(id) = self.asking.take() else { return Ok(()) };
        let yes = line.is_some_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes"));
        self.answer(id, if yes { Verdict::Approve } else { Verdict::Deny }, None).await
    }

    async fn answer(
        &mut self,
        tool_call_id: ToolCallId,
        action: Verdict,
        reason: Option<String>,
    ) -> anyhow::Result<()> {
        self.refused |= action == Verdict::Deny;
        let answer =
            Approve { turn_id: self.turn_id, tool_call_id, action, scope: None, reason, review: None };
        match self.client.approve(self.id, &answer).await {
            // Somebody else was quicker; the events tell what they said.
            Err(ClientError::Refused { status: 409, .. }) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// The message, once its files are with the daemon. They come before the prompt, which speaks of them.
async fn message(
    client: &Client,
    id: SessionId,
    prompt: String,
    files: Vec<Attached>,
) -> anyhow::Result<SendMessage> {
    let mut message = SendMessage { auto_run: Some(true), ..SendMessage::prompt(prompt) };
    for (place, Attached { path, name }) in files.into_iter().enumerate() {
        let content = read(&path)?;
        let stored = client.attach(id, &name, &content).await;
        let stored = stored.with_context(|| format!("{} cannot be attached", path.display()))?;
        message.parts.insert(place, stored.into_part());
    }
    Ok(message)
}

/// Changes what the arguments say of a session that goes on, and returns its newest record.
async fn change(client: &Client, id: SessionId, run: &Run) -> anyhow::Result<u64> {
    let change = UpdateSession {
        model: run.model.clone(),
        fallback_models: (!run.fallback.is_empty()).then(|| run.fallback.clone()),
        effort: run.effort.map(Into::into),
        raw_log: run.raw_log.then_some(true),
        ..UpdateSession::default()
    };
    if change != UpdateSession::default() {
        client.update(id, &change).await?;
    }
    Ok(client.session(id).await?.last_seq)
}

async fn create(client: &Client, run: &Run) -> anyhow::Result<SessionId> {
    let workspace = run.workspace.as_deref().unwrap_or(Path::new("."));
    let workspace =
        workspace.canonicalize().with_context(|| format!("{} cannot be used", workspace.display()))?;
    let session = CreateSession {
        workspace_path: workspace.to_string_lossy().into_owned(),
        system_prompt: run.system_prompt.clone(),
        model: run.model.clone(),
        fallback_models: (!run.fallback.is_empty()).then(|| run.fallback.clone()),
        effort: run.effort.map(Into::into),
        raw_log: run.raw_log.then_some(true),
        mode: Some("repl".to_owned()),
        ..CreateSession::default()
    };
    Ok(client.create_session(&session).await?)
}

/// A file that goes along with the prompt.
struct Attached {
    path: PathBuf,
    name: String,
}

/// The files to send along. What cannot be sent is told before a session is made for it.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<Attached>> {
    let attached = |path: &PathBuf| {
        let metadata =
            std::fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?;
        anyhow::ensure!(metadata.is_file(), "{} is not a file; attach the files in it", path.display());
        anyhow::ensure!(
            metadata.len() <= MAX_ATTACHMENT,
            "{} is larger than {} MiB; put it in the workspace and name its path instead",
            path.display(),
            MAX_ATTACHMENT >> 20
        );
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Attached { path: path.clone(), name })
    };
    paths.iter().map(attached).collect()
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

fn prompt(given: &str) -> anyhow::Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).context("the prompt cannot be read from stdin")?;
    Ok(prompt)
}
