//! What commands print on stdout, and how much of it. A reader that goes away is an error like any other, and not a
//! panic; [`crate::dispatch`] makes an exit code of it.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::config::Environment;
use crate::render::wants_color;

/// How often a command that has nothing to say looks whether somebody still listens.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How a person wants to be spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Nothing but what was asked for, and errors.
    pub(crate) quiet: bool,
    /// No colours, and no line that is written again.
    pub(crate) plain: bool,
}

impl Manner {
    /// Whether to use colours on a stream.
    pub(crate) fn color(self, is_terminal: bool, environment: &Environment) -> bool {
        !self.plain && wants_color(is_terminal, environment)
    }
}

/// Prints a line.
pub(crate) fn line(text: Arguments<'_>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_fmt(text)?;
    out.write_all(b"\n")
}

/// Prints a text as it is.
pub(crate) fn text(text: Arguments<'_>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_fmt(text)?;
    out.flush()
}

/// Returns when whoever read our output has gone, for commands that may have nothing to say for hours.
pub(crate) async fn nobody_reads() -> std::io::Error {
    while !is_broken() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    ErrorKind::BrokenPipe.into()
}

/// Whether stdout is a pipe without a reader.
fn is_broken() -> bool {
    let stdout = std::io::stdout();
    let mut looked_at = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut looked_at, Some(&at_once)).is_ok() && looked_at[0].revents().contains(PollFlags::ERR)
}

/// Prints a line, in a function that can fail.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*))? };
}

/// Prints a text without a line end, in a function that can fail.
macro_rules! put {
    ($($text:tt)*) => { $crate::output::text(format_args!($($text)*))? };
}
