//! The tool that runs a command. It has the daemon's rights in full; whether it may run is settled
//! before.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_types::{ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::path::Workspace;
use crate::process::{CommandOutcome, run_in};
use crate::text::{reveal, reveal_line};
use crate::{Failed, Tool, ToolContext, ToolOutcome, input};

const DEFAULT_TIMEOUT_SECONDS: u64 = 120;

/// Runs a command in the workspace.
pub(crate) struct Shell;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShellInput {
    /// The command, for bash.
    #[schemars(length(min = 1))]
    command: String,
    /// After how many seconds it is killed. 120 when left out.
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
    /// The directory to run it in, relative to the workspace. The workspace itself when left out.
    cwd: Option<String>,
}

impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "shell".to_owned(),
            description: "Runs a command with bash in the workspace and gives its output and exit code. Each call is a \
                          new shell: nothing carries over but files. There is no input, and whatever the command \
                          leaves running is killed when it ends. Long output is cut in the middle."
                .to_owned(),
            input_schema: input::schema::<ShellInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Exec
    }

    fn summary(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str);
        let Some(command) = field("command") else {
            return "run a command, but the input names none".to_owned();
        };
        match field("cwd").filter(|cwd| !cwd.is_empty() && *cwd != ".") {
            Some(cwd) => format!("[in {}] {}", reveal_line(cwd), reveal(command)),
            None => reveal(command),
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async move { run(input, &context).await.unwrap_or_else(ToolOutcome::from) }.boxed()
    }
}

async fn run(input: Value, context: &ToolContext) -> Result<ToolOutcome, Failed> {
    let input: ShellInput = input::parse(input)?;
    let cwd = input.cwd.as_deref().filter(|cwd| !cwd.is_empty()).unwrap_or(".");
    let directory = Workspace::open(&context.workspace)?.directory(cwd)?;
    let timeout = Duration::from_secs(input.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS));
    Ok(outcome(run_in(&directory, &input.command, timeout, &*context.output).await))
}

fn outcome(command: CommandOutcome) -> ToolOutcome {
    let details = json!({
        "exit_code": command.exit_code(),
        "signal": command.signal(),
        "duration_ms": command.duration_ms,
        "timed_out": command.timed_out(),
        "truncated": command.whole.is_some(),
    });
    let (ok, text) = (command.ok(), command.text());
    ToolOutcome { ok, text, details: Some(details), whole: command.whole, attachments: Vec::new() }
}
