//! The commands that we run for an agent: each in the sandbox, each ended with its turn at the latest.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::CreateTerminalRequest;
use ostler_runner::{OutputSink, RunCommand, Runner, ToolOutcome};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How many commands run at once.
const MAX_RUNNING: usize = 16;
/// How much of a command's output is kept at most, and where nothing is said.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// How long a command may take, since a turn may take as long as it likes.
pub(crate) const LONGEST_COMMAND: Duration = Duration::from_secs(24 * 60 * 60);

/// The commands of a turn. Dropping it ends them.
#[derive(Default)]
pub(crate) struct Terminals {
    all: HashMap<String, AgentTerminal>,
    count: u64,
}

struct AgentTerminal {
    buffer: Arc<TerminalBuffer>,
    exit: TerminalExitReceiver,
    task: JoinHandle<()>,
}

/// What a command has printed, as far as it is kept.
pub(crate) struct TerminalBuffer {
    text_and_cut: Mutex<(String, bool)>,
    limit: usize,
}

/// How a command ended.
#[derive(Debug, Clone)]
pub(crate) struct TerminalExit {
    pub(crate) code: Option<u32>,
    pub(crate) signal: Option<String>,
    text: String,
    is_ok: bool,
}

/// A command's end, which may be yet to come.
#[derive(Clone)]
pub(crate) struct TerminalExitReceiver(watch::Receiver<Option<TerminalExit>>);

impl Terminals {
    /// Starts a command, and returns its name and its end.
    pub(crate) fn start(
        &mut self,
        runner: Arc<dyn Runner>,
        display: Arc<OutputSink>,
        command: RunCommand,
        limit: Option<u64>,
    ) -> Result<(String, TerminalExitReceiver), String> {
        let running = self.all.values().filter(|terminal| terminal.exit.now().is_none()).count();
        if running >= MAX_RUNNING || self.all.len() >= 16 * MAX_RUNNING {
            return Err(format!(
                "{running} commands run already; wait for one of them, or release those that ended"
            ));
        }
        self.count += 1;
        let id = format!("terminal_{}", self.count);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MAX_OUTPUT_BYTES);
        let shown =
            Arc::new(TerminalBuffer { text_and_cut: Mutex::default(), limit: limit.min(MAX_OUTPUT_BYTES) });
        let keep = Arc::clone(&shown);
        let output = Arc::new(move |stream: &'static str, text: &str| {
            keep.push(text);
            display(stream, text);
        });
        let (sender, exit) = watch::channel(None);
        let task = tokio::spawn(async move {
            let outcome = runner.toolbox().run_command(command, output).await;
            let code = outcome.exit_code().and_then(|code| u32::try_from(code).ok());
            let signal = outcome.signal().map(|signal| signal.to_string());
            sender.send_replace(Some(TerminalExit {
                code,
                signal,
                text: outcome.text(),
                is_ok: outcome.ok(),
            }));
        });
        let exit = TerminalExitReceiver(exit);
        self.all.insert(id.clone(), AgentTerminal { buffer: shown, exit: exit.clone(), task });
        Ok((id, exit))
    }

    pub(crate) fn get(&self, id: &str) -> Option<(Arc<TerminalBuffer>, TerminalExitReceiver)> {
        self.all.get(id).map(|terminal| (Arc::clone(&terminal.buffer), terminal.exit.clone()))
    }

    /// What a command has printed.
    pub(crate) fn printed(&self, id: &str) -> Option<String> {
        self.all.get(id).map(|terminal| terminal.buffer.text().0)
    }

    /// Ends a command; forgets it if that is wanted.
    pub(crate) fn end(&mut self, id: &str, forgets: bool) {
        if let Some(terminal) = self.all.get(id) {
            terminal.task.abort();
        }
        // Its output may still belong to a call, so that only the process is let go of.
        if forgets && self.all.len() > MAX_RUNNING {
            self.all.remove(id);
        }
    }

    pub(crate) fn end_all(&mut self) {
        self.all.values().for_each(|terminal| terminal.task.abort());
    }
}

impl Drop for AgentTerminal {
    fn drop(&mut self) {
        // The future that is dropped with the task kills the command and all that it started.
        self.task.abort();
    }
}

