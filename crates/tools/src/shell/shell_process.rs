//! The tool for a command that was left running: what it has printed, something to read for it, its end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{CommandEnding, Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::process::{BackgroundProcesses, BackgroundSnapshot};
use crate::text::{reveal, reveal_line};
use crate::{Failed, input, prompts};

/// How long an answer to what was written is awaited when nothing is said of it.
const ANSWER_SECONDS: u64 = 1;
/// How much may be written at once.
const MAX_INPUT_BYTES: usize = 64 * 1024;

/// Looks after a command in the background.
pub(crate) struct ShellProcess {
    processes: Arc<BackgroundProcesses>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShellProcessInput {
    /// The process_id that `shell` returned.
    #[schemars(length(min = 1))]
    process_id: String,
    /// `poll` returns output since the last call, `write` sends input, `kill` stops the process.
    action: ShellProcessAction,
    /// Input for `write`. End a line with a newline; in a pseudo-terminal \u0003 sends Ctrl-C.
    input: Option<String>,
    /// Seconds to wait for output or exit if there is no new output yet. Default: 0 for `poll`, 1 for
    /// `write`.
    #[schemars(range(min = 0, max = 120))]
    wait_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ShellProcessAction {
    Poll,
    Write,
    Kill,
}

impl ShellProcess {
    pub(crate) fn new(processes: Arc<BackgroundProcesses>) -> ShellProcess {
        ShellProcess { processes }
    }

    async fn act(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Failed> {
        let input: ShellProcessInput = input::parse(input)?;
        let process = self.processes.get(context.session, &input.process_id)?;
        let wait = input.wait_seconds.map(Duration::from_secs);
        match input.action {
            ShellProcessAction::Poll => process.wait_for_output(wait.unwrap_or_default()).await,
            ShellProcessAction::Write => {
                let text = input.input.filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| Failed::new("`input` is required with `write`."))?;
                if text.len() > MAX_INPUT_BYTES {
                    return Err(Failed::new(format!(
                        "`input` is longer than {MAX_INPUT_BYTES} bytes. Write it to a file instead."
                    )));
                }
                process.write(text).map_err(Failed::new)?;
                process.wait_for_output(wait.unwrap_or(Duration::from_secs(ANSWER_SECONDS))).await;
            }
            ShellProcessAction::Kill => {
                process.request_end();
                process.wait_until_ended().await;
            }
        }
        let snapshot = process.snapshot();
        if !snapshot.output.is_empty() {
            (context.output)("stdout", &snapshot.output);
        }
        let outcome = outcome(&process.id, snapshot);
        // That it failed is the process's affair; it was looked at.
        Ok(ToolOutcome { ok: true, ..outcome })
    }
}

impl Tool for ShellProcess {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "shell_process".to_owned(),
            description: prompts::SHELL_PROCESS.to_owned(),
            input_schema: input::schema::<ShellProcessInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Exec
    }

    fn kind_of(&self, input: &Value) -> ToolKind {
        match input.get("action").and_then(Value::as_str) {
            Some("poll") => ToolKind::Read,
            Some(_) | None => ToolKind::Exec,
        }
    }

    fn summary(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = reveal_line(field("process_id"));
        match field("action") {
            "poll" => format!("look at the output of process {id}"),
            "write" => format!("write to process {id}: {}", reveal(field("input"))),
            "kill" => format!("end process {id}"),
            other => format!("do something unknown ({}) with process {id}", reveal_line(other)),
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async move { self.act(input, &context).await.unwrap_or_else(ToolOutcome::from) }.boxed()
    }
}

/// How a process stands and what it printed, for the model and for clients.
pub(super) fn outcome(id: &str, snapshot: BackgroundSnapshot) -> ToolOutcome {
    let BackgroundSnapshot { output, full_output: whole, ending, notes, warnings } = snapshot;
    let mut text = output;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&match &ending {
        Some(ending) => format!("[process {id} has ended: {}]", ending.text()),
        None => format!("[process {id} is running]"),
    });
    for note in &notes {
        text.push('\n');
        text.push_str(note);
    }
    let exit_code = match ending {
        Some(CommandEnding::Exited(code)) => Some(code),
        Some(
            CommandEnding::Signaled(_)
            | CommandEnding::TimedOut(_)
            | CommandEnding::Ended
            | CommandEnding::NotStarted(_),
        )
        | None => None,
    };
    let details = json!({
        "process_id": id,
        "running": ending.is_none(),
        "exit_code": exit_code,
        "truncated": whole.is_some(),
        "notes": notes,
        "warnings": warnings,
    });
    let ok = ending.is_none_or(|ending| ending == CommandEnding::Exited(0));
    ToolOutcome { ok, whole, ..ToolOutcome::done(text, details) }
}
