//! Verification: after a turn that changed the workspace, commands decide whether the work holds. A
//! failure goes back to the model, a few times; and the end of the turn says what there was to say.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_agent::FailedTurn;
use ostler_runner::{CommandOutcome, RunCommand};
use ostler_types::{CommandResult, Message, Part, Role, TurnReport};

use crate::{TurnAcceptance, prompts};

/// How long one command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
/// How the check for uncommitted changes is called among the commands.
const CLEAN_CHECK: &str = "git status --porcelain";

/// Why checks do not run where nothing confines them. The tool `verify` asks, so it is the way to run them.
const UNCONFINED: &str = "not verified: nothing on this machine confines programs, so no check runs without being asked \
                          about (`ostler doctor` says what is missing; sandbox.mode = \"off\" lets checks run all the same)";

/// What verification came to.
pub(crate) enum VerificationOutcome {
    /// The agent is told of a failure and goes on.
    TryAgain(Message),
    /// The turn can end.
    TurnCanEnd(VerificationVerdict),
}

/// Whether the workspace was checked and held, and what there is to say about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VerificationVerdict {
    pub(crate) verified: Option<bool>,
    pub(crate) note: Option<String>,
}

/// What a turn is checked with, or why it is not.
enum PlannedChecks {
    Run { commands: Vec<String>, require_clean: bool },
    Skip(Option<String>),
}

/// Checks the workspace, if the turn changed it and something is known to check it with. Only an agent
/// that can go on is told of a failure.
pub(crate) async fn verify(
    care: &mut TurnAcceptance<'_>,
    can_go_on: bool,
) -> Result<VerificationOutcome, FailedTurn> {
    let now = care.checkpoints.capture_now().await.and_then(Result::ok).map(|checkpoint| checkpoint.id);
    let before = care.checkpoints.before().map(|before| before.id.clone()).filter(|_| care.rounds == 0);
    let known = care.last_verified.clone().or(before);
    // Commands may have run without leaving anything behind. After a failure only a check can tell.
    care.changed &= now.is_none() || now != known;
    let (commands, require_clean) = match planned_checks(care).await {
        PlannedChecks::Run { commands, require_clean } => (commands, require_clean),
        PlannedChecks::Skip(note) => {
            return Ok(VerificationOutcome::TurnCanEnd(VerificationVerdict { verified: None, note }));
        }
    };
    care.checkpoints.hold().await;
    care.rounds += 1;
    let (round, max_rounds) = (care.rounds, care.context.session.policy.verify.max_rounds);
    let mut shown = commands.clone();
    shown.extend(require_clean.then(|| CLEAN_CHECK.to_owned()));
    care.context.report(TurnReport::VerificationStarted { round, commands: shown }).await?;
    let results = run_all(care, &commands, require_clean).await;
    let ok = results.iter().all(|result| result.exit_code == Some(0));
    let again = !ok && can_go_on && round <= max_rounds;
    let feedback = again.then(|| feedback(care, &results, round, max_rounds));
    let report = TurnReport::VerificationCompleted { round, ok, results, feedback: feedback.clone() };
    care.context.report(report).await?;
    care.changed = !ok;
    care.last_verified = now.filter(|_| ok);
    match feedback {
        Some(message) => Ok(VerificationOutcome::TryAgain(message)),
        None => Ok(VerificationOutcome::TurnCanEnd(VerificationVerdict {
            verified: Some(ok),
            note: Some(verdict_text(ok, round)),
        })),
    }
}

async fn planned_checks(care: &TurnAcceptance<'_>) -> PlannedChecks {
    let policy = &care.context.session.policy.verify;
    if !care.changed {
        return PlannedChecks::Skip(None);
    }
    if !policy.auto {
        return PlannedChecks::Skip(Some("not verified: the policy switches verification off".to_owned()));
    }
    let commands = care.check_commands().await;
    // Neither trust nor a policy says that a check may do all that its owner can.
    if (commands.is_ok() || policy.require_clean) && care.runner.toolbox().unconfined_warning().is_some() {
        return PlannedChecks::Skip(Some(UNCONFINED.to_owned()));
    }
    let require_clean = policy.require_clean;
    match commands {
        Ok(commands) => PlannedChecks::Run { commands, require_clean },
        // Where something says how to check and is not run, a clean tree alone does not stand for it.
        Err(_) if require_clean && care.check_setup.command_lines.is_err() => {
            PlannedChecks::Run { commands: Vec::new(), require_clean }
        }
        Err(why) => PlannedChecks::Skip(Some(why)),
    }
}

/// Runs the commands in order, up to the first that fails.
async fn run_all(care: &TurnAcceptance<'_>, commands: &[String], require_clean: bool) -> Vec<CommandResult> {
    let mut results = Vec::new();
    for command in commands {
        let outcome = run_command(care, command).await;
        let (exit_code, output) = (outcome.exit_code(), outcome.text());
        let duration_ms = outcome.duration_ms;
        results.push(CommandResult { command: command.clone(), exit_code, duration_ms, output });
        if exit_code != Some(0) {
            return results;
        }
    }
    if require_clean {
        results.push(check_clean(care).await);
    }
    results
}

/// Looks for uncommitted changes. Not as a command line: that git would run what the repository's settings name.
async fn check_clean(care: &TurnAcceptance<'_>) -> CommandResult {
    let (began, workspace) = (Instant::now(), care.context.session.workspace_path.clone());
    let changes = care.runner.toolbox().uncommitted_changes(workspace, false).await;
    let (is_clean, output) = match changes {
        Ok(changes) if changes.trim().is_empty() => (true, String::new()),
        Ok(changes) => (false, prompts::uncommitted_changes(&changes)),
        Err(why) => (false, why),
    };
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    CommandResult {
        command: CLEAN_CHECK.to_owned(),
        exit_code: Some(i32::from(!is_clean)),
        duration_ms,
        output,
    }
}

async fn run_command(care: &TurnAcceptance<'_>, line: &str) -> CommandOutcome {
    let session = &care.context.session;
    let run = RunCommand {
        session: session.id,
        workspace: session.workspace_path.clone(),
        line: line.to_owned(),
        timeout: COMMAND_TIMEOUT,
        unconfined: false,
    };
    care.runner.toolbox().run_command(run, Arc::new(|_, _| {})).await
}

fn verdict_text(ok: bool, round: u32) -> String {
    let rounds = if round == 1 { "1 round".to_owned() } else { format!("{round} rounds") };
    if ok {
        format!("verified after {rounds}")
    } else {
        format!("not verified: it still fails after {rounds}")
    }
}

fn feedback(care: &TurnAcceptance<'_>, results: &[CommandResult], round: u32, rounds: u32) -> Message {
    let failed = results.last().map_or_else(String::new, |result| {
        let how = result.exit_code.map_or("did not finish".to_owned(), |code| format!("exited with {code}"));
        format!("`{}` {how}.\n\n{}", result.command, result.output)
    });
    let text = prompts::verification_failed(round, rounds, &failed);
    let (id, created_at) = (care.context.message_id(), care.context.clock.now());
    Message { id, role: Role::User, parts: vec![Part::text(text)], created_at }
}
