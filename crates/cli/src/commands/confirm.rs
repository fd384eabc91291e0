//! Yes-or-no questions on a terminal.

use ostler_line_framing::{FramedLine, LineReader};

use crate::output::print_to_stderr;

/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 64;

/// Asks, and returns the answer; anything that is neither yes nor no counts as `default`, the end of the input as no.
pub(super) async fn confirm(question: &str, default: bool) -> anyhow::Result<bool> {
    print_to_stderr(format_args!("{question} {} ", if default { "[Y/n]" } else { "[y/N]" }));
    let mut lines = LineReader::new(tokio::io::stdin(), MAX_ANSWER_BYTES);
    Ok(match lines.next_line().await? {
        Some(FramedLine::Line(line)) => match String::from_utf8_lossy(&line).trim().to_lowercase().as_str() {
            "y" | "yes" => true,
            "n" | "no" => false,
            _ => default,
        },
        Some(FramedLine::Unterminated(_) | FramedLine::TooLong) | None => false,
    })
}
