//! Exit codes: they tell a script how it went.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Canceled => 3,
            Exit::NotApproved => 4,
            Exit::Unreachable => 5,
        })
    }
}
