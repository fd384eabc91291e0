//! A command line that the daemon itself has run in a workspace: a check, or the terminal of a third-party agent.

use std::time::Duration;

use ostler_types::SessionId;
use serde::{Deserialize, Serialize};

/// A command line to run in a workspace, confined like the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCommand {
    /// The session that it is run for.
    pub session: SessionId,
    /// The workspace.
    pub workspace: String,
    /// The line, for a shell.
    pub line: String,
    /// The time after which it is killed.
    pub timeout: Duration,
    /// Whether somebody has agreed that it runs unconfined where nothing confines it. Where it can be confined, it is
    /// confined all the same.
    pub unconfined: bool,
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutcome {
    /// How it ended.
    pub ending: CommandEnding,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnding {
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
        self.ending == CommandEnding::Exited(0)
    }

    /// Its exit code, if it exited.
    pub fn exit_code(&self) -> Option<i32> {
        match self.ending {
            CommandEnding::Exited(code) => Some(code),
            CommandEnding::Signaled(_)
            | CommandEnding::TimedOut(_)
            | CommandEnding::Ended
            | CommandEnding::NotStarted(_) => None,
        }
    }

    /// The signal that ended it, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.ending {
            CommandEnding::Signaled(signal) => Some(signal),
            CommandEnding::Exited(_)
            | CommandEnding::TimedOut(_)
            | CommandEnding::Ended
            | CommandEnding::NotStarted(_) => None,
        }
    }

    /// Whether it ran out of time.
    pub fn timed_out(&self) -> bool {
        matches!(self.ending, CommandEnding::TimedOut(_))
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

    /// The outcome of a command that never ran.
    pub fn not_started(reason: String) -> CommandOutcome {
        let ending = CommandEnding::NotStarted(reason);
        let (notes, warnings) = (Vec::new(), Vec::new());
        let (output, left_processes) = (String::new(), false);
        CommandOutcome { ending, duration_ms: 0, output, whole: None, left_processes, notes, warnings }
    }
}

impl CommandEnding {
    /// How it ended, for a model.
    pub fn text(&self) -> String {
        match self {
            CommandEnding::Exited(code) => format!("exit code {code}"),
            CommandEnding::Signaled(signal) => format!("killed by signal {signal}"),
            CommandEnding::TimedOut(after) => {
                format!("timed out after {} s; the command and its children were killed", after.as_secs_f64())
            }
            CommandEnding::Ended => "ended on request; the command and its children were killed".to_owned(),
            CommandEnding::NotStarted(reason) => format!("The command was not started: {reason}"),
        }
    }
}
