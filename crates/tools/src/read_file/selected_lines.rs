//! The lines of a text that were asked for, with their numbers, within limits; and how many there are.

use std::borrow::Cow;
use std::fmt::Write;
use std::io::BufRead;

use ostler_runner::ToolOutcome;
use ostler_workspace_fs::TextEncoding;
use serde_json::json;

use crate::Failed;
use crate::blocking::StopFlag;
use crate::text::cut;

/// How much text the model gets at once.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Where a line is cut, in characters.
const MAX_LINE: usize = 2_000;
/// How far a file is read to count its lines.
const MAX_SCANNED_BYTES: u64 = 256 * 1024 * 1024;
/// How much of a line is kept: four bytes are the longest character, and one more than the limit shows
/// that it was passed.
const MAX_LINE_BYTES: usize = 4 * (MAX_LINE + 1);

/// The lines that were asked for, and how many there are.
pub(super) struct SelectedLines {
    start: u64,
    end: u64,
    encoding: TextEncoding,
    /// The starts of lines, and their whole lengths.
    lines: Vec<(Vec<u8>, usize)>,
    bytes: usize,
    /// Whether lines that were asked for are left out.
    is_cut: bool,
    count: u64,
}

impl SelectedLines {
    pub(super) fn new(start: u64, end: u64, encoding: TextEncoding) -> SelectedLines {
        SelectedLines { start, end, encoding, lines: Vec::new(), bytes: 0, is_cut: false, count: 0 }
    }

    /// Reads to the end, or as far as a file is read, and says which.
    pub(super) fn scan(&mut self, mut reader: impl BufRead, stop: &StopFlag) -> std::io::Result<bool> {
        let (mut scanned, mut line, mut line_bytes) = (0, Vec::new(), 0);
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() || scanned >= MAX_SCANNED_BYTES || stop.is_set() {
                let is_whole = buffer.is_empty();
                if line_bytes > 0 {
                    self.add_line(&line, line_bytes);
                }
                return Ok(is_whole);
            }
            let end = memchr::memchr(b'\n', buffer).map(|at| at + 1);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let room = MAX_LINE_BYTES.saturating_sub(line.len());
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            line_bytes += piece.len();
            if end.is_some() {
                self.add_line(&line, line_bytes);
                line.clear();
                line_bytes = 0;
            }
            let consumed = piece.len();
            scanned += consumed as u64;
            reader.consume(consumed);
        }
    }

    /// Takes the next line: the start of it, and its whole length.
    fn add_line(&mut self, line: &[u8], line_bytes: usize) {
        self.count += 1;
        if self.is_cut || self.count < self.start || self.count > self.end {
            return;
        }
        let has_mark = self.count == 1 && self.encoding != TextEncoding::Utf8;
        let line = if has_mark { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) } else { line };
        // The number and the tab count too; a cut line is no longer than what is kept of it.
        if self.bytes + line.len() + 12 > MAX_TEXT_BYTES {
            self.is_cut = true;
            return;
        }
        self.bytes += line.len() + 12;
        self.lines.push((line.to_vec(), line_bytes));
    }

    pub(super) fn outcome(self, path: &str, is_whole: bool, size: u64) -> Result<ToolOutcome, Failed> {
        let (start, count) = (self.start, self.count);
        if count < start && !(count == 0 && start == 1) {
            let read_to = if is_whole { "has only" } else { "is too long to read past" };
            return Err(Failed::new(format!("`{path}` {read_to} {count} lines; `start_line` was {start}.")));
        }
        let decoder = LineDecoder::for_lines(&self.lines);
        let mut text = String::with_capacity(self.bytes);
        for (number, (line, line_bytes)) in (start..).zip(&self.lines) {
            write_line(&mut text, number, &decoder.decode(line, *line_bytes), *line_bytes);
        }
        let last = start - 1 + self.lines.len() as u64;
        let mut notes = Vec::new();
        if count == 0 {
            notes.push(format!("`{path}` is empty."));
        }
        let of = if is_whole { format!("of {count}") } else { "of very many".to_owned() };
        if self.is_cut || (!is_whole && last < self.end) {
            notes.push(format!(
                "Showing lines {start} to {last} {of}. Continue with start_line {}.",
                last + 1
            ));
        }
        notes.extend(decoder.note().or(encoding_note(self.encoding)).map(str::to_owned));
        if !notes.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[{}]", notes.join(" ")));
        }
        let details = json!({
            "start_line": if count == 0 { 0 } else { start },
            "end_line": last,
            "total_lines": is_whole.then_some(count),
            "bytes": size,
            "truncated": self.is_cut || !is_whole,
            "encoding": decoder.name().unwrap_or(encoding_name(self.encoding)),
        });
        Ok(ToolOutcome::done(text, details))
    }
}

