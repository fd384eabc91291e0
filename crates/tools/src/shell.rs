//! The tools that run commands: `shell` to their end or in the background, `shell_process` for those in the
//! background. How a command is confined is left to `program_confiner`, how it is attended to `process`.

mod shell_process;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{CommandOutcome, Tool, ToolContext, ToolOutcome};
use ostler_types::{Subject, ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use self::shell_process::ShellProcess;
use crate::process::{BackgroundProcesses, run_program};
use crate::program_confiner::{ProgramConfiner, ProgramSpec};
use crate::text::{reveal, reveal_line};
use crate::{Failed, input, prompts, read_proof};

const DEFAULT_TIMEOUT_SECONDS: u64 = 120;
/// How long a command in the background is watched for an early end.
const EARLY_END_WAIT: Duration = Duration::from_secs(1);

/// Runs a command in the workspace.
pub(crate) struct Shell {
    confiner: Arc<ProgramConfiner>,
    processes: Arc<BackgroundProcesses>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShellInput {
    /// Command to run with bash.
    #[schemars(length(min = 1))]
    command: String,
    /// Timeout in seconds. Default 120; none for a background command.
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
    /// Working directory, relative to the workspace. Default: the workspace.
    cwd: Option<String>,
    /// Run in the background: return at once with a process_id for shell_process. Use it for servers and
    /// watchers.
    #[serde(default)]
    background: bool,
    /// Run in a pseudo-terminal (80 columns, 24 lines), for programs that need one.
    #[serde(default)]
    pty: bool,
}

impl Shell {
    pub(crate) fn new(confines: Arc<ProgramConfiner>, processes: Arc<BackgroundProcesses>) -> Shell {
        Shell { confiner: confines, processes }
    }

    async fn run_command(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Failed> {
        let input: ShellInput = input::parse(input)?;
        let mut program = ProgramSpec::bash_path(&input.command, input.cwd.as_deref());
        (program.terminal, program.long_lived) = (input.pty, input.background);
        let timeout = input.timeout_seconds.map(Duration::from_secs);
        if input.background {
            return self.leave_running(context, program, timeout).await;
        }
        let timeout = timeout.unwrap_or(Duration::from_secs(DEFAULT_TIMEOUT_SECONDS));
        Ok(outcome(run_program(&self.confiner, context, program, timeout).await))
    }

    async fn leave_running(
        &self,
        context: &ToolContext,
        program: ProgramSpec,
        timeout: Option<Duration>,
    ) -> Result<ToolOutcome, Failed> {
        let started = self.processes.start(&self.confiner, context, program, timeout).await?;
        started.process().wait_for_end(EARLY_END_WAIT).await;
        let snapshot = started.process().snapshot();
        if !snapshot.output.is_empty() {
            (context.output)("stdout", &snapshot.output);
        }
        let outcome = shell_process::outcome(&started.process().id, snapshot);
        started.release_to_session();
        Ok(outcome)
    }
}

impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "shell".to_owned(),
            description: format!("{}{}", prompts::SHELL, self.confiner.description()),
            input_schema: input::schema::<ShellInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Exec
    }

    fn summary(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str);
        let is_set = |name: &str| input.get(name) == Some(&Value::Bool(true));
        let Some(command) = field("command") else {
            return "run a command, but the input names none".to_owned();
        };
        let cwd = field("cwd").filter(|cwd| !cwd.is_empty() && *cwd != ".");
        let mut how: Vec<String> = cwd.map(|cwd| format!("in {}", reveal_line(cwd))).into_iter().collect();
        how.extend(is_set("background").then(|| "in the background".to_owned()));
        how.extend(is_set("pty").then(|| "at a terminal".to_owned()));
        if how.is_empty() { reveal(command) } else { format!("[{}] {}", how.join(", "), reveal(command)) }
    }

    fn warning(&self, _input: &Value) -> Option<String> {
        self.confiner.warning()
    }

    fn subject(&self, input: &Value, workspace: &Path) -> BoxFuture<'_, Subject> {
        let Some(line) = plain_command_line(input).map(str::to_owned) else {
            return std::future::ready(Subject::Input).boxed();
        };
        let (confines, workspace) = (Arc::clone(&self.confiner), workspace.to_owned());
        async move {
            let looking =
                move || Subject::CommandLine(Box::new(read_proof::prove_reads(line, &workspace, &confines)));
            tokio::task::spawn_blocking(looking).await.unwrap_or_default()
        }
        .boxed()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async move { self.run_command(input, &context).await.unwrap_or_else(ToolOutcome::from) }.boxed()
    }
}

/// The command line of a call that does nothing but run it in the workspace. A directory or a terminal changes what a
/// command means, so that such a call counts by its whole input.
fn plain_command_line(input: &Value) -> Option<&str> {
    let fields = input.as_object()?;
    let plain = fields
        .keys()
        .all(|name| matches!(name.as_str(), "command" | "timeout_seconds") || name.starts_with('_'));
    fields.get("command").and_then(Value::as_str).filter(|_| plain)
}

fn outcome(command: CommandOutcome) -> ToolOutcome {
    let details = json!({
        "exit_code": command.exit_code(),
        "signal": command.signal(),
        "duration_ms": command.duration_ms,
        "timed_out": command.timed_out(),
        "truncated": command.whole.is_some(),
        "notes": command.notes,
        "warnings": command.warnings,
    });
    let (ok, text) = (command.ok(), command.text());
    ToolOutcome { ok, whole: command.whole, ..ToolOutcome::done(text, details) }
}
