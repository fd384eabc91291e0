//! Runs programs: one to its end within a bounded time and with bounded output, or in the background for
//! a session.
//!
//! Nothing of a confined program outlives it. Of an unconfined one its process group does not; a process
//! that leaves the group (by `setsid`) does, and holding it is what a sandbox is for. How a program is
//! confined is left to `confine`.

mod attend;
mod background;
mod group;
mod kept;
mod terminal;

use std::process::ExitStatus;
use std::time::Duration;

use ostler_sandbox::{Aftermath, ArmedRepository, Profile, explain_denial};
use rustix::process::Signal;
use tokio::time::Instant;

pub(crate) use self::attend::Input;
use self::attend::{Cut, Taken, attend};
pub(crate) use self::background::{Background, Snapshot};
use self::group::Group;
pub(crate) use self::kept::Processes;
use crate::ToolContext;
use crate::confine::{Confines, Program};
use crate::output::Capture;
use crate::text::reveal_line;

/// How many warnings one command can lead to.
const MAX_WARNINGS: usize = 8;

/// Runs a shell command in a workspace and waits for it.
pub(crate) async fn run_command(
    confines: &Confines,
    context: &ToolContext,
    command: &str,
    timeout: Duration,
) -> CommandOutcome {
    run_program(confines, context, Program::shell(command, None), timeout).await
}

/// Runs a program and waits for it. Dropping the future kills all that it started.
pub(crate) async fn run_program(
    confines: &Confines,
    context: &ToolContext,
    program: Program,
    timeout: Duration,
) -> CommandOutcome {
    let terminal = program.terminal;
    let mut capture = Capture::new(&*context.output);
    let take = |stream: &'static str, text: &str| capture.push(stream, text);
    let ran = run(confines, context, program, timeout, Input::none(), take).await;
    let captured = capture.finish();
    let output = if terminal { terminal::plain(&captured.text) } else { captured.text };
    match ran {
        Ok(ran) => ran.outcome(output, captured.whole),
        Err(reason) => CommandOutcome::not_started(reason),
    }
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub ending: Ending,
    /// How long it took.
    pub duration_ms: u64,
    /// What it printed, both streams as they came, head and tail where it is long.
    pub output: String,
    /// All that was kept of what it printed, where `output` leaves some out.
    pub whole: Option<Vec<u8>>,
    /// Whether it left processes behind that held its output open and were killed.
    pub left_processes: bool,
    /// What the sandbox has to say of it: what it denied, what it restored, and what to beware of.
    pub notes: Vec<String>,
    /// Those of them that people must see, whatever the model makes of them.
    pub warnings: Vec<String>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code. In the sandbox a signal is 128 and its number, as in a shell.
    Exited(i32),
    /// By this signal, which came from elsewhere.
    Signaled(i32),
    /// Killed here, after this time.
    TimedOut(Duration),
    /// Killed here, because somebody asked for it or its session ended.
    Ended,
    /// It never ran, for this reason.
    NotStarted(String),
}

impl CommandOutcome {
    /// Whether the command ran and said that it succeeded.
    pub fn ok(&self) -> bool {
        self.ending == Ending::Exited(0)
    }

    /// Its exit code, if it exited.
    pub fn exit_code(&self) -> Option<i32> {
        match self.ending {
            Ending::Exited(code) => Some(code),
            Ending::Signaled(_) | Ending::TimedOut(_) | Ending::Ended | Ending::NotStarted(_) => None,
        }
    }

    /// The signal that ended it, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.ending {
            Ending::Signaled(signal) => Some(signal),
            Ending::Exited(_) | Ending::TimedOut(_) | Ending::Ended | Ending::NotStarted(_) => None,
        }
    }

    /// Whether it ran out of time.
    pub fn timed_out(&self) -> bool {
        matches!(self.ending, Ending::TimedOut(_))
    }

    /// The output and how it ended, for a model.
    pub fn text(&self) -> String {
        let mut text = self.output.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if self.left_processes {
            text.push_str(
                "[Processes that the command left behind held its output open; they were killed.]\n",
            );
        }
        text.push_str(&self.ending.text());
        for note in &self.notes {
            text.push('\n');
            text.push_str(note);
        }
        text
    }

    pub(crate) fn not_started(reason: String) -> CommandOutcome {
        let ending = Ending::NotStarted(reason);
        let (notes, warnings) = (Vec::new(), Vec::new());
        let (output, left_processes) = (String::new(), false);
        CommandOutcome { ending, duration_ms: 0, output, whole: None, left_processes, notes, warnings }
    }
}

