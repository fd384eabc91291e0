//! `ostler run`: one prompt or plan, its answer as it comes, and an exit code that tells the outcome.

mod prompt;
mod schema;

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use ostler_api_types::{CreateMode, CreateSession, SendMessage, UpdateSession, WorkspaceTrust};
use ostler_client::{Client, EventStream, SessionFilter};
use ostler_types::{Plan, SessionId};
use tokio::time::Instant;

use super::CommandContext;
use super::approval_prompt::ApprovalPrompt;
use super::event_output::EventOutput;
use super::plan;
use super::turn_watcher::{RunLimits, TurnWatcher};
use crate::args::{ApproveWhen, RunArgs};
use crate::connect::{ConnectedDaemon, DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::output::{OutputStream, json_line};

use prompt::{NoPrompt, RunPrompt, real_directory};
use schema::AnswerSchema;

pub(super) use prompt::typed_or_stdin;

/// How many answers may not fit a schema before it is given up.
const MAX_SCHEMA_ATTEMPTS: u32 = 3;
/// How long a daemon of our own may take to stop for somebody who does not want to wait.
const HASTY_STOP_LIMIT: Duration = Duration::from_secs(2);

/// What a session is to do.
enum RunTask {
    /// Answer a prompt, perhaps with what fits a schema.
    Prompt(RunPrompt, Option<Box<AnswerSchema>>),
    /// Divide a plan among others.
    Plan(Plan),
}

pub(super) async fn run(setting: CommandContext, mut run: RunArgs, verbose: bool) -> anyhow::Result<CliExit> {
    run.verbose_log |= verbose;
    let limits =
        RunLimits { deadline: run.timeout.map(|time| Instant::now() + time), max_cost: run.max_cost };
    let work = match requested_task(&run).await {
        Ok(work) => work,
        Err(exit) => return exit,
    };
    let reached =
        connect_or_start(&setting.data_dir, &setting.loaded.config, &setting.environment, DaemonPurpose::Run)
            .await?;
    let mut was_left = false;
    let exit = run_in_session(&reached.client, &setting, &run, work, limits, &mut was_left).await;
    stop_own_daemon(reached, was_left).await;
    exit
}

/// Ends our own daemon, if there is one; in haste for somebody who has had enough.
async fn stop_own_daemon(reached: ConnectedDaemon, was_left: bool) {
    if was_left {
        _ = tokio::time::timeout(HASTY_STOP_LIMIT, reached.stop()).await;
    } else {
        reached.stop_when_idle().await;
    }
}

/// What the arguments ask for, or how a command ends that asks for nothing.
async fn requested_task(run: &RunArgs) -> Result<RunTask, anyhow::Result<CliExit>> {
    let wrong = |error: anyhow::Error| {
        report!("error: {error:#}");
        Err(Ok(CliExit::Usage))
    };
    if let Some(path) = &run.plan {
        return plan::read(path).map(RunTask::Plan).or_else(wrong);
    }
    let schema = match run.output_schema.as_deref().map(AnswerSchema::read).transpose() {
        Ok(schema) => schema.map(Box::new),
        Err(error) => return wrong(error),
    };
    match RunPrompt::from_args(run).await {
        Ok(prompt) => Ok(RunTask::Prompt(prompt, schema)),
        Err(NoPrompt::Failed(error)) => Err(Err(error)),
        Err(NoPrompt::Nothing) => wrong(anyhow::anyhow!(
            "no prompt; give one in quotes, for example `ostler run \"list the files\"`, or pipe it in"
        )),
    }
}

/// Does the work in a session, and says on the way out what nobody has seen yet.
async fn run_in_session(
    client: &Client,
    setting: &CommandContext,
    run: &RunArgs,
    work: RunTask,
    limits: RunLimits,
    was_left: &mut bool,
) -> anyhow::Result<CliExit> {
    let (id, after) = begin(client, setting, run).await?;
    let typed = std::io::stdin().is_terminal() && run.prompt.as_deref() != Some("-");
    let when = run.approve.unwrap_or(if typed { ApproveWhen::Ask } else { ApproveWhen::Never });
    let screen = event_output(setting, run);
    let approvals = || ApprovalPrompt::new(setting);
    let (mut turn, mut events, schema) = match work {
        RunTask::Prompt(mut prompt, schema) => {
            if let Some(schema) = &schema {
                prompt.add(schema.prompt_text());
            }
            let message = prompt.message(client, id).await?;
            let events = client.events_resuming(id, after).await?;
            let sent = client.send_message(id, &message).await?;
            let turn_id = sent.turn_id.context("the daemon started no turn")?;
            (
                TurnWatcher::new(client, (id, turn_id), Some(sent.message_id), when, screen, approvals())?,
                events,
                schema,
            )
        }
        RunTask::Plan(plan) => {
            let events = client.events_resuming(id, after).await?;
            let turn_id = client.run_plan(id, &plan).await?;
            (TurnWatcher::new(client, (id, turn_id), None, when, screen, approvals())?, events, None)
        }
    };
    turn = turn.with_limits(limits);
    let ended = match &schema {
        None => plain_answer(&mut turn, &mut events).await,
        Some(schema) => fitting_answer(client, id, &mut turn, &mut events, schema).await,
    };
    *was_left = turn.was_left;
    let exit = ended?;
    report_problems(setting, run, id, &turn, exit);
    Ok(exit)
}

/// Where what happens is shown.
fn event_output(setting: &CommandContext, run: &RunArgs) -> EventOutput {
    let answer_alone = !OutputStream::Stdout.is_terminal() && run.plan.is_none();
    if run.json {
        EventOutput::Json
    } else if setting.output_manner.quiet || run.output_schema.is_some() || answer_alone {
        EventOutput::progress(setting)
    } else {
        EventOutput::new(false, false, false, setting)
    }
}

async fn plain_answer(turn: &mut TurnWatcher<'_>, events: &mut EventStream) -> anyhow::Result<CliExit> {
    let exit = turn.follow(events).await?;
    if turn.output.leaves_stdout() && !turn.answer.is_empty() {
        put!("{}\n", turn.answer.trim_end());
    }
    Ok(exit)
}

/// Asks until the answer fits, a few times at most, and prints it then.
async fn fitting_answer(
    client: &Client,
    id: SessionId,
    turn: &mut TurnWatcher<'_>,
    events: &mut EventStream,
    schema: &AnswerSchema,
) -> anyhow::Result<CliExit> {
    for attempt in 1..=MAX_SCHEMA_ATTEMPTS {
        let exit = turn.follow(events).await?;
        if !matches!(exit, CliExit::Success | CliExit::NotApproved) {
            return Ok(exit);
        }
        let problems = match schema.check(&turn.answer) {
            Ok(value) => {
                if turn.output.leaves_stdout() {
                    json_line(&value.to_string())?;
                }
                return Ok(exit);
            }
            Err(problems) => problems,
        };
        if attempt == MAX_SCHEMA_ATTEMPTS {
            turn.problem = Some(format!(
                "{MAX_SCHEMA_ATTEMPTS} answers did not match the schema; problems of the last one:\n{problems}"
            ));
            break;
        }
        let message =
            SendMessage { auto_run: Some(true), ..SendMessage::prompt(schema.retry_prompt(&problems)) };
        let sent = client.send_message(id, &message).await?;
        turn.watch_next(sent.turn_id.context("the daemon started no turn")?, sent.message_id);
    }
    Ok(CliExit::SchemaMismatch)
}

/// Says what went wrong where that was not shown, and which session it was.
fn report_problems(
    setting: &CommandContext,
    run: &RunArgs,
    id: SessionId,
    turn: &TurnWatcher<'_>,
    exit: CliExit,
) {
    let was_shown = turn.output.is_for_people()
        && matches!(exit, CliExit::Success | CliExit::Failure | CliExit::Canceled | CliExit::NotApproved);
    if let Some(problem) = turn.problem.as_ref().filter(|_| !was_shown) {
        report!("error: {problem}");
    }
    if setting.output_manner.quiet {
        return;
    }
    if turn.cost_is_unknown() {
        report!("warning: the price of a model is unknown, so --max-cost does not count it");
    }
    if !run.json {
        report!("session {id}");
    }
}

/// The session to work in, and its newest record.
async fn begin(client: &Client, setting: &CommandContext, run: &RunArgs) -> anyhow::Result<(SessionId, u64)> {
    let workspace = || real_directory(run.workspace.as_deref().unwrap_or(Path::new(".")));
    let earlier = match (&run.session, run.continue_last) {
        (Some(given), _) => Some(setting.finder(client).session(given).await?),
        (None, true) => Some(newest_session(client, workspace()?).await?),
        (None, false) => None,
    };
    let id = match earlier {
        Some(id) if run.fork => client.fork(id, None).await?,
        Some(id) => id,
        None => return Ok((create(client, setting, run, workspace()?).await?, 0)),
    };
    Ok((id, update_session(client, id, run).await?))
}

/// The session of a directory in which something happened last.
async fn newest_session(client: &Client, workspace: String) -> anyhow::Result<SessionId> {
    let filter = SessionFilter {
        workspace: Some(workspace.clone()),
        archived: Some(false),
        limit: Some(1),
        ..SessionFilter::default()
    };
    let listed = client.list_sessions(&filter).await?.sessions.pop();
    listed
        .map(|listed| listed.session.id)
        .with_context(|| format!("No session in {workspace} yet; omit --continue to start one"))
}

/// Changes what the arguments say of a session that goes on, and returns its newest record.
async fn update_session(client: &Client, id: SessionId, run: &RunArgs) -> anyhow::Result<u64> {
    let change = UpdateSession {
        model: run.model.clone(),
        fallback_models: (!run.fallback.is_empty()).then(|| run.fallback.clone()),
        effort: run.effort.map(|effort| Some(effort.into())),
        raw_log: run.raw_log.then_some(true),
        verbose_log: run.verbose_log.then_some(true),
        ..UpdateSession::default()
    };
    if change != UpdateSession::default() {
        client.update(id, &change).await?;
    }
    Ok(client.session(id).await?.last_seq)
}

async fn create(
    client: &Client,
    setting: &CommandContext,
    run: &RunArgs,
    workspace_path: String,
) -> anyhow::Result<SessionId> {
    let log_dir = match &run.log_dir {
        Some(path) => {
            let path = std::path::absolute(path).context("the log directory's path cannot be used")?;
            Some(path.to_string_lossy().into_owned())
        }
        None => None,
    };
    let session = CreateSession {
        workspace_path,
        system_prompt: run.system_prompt.clone(),
        agent: run.agent.clone(),
        model: run.model.clone(),
        fallback_models: (!run.fallback.is_empty()).then(|| run.fallback.clone()),
        effort: run.effort.map(Into::into),
        raw_log: run.raw_log.then_some(true),
        verbose_log: run.verbose_log.then_some(true),
        log_dir,
        mode: Some(CreateMode::Repl),
        ..CreateSession::default()
    };
    if !run.json && !setting.output_manner.quiet {
        note_untrusted_settings(client, &session.workspace_path).await;
    }
    Ok(client.create_session(&session).await?)
}

/// Says, once for a session, that its workspace has settings that are not used. How a workspace is checked is
/// told at the end of a turn.
async fn note_untrusted_settings(client: &Client, workspace: &str) {
    let Ok(WorkspaceTrust { trusted: false, brings, .. }) = client.workspace_trust(workspace).await else {
        return;
    };
    if !brings.servers.is_empty() || !brings.rules.is_empty() || !brings.asks.is_empty() {
        report!(
            "note: this workspace has its own settings, which are ignored because it is not trusted; \
             `ostler trust --show` lists them, `ostler trust` enables them"
        );
    }
}
