//! Small pieces of text: the excerpt of an output, a time, a reason.

use super::LINE_WIDTH;
use super::clean::{clean, in_one_line};

/// How many lines of an output are drawn.
const OUTPUT_LINES: usize = 4;

/// The first and the last lines of a text, and how many were left out between them.
pub(super) fn excerpt(text: &str) -> Vec<String> {
    let text = clean(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let short = |line: &&str| in_one_line(line, LINE_WIDTH);
    if lines.len() <= OUTPUT_LINES + 1 {
        return lines.iter().map(short).collect();
    }
    let (head, tail) = (OUTPUT_LINES / 2, OUTPUT_LINES - OUTPUT_LINES / 2);
    let mut kept: Vec<String> = lines[..head].iter().map(short).collect();
    kept.push(format!("… {} more lines", lines.len() - OUTPUT_LINES));
    kept.extend(lines[lines.len() - tail..].iter().map(short));
    kept
}

/// Adds a reason, if there is one.
pub(super) fn with_reason(text: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) if !reason.trim().is_empty() => format!("{text}: {reason}"),
        _ => text.to_owned(),
    }
}

/// A time as people say it.
pub(super) fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1000),
    }
}