impl Ending {
    /// How it ended, for a model.
    pub(crate) fn text(&self) -> String {
        match self {
            Ending::Exited(code) => format!("exit code {code}"),
            Ending::Signaled(signal) => format!("killed by signal {signal}"),
            Ending::TimedOut(after) => {
                format!("timed out after {} s; the command and its children were killed", after.as_secs_f64())
            }
            Ending::Ended => "ended on request; the command and its children were killed".to_owned(),
            Ending::NotStarted(reason) => format!("The command was not started: {reason}"),
        }
    }
}

/// How a program went, apart from what it printed.
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    duration_ms: u64,
    left_processes: bool,
    profile: Option<Profile>,
    aftermath: Aftermath,
}

/// Runs a program to its end, and gives what it prints to `take`. The error says why it did not start.
pub(crate) async fn run(
    confines: &Confines,
    context: &ToolContext,
    program: Program,
    timeout: Duration,
    mut input: Input,
    mut take: impl Taken,
) -> Result<Ran, String> {
    let started = Instant::now();
    let terminal = program.terminal;
    let mut prepared = confines.prepare(context, program).await.map_err(|failed| failed.0)?;
    let profile = prepared.profile.take();
    let mut group = Group::spawn(prepared, terminal, input.is_some()).map_err(|error| format!("{error}."))?;
    let cut = async {
        tokio::time::sleep_until(started + timeout).await;
        Cut::TimedOut(timeout)
    };
    let attended = attend(&mut group, &mut input, cut, &mut take).await;
    let ended = group.end().await;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let ending = attended.cut.map_or_else(|| Ending::of(ended.status), Ending::from);
    Ok(Ran { ending, duration_ms, left_processes: attended.left_open, profile, aftermath: ended.aftermath })
}

impl Ran {
    /// The same with what it printed, and what the sandbox has to say of that.
    pub(crate) fn outcome(self, output: String, whole: Option<Vec<u8>>) -> CommandOutcome {
        let Ran { ending, duration_ms, left_processes, profile, aftermath } = self;
        let (notes, warnings) = (notes(&ending, profile.as_ref(), &aftermath, &output), warnings(&aftermath));
        CommandOutcome { ending, duration_ms, output, whole, left_processes, notes, warnings }
    }
}

impl Ending {
    fn of(status: Option<ExitStatus>) -> Ending {
        use std::os::unix::process::ExitStatusExt;
        let code = status.and_then(|status| status.code());
        let signal = || status.and_then(|status| status.signal()).unwrap_or(Signal::KILL.as_raw());
        code.map_or_else(|| Ending::Signaled(signal()), Ending::Exited)
    }
}

impl From<Cut> for Ending {
    fn from(cut: Cut) -> Ending {
        match cut {
            Cut::TimedOut(after) => Ending::TimedOut(after),
            Cut::Asked => Ending::Ended,
        }
    }
}

/// What the sandbox has to say of a program that has ended.
fn notes(ending: &Ending, profile: Option<&Profile>, aftermath: &Aftermath, output: &str) -> Vec<String> {
    let denial = match (ending, profile) {
        (Ending::Exited(code), Some(profile)) => explain_denial(profile, Some(*code), output),
        (_, Some(_) | None) => None,
    };
    let put_back = aftermath.restored.iter().map(|path| {
        format!(
            "[sandbox] {} is protected; what the command did to it was undone. Ask the user to change it.",
            path.display()
        )
    });
    let armed = aftermath.armed.iter().map(|repository| {
        format!(
            "[sandbox] warning: {} is a git repository that can run programs by {}, which were not there before this \
             command. The user's own git would run them outside the sandbox, also by `git status` at the top of the \
             workspace. Remove them unless the user wants them, and tell the user before git is used there.",
            reveal_line(&repository.path.to_string_lossy()),
            reveal_line(&repository.reasons.join(", "))
        )
    });
    denial.into_iter().chain(put_back).chain(armed).collect()
}

/// What people must know of a program that has ended: their own git would run what it left behind.
fn warnings(aftermath: &Aftermath) -> Vec<String> {
    let warning = |repository: &ArmedRepository| {
        format!(
            "This command left a git repository in {} that may run programs by {}. Look at it before you use git there \
             or at the top of the workspace.",
            reveal_line(&repository.path.to_string_lossy()),
            reveal_line(&repository.reasons.join(", "))
        )
    };
    let exposed = aftermath.exposed.iter().map(|path| {
        format!(
            "{} was replaced while this command ran, so the command was ended. For a moment it could write there: look at \
             it before you use it.",
            reveal_line(&path.to_string_lossy())
        )
    });
    exposed.chain(aftermath.armed.iter().map(warning)).take(MAX_WARNINGS).collect()
}
