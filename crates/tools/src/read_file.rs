//! The tool that reads a text file, in whole or by lines. It never holds more of a file than it shows.

use std::io::{BufRead, BufReader, Read, Seek};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_types::{ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocking::{Stop, run_blocking};
use crate::path::Workspace;
use crate::text::{cut, reveal_line};
use crate::{Failed, Tool, ToolContext, ToolOutcome, input};

/// How much text the model gets at once.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Where a line is cut, in characters.
const MAX_LINE: usize = 2_000;
/// How far a file is read to count its lines.
const MAX_SCANNED_BYTES: u64 = 256 * 1024 * 1024;
/// How much of the start is looked at to tell text from other data.
const SAMPLE_BYTES: u64 = 8 * 1024;

/// Reads a file of the workspace.
pub(crate) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFileInput {
    /// The file, relative to the workspace.
    #[schemars(length(min = 1))]
    path: String,
    /// The first line to read, counted from 1. The first line of the file when left out.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// The last line to read. The last line of the file when left out.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".to_owned(),
            description: "Reads a text file of the workspace and gives its text as it is, without line numbers. \
                          Reads at most 256 KiB at once; use start_line and end_line for a part of a long file."
                .to_owned(),
            input_schema: input::schema::<ReadFileInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn summary(&self, input: &Value) -> String {
        let Some(path) = input.get("path").and_then(Value::as_str) else {
            return "read a file, but the input names none".to_owned();
        };
        format!("read {}", reveal_line(path))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        run_blocking(move |stop| {
            let input: ReadFileInput = input::parse(input)?;
            read(&Workspace::open(&context.workspace)?, &input, stop)
        })
        .boxed()
    }
}

fn read(workspace: &Workspace, input: &ReadFileInput, stop: &Stop) -> Result<ToolOutcome, Failed> {
    let start = input.start_line.unwrap_or(1);
    let end = input.end_line.unwrap_or(u64::MAX);
    if end < start {
        return Err(Failed::new(format!("`end_line` ({end}) must not be before `start_line` ({start}).")));
    }
    let shown_path = reveal_line(&input.path);
    let cannot = |error: std::io::Error| Failed::new(format!("`{shown_path}` cannot be read: {error}."));
    let (mut file, stat) = workspace.read(&input.path)?;
    let mut sample = Vec::new();
    (&mut file).take(SAMPLE_BYTES).read_to_end(&mut sample).map_err(cannot)?;
    if let Some(kind) = binary_kind(&sample) {
        return Err(Failed::new(format!(
            "`{shown_path}` is not text: it is {kind} of {} bytes. Only text files are read.",
            stat.st_size
        )));
    }
    file.rewind().map_err(cannot)?;
    let mut lines = Lines::new(start, end);
    let is_whole = lines.scan(BufReader::with_capacity(64 * 1024, file), stop).map_err(cannot)?;
    if lines.count < start && !(lines.count == 0 && start == 1) {
        let (size, read_to) = (lines.count, if is_whole { "has only" } else { "is too long to read beyond" });
        return Err(Failed::new(format!("`{shown_path}` {read_to} {size} lines; `start_line` was {start}.")));
    }
    Ok(lines.outcome(&shown_path, is_whole, u64::try_from(stat.st_size).unwrap_or(0)))
}

/// The lines that were asked for, and how many there are.
struct Lines {
    start: u64,
    end: u64,
    text: String,
    /// The last line in `text`.
    last: u64,
    /// Whether lines that were asked for are left out.
    is_cut: bool,
    has_invalid: bool,
    count: u64,
}

impl Lines {
    fn new(start: u64, end: u64) -> Lines {
        Lines {
            start,
            end,
            text: String::new(),
            last: start - 1,
            is_cut: false,
            has_invalid: false,
            count: 0,
        }
    }

    /// Reads to the end, or as far as a file is read, and says which.
    fn scan(&mut self, mut reader: impl BufRead, stop: &Stop) -> std::io::Result<bool> {
        let (mut scanned, mut line, mut line_bytes) = (0, Vec::new(), 0);
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() || scanned >= MAX_SCANNED_BYTES || stop.is_set() {
                let is_whole = buffer.is_empty();
                if line_bytes > 0 {
                    self.take(&line, line_bytes);
                }
                return Ok(is_whole);
            }
            let end = memchr::memchr(b'\n', buffer).map(|at| at + 1);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            // Four bytes are the longest character, and one more than the limit shows that it was passed.
            let room = (4 * (MAX_LINE + 1)).saturating_sub(line.len());
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            line_bytes += piece.len();
            if end.is_some() {
                self.take(&line, line_bytes);
                line.clear();
                line_bytes = 0;
            }
            let consumed = piece.len();
            scanned += consumed as u64;
            reader.consume(consumed);
        }
    }

    /// Takes the next line: the start of it, and its whole length.
    fn take(&mut self, line: &[u8], line_bytes: usize) {
        self.count += 1;
        if self.is_cut || self.count < self.start || self.count > self.end {
            return;
        }
        let decoded = String::from_utf8_lossy(line);
        let has_invalid = matches!(decoded, std::borrow::Cow::Owned(_));
        let body = decoded.strip_suffix('\n').unwrap_or(&decoded);
        let (kept, left_out) = cut(body, MAX_LINE);
        let note = if left_out > 0 || line.len() < line_bytes {
            format!(" [line cut after {MAX_LINE} characters; it has {line_bytes} bytes]\n")
        } else {
            decoded[body.len()..].to_owned()
        };
        if self.text.len() + kept.len() + note.len() > MAX_TEXT_BYTES {
            self.is_cut = true;
            return;
        }
        self.text.push_str(kept);
        self.text.push_str(&note);
        self.has_invalid |= has_invalid;
        self.last = self.count;
    }

    fn outcome(self, path: &str, is_whole: bool, size: u64) -> ToolOutcome {
        let mut text = self.text;
        let mut notes = Vec::new();
        if self.count == 0 {
            notes.push(format!("`{path}` is empty."));
        }
        let of = if is_whole { format!("of {}", self.count) } else { "of very many".to_owned() };
        if self.is_cut || (!is_whole && self.last < self.end) {
            let (start, last, next) = (self.start, self.last, self.last + 1);
            notes.push(format!("Lines {start} to {last} {of} are shown. Read on with start_line {next}."));
        }
        if self.has_invalid {
            notes.push("Some bytes are not UTF-8 and are shown as \u{fffd}.".to_owned());
        }
        if !notes.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[{}]", notes.join(" ")));
        }
        let details = json!({
            "start_line": if self.count == 0 { 0 } else { self.start },
            "end_line": self.last,
            "total_lines": is_whole.then_some(self.count),
            "bytes": size,
            "truncated": self.is_cut || !is_whole,
        });
        ToolOutcome::done(text, details)
    }
}

/// What a file is, if it is not text.
fn binary_kind(sample: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive (or a document made of one)"),
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"\x7fELF", "an ELF executable or library"),
        (b"\0asm", "a WebAssembly module"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    let known = SIGNATURES.iter().find(|(signature, _)| sample.starts_with(signature)).map(|(_, kind)| *kind);
    known.or_else(|| memchr::memchr(0, sample).map(|_| "binary data"))
}
