//! Exit codes: they tell a script how it went. `docs/command-line.md` has the same table.

use std::process::ExitCode;

/// The codes of every command, for its help.
pub const EXIT_CODES: &str = "\
Exit codes:
    0  success; for `run`: the turn completed
    1  failure; for `run`: the turn failed
    2  wrong arguments or configuration
    3  the turn was canceled by someone else
    4  approval needed, but denied or none available
    5  the daemon is unreachable
    6  no answer matched the schema (--output-schema)
    7  stopped: over budget (--max-cost)
    8  stopped: out of time (--timeout)
  130  Ctrl-C; `run` cancels its turn and keeps the partial answer
  141  output pipe closed by the reader
  143  SIGTERM; `run` cancels its turn as with Ctrl-C";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CliExit {
    /// As it should.
    Success,
    /// Something failed.
    Failure,
    /// The arguments or the configuration are wrong.
    Usage,
    /// The turn was canceled.
    Canceled,
    /// A call needed an approval that nobody gave.
    NotApproved,
    /// There is no daemon to talk to.
    Unreachable,
    /// The model's answers did not fit the schema.
    SchemaMismatch,
    /// It cost more than it was allowed to.
    OverBudget,
    /// It took longer than it was allowed to.
    TimedOut,
    /// The person at the terminal stopped it.
    Interrupted,
    /// Whoever read the output has gone.
    BrokenPipe,
    /// Another program asked it to end.
    Terminated,
}

impl CliExit {
    /// The number that the shell sees. Those of signals are what it would have put there itself.
    pub fn code(self) -> u8 {
        match self {
            CliExit::Success => 0,
            CliExit::Failure => 1,
            CliExit::Usage => 2,
            CliExit::Canceled => 3,
            CliExit::NotApproved => 4,
            CliExit::Unreachable => 5,
            CliExit::SchemaMismatch => 6,
            CliExit::OverBudget => 7,
            CliExit::TimedOut => 8,
            CliExit::Interrupted => 130,
            CliExit::BrokenPipe => 141,
            CliExit::Terminated => 143,
        }
    }
}

impl From<CliExit> for ExitCode {
    fn from(exit: CliExit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}
