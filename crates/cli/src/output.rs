//! All that commands print, on stdout and on stderr, and how much of it. Titles, answers and errors hold text of
//! models and strangers: it is made harmless here, whichever command prints it, so that no command can forget to. Only
//! what is meant for programs goes out as it is, by functions that say so. (`cargo xtask tidy` finds a command that
//! writes to the streams by itself.)
//!
//! A reader that goes away is an error like any other, and not a panic; [`crate::dispatch`] makes an exit code of it.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal, Write};
use std::time::Duration;

use ostler_config::Environment;
use ostler_types::{is_printable, printable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::render::wants_color;

/// How often a command that has nothing to say looks whether somebody still listens.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How a person wants to be spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutputManner {
    /// Nothing but what was asked for, and errors.
    pub(crate) quiet: bool,
    /// No colours, and no line that is written again.
    pub(crate) plain: bool,
}

impl OutputManner {
    /// Whether to use colours on a stream.
    pub(crate) fn color(self, is_terminal: bool, environment: &Environment) -> bool {
        !self.plain && wants_color(is_terminal, environment)
    }
}

/// Where something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    /// Results.
    Stdout,
    /// Progress, questions and errors.
    Stderr,
}

impl OutputStream {
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            OutputStream::Stdout => std::io::stdout().is_terminal(),
            OutputStream::Stderr => std::io::stderr().is_terminal(),
        }
    }

    fn write(self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            OutputStream::Stdout => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            OutputStream::Stderr => std::io::stderr().lock().write_all(bytes),
        }
    }
}

/// Prints a line.
pub(crate) fn line(text: Arguments<'_>) -> std::io::Result<()> {
    OutputStream::Stdout.write(format!("{}\n", printable(&text.to_string())).as_bytes())
}

/// Prints a text without a line end.
pub(crate) fn text(text: Arguments<'_>) -> std::io::Result<()> {
    OutputStream::Stdout.write(printable(&text.to_string()).as_bytes())
}

/// Says something on stderr, to whoever may listen.
pub(crate) fn print_to_stderr(text: Arguments<'_>) {
    _ = OutputStream::Stderr.write(printable(&text.to_string()).as_bytes());
}

/// Prints a text with our own colours in it.
pub(crate) fn styled(place: OutputStream, text: &str) -> std::io::Result<()> {
    if text.is_empty() { Ok(()) } else { place.write(printable_styled(text).as_bytes()) }
}

/// Draws on the terminal. `text` may move the cursor, so whatever others have said must be in it as
/// [`printable_styled`] text.
pub(crate) fn draw(text: &str) -> std::io::Result<()> {
    OutputStream::Stdout.write(text.as_bytes())
}

/// Prints a value for a program. What a terminal would act on is written as `\u…`, which means the same.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(OutputStream::Stdout.write(format!("{}\n", escaped_json(&text)).as_bytes())?)
}

/// Prints a line of JSON that a daemon sent: byte for byte into a pipe, since a record's chain covers its bytes.
pub(crate) fn json_line(line: &str) -> std::io::Result<()> {
    let line = if OutputStream::Stdout.is_terminal() { escaped_json(line) } else { Cow::Borrowed(line) };
    OutputStream::Stdout.write(format!("{line}\n").as_bytes())
}

/// Stdout for the bytes of a file. On a terminal they are made harmless like any other text, a line at a time.
#[derive(Default)]
pub(crate) struct FileOutput {
    begun: Vec<u8>,
}

impl Write for FileOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !OutputStream::Stdout.is_terminal() {
            std::io::stdout().lock().write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.begun.extend_from_slice(bytes);
        let whole = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.begun.drain(..whole).collect();
        OutputStream::Stdout.write(printable(&String::from_utf8_lossy(&lines)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let rest = std::mem::take(&mut self.begun);
        OutputStream::Stdout.write(printable(&String::from_utf8_lossy(&rest)).as_bytes())
    }
}

/// Stderr for the daemon's own log, whose lines name files and repeat what others have sent.
pub(crate) struct LogOutput;

impl Write for LogOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        OutputStream::Stderr.write(printable_styled(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The text without what a terminal would act on, but for colours: these very sequences, which hide nothing.
pub(crate) fn printable_styled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let (before, sequence) = rest.split_at(at);
        out.push_str(&printable(before));
        let style = STYLES.iter().find(|style| sequence.starts_with(*style));
        match style {
            Some(style) => {
                out.push_str(style);
                rest = &sequence[style.len()..];
            }
            None => {
                // Together with what follows, so that a whole sequence goes.
                let end = sequence[1..].find('\x1b').map_or(sequence.len(), |at| at + 1);
                out.push_str(&printable(&sequence[..end]));
                rest = &sequence[end..];
            }
        }
    }
    out.push_str(&printable(rest));
    out
}

/// The colours of our own renderer and of the log.
const STYLES: [&str; 14] = [
    "\x1b[0m",
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[3m",
    "\x1b[31m",
    "\x1b[32m",
    "\x1b[33m",
    "\x1b[34m",
    "\x1b[35m",
    "\x1b[36m",
    "\x1b[1;33m",
    "\x1b[4m",
    "\x1b[22m",
    "\x1b[39m",
];

/// JSON in which every character that is not to be shown is written as an escape. Such characters only stand in strings.
fn escaped_json(text: &str) -> Cow<'_, str> {
    let is_shown = |c: char| matches!(c, '\n' | '\t') || is_printable(c);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_shown(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    Cow::Owned(out)
}

/// Stdout for a protocol between programs, in which nothing may be changed.
pub(crate) fn wire() -> tokio::io::Stdout {
    tokio::io::stdout()
}

/// Columns and rows of the terminal, if stdout is one.
pub(crate) fn terminal_size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Returns when whoever read our output has gone, for commands that may have nothing to say for hours.
pub(crate) async fn wait_for_closed_stdout() -> std::io::Error {
    while !is_stdout_closed() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    ErrorKind::BrokenPipe.into()
}

/// Whether stdout is a pipe without a reader.
fn is_stdout_closed() -> bool {
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

/// Says a line on stderr.
macro_rules! report {
    ($($text:tt)*) => { $crate::output::print_to_stderr(format_args!("{}\n", format_args!($($text)*))) };
}

#[cfg(test)]
mod tests {
    use super::{escaped_json, printable_styled};

    #[test]
    fn our_own_colours_stay_and_nothing_else_does() {
        let text = "\x1b[31mbad\x1b[0m \x1b[8mhidden\x1b[2Jx\x1b[38;5;1my\x1b]0;title\x07z\u{202e}";
        assert_eq!(printable_styled(text), "\x1b[31mbad\x1b[0m hiddenxyz");
        assert_eq!(printable_styled("a\x1b[\x1b[1mb\x1b["), "a\x1b[1mb");
    }

    #[test]
    fn json_means_the_same_after_it_was_made_harmless() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}2J\u{e0041}\u{7f}é\n\t👩"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escaped_json(&text);
        assert!(
            escaped.is_ascii() || escaped.chars().all(|c| !matches!(c, '\u{9b}' | '\u{202e}' | '\u{7f}'))
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
