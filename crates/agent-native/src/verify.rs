//! Verification: after a turn that changed the workspace, the commands of the policy decide whether
//! the work holds. A failure goes back to the model, a few times.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostler_agent::Failed;
use ostler_tools::run_command;
use ostler_types::{CommandResult, Message, Part, Report, Role};

use crate::turn::Turn;

/// How long one command may take.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What verification came to.
pub(crate) enum Outcome {
    /// The model has been told of a failure and goes on.
    TryAgain,
    /// The turn can end: checked and held, checked and failed, or nothing to check.
    Settled(Option<bool>),
}

/// Checks the workspace, if the turn changed it and the policy has commands for it. Only a model that
/// has steps left is told of a failure.
pub(crate) async fn verify(
    turn: &mut Turn<'_>,
    rounds: &mut u32,
    steps_left: bool,
) -> Result<Outcome, Failed> {
    let policy = turn.context.session.policy.verify.clone();
    if !turn.changed || !policy.auto || policy.commands.is_empty() {
        return Ok(Outcome::Settled(None));
    }
    *rounds += 1;
    let round = *rounds;
    turn.context.report(Report::VerificationStarted { round, commands: policy.commands.clone() }).await?;
    let workspace = Path::new(&turn.context.session.workspace_path);
    let results = run_all(workspace, &policy.commands).await;
    let ok = results.iter().all(|result| result.exit_code == Some(0));
    let again = !ok && steps_left && round <= policy.max_rounds;
    let feedback = again.then(|| feedback(turn, &results, round, policy.max_rounds));
    let report = Report::VerificationCompleted { round, ok, results, feedback: feedback.clone() };
    turn.context.report(report).await?;
    turn.changed = !ok;
    match feedback {
        Some(message) => {
            turn.conversation.push(Arc::new(message));
            Ok(Outcome::TryAgain)
        }
        None => Ok(Outcome::Settled(Some(ok))),
    }
}

/// Runs the commands in order, up to the first that fails.
async fn run_all(workspace: &Path, commands: &[String]) -> Vec<CommandResult> {
    let mut results = Vec::new();
    for command in commands {
        let outcome = run_command(workspace, command, TIMEOUT, &|_, _| {}).await;
        let (exit_code, output) = (outcome.exit_code(), outcome.text());
        let duration_ms = outcome.duration_ms;
        results.push(CommandResult { command: command.clone(), exit_code, duration_ms, output });
        if exit_code != Some(0) {
            break;
        }
    }
    results
}

fn feedback(turn: &Turn<'_>, results: &[CommandResult], round: u32, rounds: u32) -> Message {
    let failed = results.last().map_or_else(String::new, |result| {
        let how = result.exit_code.map_or("did not finish".to_owned(), |code| format!("exited with {code}"));
        format!("`{}` {how}.\n\n{}", result.command, result.output)
    });
    let text = format!("Verification failed (round {round} of {rounds}): {failed}\n\nMend it.");
    let (id, created_at) = (turn.context.message_id(), turn.context.clock.now());
    Message { id, role: Role::User, parts: vec![Part::text(text)], created_at }
}