fn write_line(text: &mut String, number: u64, line: &str, line_bytes: usize) {
    let body = line.strip_suffix('\n').unwrap_or(line);
    let (kept, left_out) = cut(body, MAX_LINE);
    // Writing to a string cannot fail.
    let _ = write!(text, "{number}\t{kept}");
    if left_out > 0 || line_bytes > MAX_LINE_BYTES {
        let _ = writeln!(text, " [line truncated after {MAX_LINE} characters; it has {line_bytes} bytes]");
    } else {
        text.push_str(&line[body.len()..]);
    }
}

/// How bytes become text, decided once for all lines that are shown.
enum LineDecoder {
    Utf8,
    /// UTF-8 with bytes that are none, which are replaced.
    Lossy,
    /// No UTF-8 at all: every byte is a character.
    Latin1,
}

impl LineDecoder {
    /// Where no character beyond ASCII is good UTF-8 and some bytes are bad, the file was never UTF-8.
    fn for_lines(lines: &[(Vec<u8>, usize)]) -> LineDecoder {
        let (mut has_good, mut has_bad) = (false, false);
        for (line, line_bytes) in lines {
            for chunk in whole_characters(line, *line_bytes).utf8_chunks() {
                has_good |= !chunk.valid().is_ascii();
                has_bad |= !chunk.invalid().is_empty();
            }
        }
        match (has_good, has_bad) {
            (_, false) => LineDecoder::Utf8,
            (true, true) => LineDecoder::Lossy,
            (false, true) => LineDecoder::Latin1,
        }
    }

    fn decode<'a>(&self, line: &'a [u8], line_bytes: usize) -> Cow<'a, str> {
        match self {
            LineDecoder::Utf8 | LineDecoder::Lossy => {
                String::from_utf8_lossy(whole_characters(line, line_bytes))
            }
            LineDecoder::Latin1 => line.iter().map(|byte| char::from(*byte)).collect(),
        }
    }

    fn name(&self) -> Option<&'static str> {
        match self {
            LineDecoder::Utf8 | LineDecoder::Lossy => None,
            LineDecoder::Latin1 => Some("latin-1"),
        }
    }

    fn note(&self) -> Option<&'static str> {
        match self {
            LineDecoder::Utf8 => None,
            LineDecoder::Lossy => Some("Some bytes are not UTF-8 and are shown as \u{fffd}."),
            LineDecoder::Latin1 => Some("The file is not UTF-8; it is shown as Latin-1 (a guess)."),
        }
    }
}

/// The line without the start of a character whose rest was cut off.
fn whole_characters(line: &[u8], line_bytes: usize) -> &[u8] {
    if line.len() < MAX_LINE_BYTES || line.len() == line_bytes {
        return line;
    }
    let back = line.iter().rev().take(3).position(|byte| *byte >= 0xc0).map_or(0, |at| at + 1);
    &line[..line.len() - back]
}

fn encoding_name(encoding: TextEncoding) -> &'static str {
    match encoding {
        TextEncoding::Utf8 | TextEncoding::Utf8Marked => "utf-8",
        TextEncoding::Utf16Little => "utf-16le",
        TextEncoding::Utf16Big => "utf-16be",
    }
}

fn encoding_note(encoding: TextEncoding) -> Option<&'static str> {
    match encoding {
        TextEncoding::Utf8 => None,
        TextEncoding::Utf8Marked => Some("The file begins with a byte-order mark, which is not shown."),
        TextEncoding::Utf16Little => Some("The file is UTF-16 (little-endian) with a byte-order mark."),
        TextEncoding::Utf16Big => Some("The file is UTF-16 (big-endian) with a byte-order mark."),
    }
}
