//! `ostler run`: one prompt or plan, its answer as it comes, and an exit code that tells the outcome.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ostler_client::{Client, CreateSession, SendMessage, UpdateSession, WorkspaceTrust};
use ostler_types::{Plan, SessionId};

use super::Setting;
use super::follow::Screen;
use super::plan;
use super::turn::Turn;
use crate::args::{ApproveWhen, Run};
use crate::exit::Exit;
use crate::reach::{Purpose, reach};

/// Bytes in one file that goes along; the daemon takes no more.
const MAX_ATTACHMENT: u64 = 25 << 20;

/// What a session is to do.
enum Work {
    /// Answer a prompt, with these files.
    Prompt(String, Vec<Attached>),
    /// Divide a plan among others.
    Plan(Plan),
}

pub(super) async fn run(setting: Setting, mut run: Run, verbose: bool) -> anyhow::Result<Exit> {
    run.verbose_log |= verbose;
    let work = match &run.plan {
        Some(path) => match plan::read(path) {
            Ok(plan) => Work::Plan(plan),
            Err(error) => {
                eprintln!("error: {error:#}");
                return Ok(Exit::Usage);
            }
        },
        None => Work::Prompt(text(run.prompt.as_deref().unwrap_or_default())?, files(&run.attach)?),
    };
    let reached =
        reach(&setting.data_dir, &setting.loaded.config, &setting.environment, Purpose::Run).await?;
    let exit = turn(&reached.client, &setting, &run, work).await;
    reached.leave().await;
    exit
}

async fn turn(client: &Client, setting: &Setting, run: &Run, work: Work) -> anyhow::Result<Exit> {
    let typed = std::io::stdin().is_terminal() && run.prompt.as_deref() != Some("-");
    let when = run.approve.unwrap_or(if typed { ApproveWhen::Ask } else { ApproveWhen::Never });
    let (id, after) = match run.session {
        Some(id) => (id, change(client, id, run).await?),
        None => (create(client, run).await?, 0),
    };
    let (events, turn_id, message_id) = match work {
        Work::Prompt(prompt, files) => {
            let message = message(client, id, prompt, files).await?;
            let events = client.events_resuming(id, after).await?;
            let sent = client.send_message(id, &message).await?;
            (events, sent.turn_id.context("the daemon started no turn")?, Some(sent.message_id))
        }
        Work::Plan(plan) => {
            let events = client.events_resuming(id, after).await?;
            (events, client.run_plan(id, &plan).await?, None)
        }
    };
    let screen = Screen::new(run.json, false, false, &setting.environment);
    let mut turn = Turn::new(client, (id, turn_id), message_id, when, screen);
    let exit = turn.follow(events).await?;
    if !run.json {
        eprintln!("session {id}");
    }
    Ok(exit)
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
        verbose_log: run.verbose_log.then_some(true),
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
    let log_dir = match &run.log_dir {
        Some(path) => {
            let path = std::path::absolute(path).context("the log directory's path cannot be used")?;
            Some(path.to_string_lossy().into_owned())
        }
        None => None,
    };
    let session = CreateSession {
        workspace_path: workspace.to_string_lossy().into_owned(),
        system_prompt: run.system_prompt.clone(),
        agent: run.agent.clone(),
        model: run.model.clone(),
        fallback_models: (!run.fallback.is_empty()).then(|| run.fallback.clone()),
        effort: run.effort.map(Into::into),
        raw_log: run.raw_log.then_some(true),
        verbose_log: run.verbose_log.then_some(true),
        log_dir,
        mode: Some("repl".to_owned()),
        ..CreateSession::default()
    };
    if !run.json {
        tell_of_trust(client, &session.workspace_path).await;
    }
    Ok(client.create_session(&session).await?)
}

/// Says, once for a session, that its workspace has settings that are not used. How a workspace is checked is
/// told at the end of a turn.
async fn tell_of_trust(client: &Client, workspace: &str) {
    let Ok(WorkspaceTrust { trusted: false, brings }) = client.workspace_trust(workspace).await else {
        return;
    };
    if !brings.servers.is_empty() || !brings.rules.is_empty() || !brings.asks.is_empty() {
        eprintln!(
            "note: this workspace has settings of its own, which are not used because it is not trusted; \
             `ostler trust --show` lists them, `ostler trust` uses them"
        );
    }
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

/// What was typed, or what stdin has to say.
pub(super) fn text(given: &str) -> anyhow::Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).context("the text cannot be read from stdin")?;
    Ok(prompt)
}
