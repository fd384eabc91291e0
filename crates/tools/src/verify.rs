//! The tool that checks the work: runs the session's verification commands, or others, one after the
//! other, and reports each. What runs by itself at the end of a turn is left to the agent.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{CommandOutcome, Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::process::run_command;
use crate::program_confiner::ProgramConfiner;
use crate::text::{head, reveal, tail};
use crate::{Failed, input, prompts};

/// How long one command may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How many commands one call may run.
const MAX_COMMANDS: usize = 16;
/// How much of all outputs together the model sees.
const SHOWN_BYTES: usize = 48 * 1024;
/// How much of all outputs together is kept.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Runs verification commands.
pub(crate) struct Verify {
    confiner: Arc<ProgramConfiner>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VerifyInput {
    /// Commands to run with bash, at most 16. Default: the commands in the session's policy.
    commands: Option<Vec<String>>,
}

impl Verify {
    pub(crate) fn new(confines: Arc<ProgramConfiner>) -> Verify {
        Verify { confiner: confines }
    }

    async fn run_all(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Failed> {
        let input: VerifyInput = input::parse(input)?;
        let commands = input.commands.unwrap_or_else(|| context.verify_commands.clone());
        if commands.is_empty() {
            return Err(Failed::new(
                "Nothing to run: the session's policy has no verification commands. Set `commands`.",
            ));
        }
        if commands.len() > MAX_COMMANDS {
            return Err(Failed::new(format!(
                "`commands` has more than {MAX_COMMANDS} commands. Run fewer at once."
            )));
        }
        let mut outcomes = Vec::new();
        for command in commands {
            (context.output)("stdout", &format!("$ {command}\n"));
            let outcome = run_command(&self.confiner, context, &command, TIMEOUT).await;
            outcomes.push((command, outcome));
        }
        Ok(report(&outcomes))
    }
}

impl Tool for Verify {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "verify".to_owned(),
            description: prompts::VERIFY.to_owned(),
            input_schema: input::schema::<VerifyInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Exec
    }

    fn summary(&self, input: &Value) -> String {
        let commands = input.get("commands").and_then(Value::as_array);
        let Some(commands) = commands else {
            return "run the session's verification commands".to_owned();
        };
        let shown = commands.iter().map(|command| match command.as_str() {
            Some(command) => reveal(command),
            None => reveal(&command.to_string()),
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    fn warning(&self, _input: &Value) -> Option<String> {
        self.confiner.warning()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async move { self.run_all(input, &context).await.unwrap_or_else(ToolOutcome::from) }.boxed()
    }
}

fn report(outcomes: &[(String, CommandOutcome)]) -> ToolOutcome {
    let share = SHOWN_BYTES / outcomes.len();
    let succeeded = outcomes.iter().filter(|(_, outcome)| outcome.ok()).count();
    let ok = succeeded == outcomes.len();
    let mut text = match ok {
        true => "Verification succeeded.\n".to_owned(),
        false => {
            format!("Verification failed: {} of {} commands.\n", outcomes.len() - succeeded, outcomes.len())
        }
    };
    let (mut whole, mut is_cut) = (String::new(), false);
    let mut results = Vec::new();
    for (command, outcome) in outcomes {
        let all = outcome.text();
        let shown = without_middle(&all, share);
        is_cut |= outcome.whole.is_some() || all.len() > share;
        let seconds = Duration::from_millis(outcome.duration_ms).as_secs_f64();
        let heading = format!("\n$ {command}  ({seconds:.1} s)\n");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{heading}{shown}");
        let kept = outcome.whole.as_deref().map(String::from_utf8_lossy);
        for piece in [&heading, kept.as_deref().unwrap_or(&all), "\n"] {
            whole.push_str(head(piece, KEPT_BYTES.saturating_sub(whole.len())));
        }
        results.push(json!({
            "command": command,
            "exit_code": outcome.exit_code(),
            "duration_ms": outcome.duration_ms,
            "output": shown,
        }));
    }
    let whole = is_cut.then(|| whole.into_bytes());
    ToolOutcome { ok, whole, ..ToolOutcome::done(text, json!({"ok": ok, "results": results})) }
}

/// A text without its middle, where it is long.
fn without_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let (first, last) = (head(text, limit / 2), tail(text, limit / 2));
    format!("{first}\n[… truncated …]\n{last}")
}