impl TerminalBuffer {
    /// What is kept, and whether something is left out.
    pub(crate) fn text(&self) -> (String, bool) {
        self.text_and_cut.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the end of what was printed.
    fn push(&self, text: &str) {
        let mut kept = self.text_and_cut.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.push_str(text);
        // Cutting a little more than needed keeps the cost in proportion to what is printed.
        if kept.0.len() > self.limit + self.limit / 4 {
            let from = kept.0.ceil_char_boundary(kept.0.len() - self.limit);
            kept.0.drain(..from);
            kept.1 = true;
        }
    }
}

impl TerminalExitReceiver {
    /// How it ended, if it has.
    pub(crate) fn now(&self) -> Option<TerminalExit> {
        let ended = self.0.borrow().clone();
        ended.or_else(|| self.0.has_changed().is_err().then(killed))
    }

    /// Waits until it has ended.
    pub(crate) async fn wait(mut self) -> TerminalExit {
        let ended = self.0.wait_for(Option::is_some).await;
        ended.ok().and_then(|exit| exit.clone()).unwrap_or_else(killed)
    }

    /// Waits until it has ended, for the record.
    pub(crate) async fn outcome(self) -> ToolOutcome {
        let exit = self.wait().await;
        let details = json!({"exit_code": exit.code, "signal": exit.signal});
        ToolOutcome { ok: exit.is_ok, ..ToolOutcome::done(exit.text, details) }
    }
}

/// The end of a command that was ended from here.
fn killed() -> TerminalExit {
    let text = "ended on request; the command and its children were killed".to_owned();
    TerminalExit { code: None, signal: Some("SIGKILL".to_owned()), text, is_ok: false }
}

/// The command line of a request: what a shell makes of it is what was asked for, and what a person is shown.
pub(crate) fn command_line(request: &CreateTerminalRequest, workspace: &Path) -> Result<String, String> {
    // Without arguments agents put a whole line there.
    let mut line = if request.args.is_empty() {
        request.command.clone()
    } else {
        let words = std::iter::once(&request.command).chain(&request.args);
        words.map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ")
    };
    let mut variables = Vec::new();
    for variable in &request.env {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if variable.name.is_empty()
            || !variable.name.chars().all(is_name)
            || variable.name.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(format!("`{}` cannot be the name of a variable", variable.name));
        }
        variables.push(format!("{}={}", variable.name, shell_quoted(&variable.value)));
    }
    if !variables.is_empty() {
        line = format!("export {}; {line}", variables.join(" "));
    }
    match request.cwd.as_deref().filter(|cwd| *cwd != workspace) {
        None => Ok(line),
        Some(cwd) if workspace.join(cwd).starts_with(workspace) => {
            Ok(format!("cd -- {} && {line}", shell_quoted(&cwd.to_string_lossy())))
        }
        Some(cwd) => Err(format!("{} is outside the workspace", cwd.display())),
    }
}

/// A command line without the variable that tells a command which session it belongs to, and nothing else.
pub(crate) fn without_session_variable(line: &str) -> &str {
    let bare = || {
        let (value, bare) = line.strip_prefix("export AGENT_SESSION_ID=")?.split_once("; ")?;
        (shell_quoted(value) == value).then_some(bare)
    };
    bare().unwrap_or(line)
}

/// A word as a shell reads it back.
fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use agent_client_protocol::v1::schema::{CreateTerminalRequest, EnvVariable};

    use super::{command_line, without_session_variable};

    #[test]
    fn only_the_variable_of_a_session_counts_for_nothing() {
        assert_eq!(without_session_variable("export AGENT_SESSION_ID=2026_1; make"), "make");
        for other in ["make", "export PATH=x; make", "export AGENT_SESSION_ID=$(id); make"] {
            assert_eq!(without_session_variable(other), other);
        }
    }

    #[test]
    fn a_request_is_a_command_line() {
        let request = |command: &str| CreateTerminalRequest::new("s", command.to_owned());
        let workspace = Path::new("/home/me");
        let line = |request: CreateTerminalRequest| command_line(&request, workspace);
        assert_eq!(line(request("npm test")).unwrap(), "npm test");
        let words = ["it's".to_owned(), "$HOME".to_owned(), String::new()].to_vec();
        assert_eq!(line(request("echo").args(words)).unwrap(), r"echo 'it'\''s' '$HOME' ''");
        let variable = |name: &str| vec![EnvVariable::new(name.to_owned(), "a b".to_owned())];
        assert_eq!(line(request("env").env(variable("A"))).unwrap(), "export A='a b'; env");
        assert!(line(request("env").env(variable("A;rm"))).is_err());
        let at = |cwd: &str| request("ls").cwd(Path::new(cwd).to_owned());
        assert_eq!(line(at("/home/me")).unwrap(), "ls");
        assert_eq!(line(at("/home/me/a b")).unwrap(), "cd -- '/home/me/a b' && ls");
        assert!(line(at("/etc")).is_err());
    }
}
