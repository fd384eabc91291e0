//! The tool that finds text in files, by the libraries of ripgrep. It searches lines, not names.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use ostler_types::{ToolKind, ToolSpec};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocking::{Stop, run_blocking};
use crate::path::Workspace;
use crate::text::{cut, reveal, reveal_line};
use crate::walk::{MAX_DEPTH, Omitted, Walk};
use crate::{Failed, Tool, ToolContext, ToolOutcome, input};

const DEFAULT_MAX_RESULTS: usize = 100;
/// How much of a line is shown, in characters.
const MAX_LINE: usize = 300;
/// How much of a cut line comes before the match, in bytes.
const BEFORE_MATCH: usize = 100;
/// How much text the model gets.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// How long a line the searcher holds, and how large a regular expression may grow.
const MAX_HEAP_BYTES: usize = 10 * 1024 * 1024;

/// Finds lines in the files of the workspace.
pub(crate) struct Search;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    /// The text to find, within a line. Capitals matter.
    #[schemars(length(min = 1))]
    query: String,
    /// Which files to search, such as `*.rs` or `src/**/*.ts`; `!*.md` leaves files out. All when left out.
    glob: Option<String>,
    /// Whether query is a regular expression (Rust syntax). It is plain text when left out.
    regex: Option<bool>,
    /// How many lines to give at most. 100 when left out.
    #[schemars(range(min = 1, max = 1_000))]
    max_results: Option<usize>,
}

impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search".to_owned(),
            description:
                "Finds text in the files of the workspace and gives each line as `path:line: text`. Leaves \
                          out binary files, `.git` and what .gitignore names."
                    .to_owned(),
            input_schema: input::schema::<SearchInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn summary(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(query) = field("query") else {
            return "search, but the input says not for what".to_owned();
        };
        let within = field("glob").map(|glob| format!(" in {}", reveal_line(glob))).unwrap_or_default();
        format!("search for {}{within}", reveal_line(query))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        run_blocking(move |stop| {
            let input: SearchInput = input::parse(input)?;
            search(&Workspace::open(&context.workspace)?, &input, stop)
        })
        .boxed()
    }
}

fn search(workspace: &Workspace, input: &SearchInput, stop: &Stop) -> Result<ToolOutcome, Failed> {
    let matcher = matcher(input)?;
    let globs = globs(input.glob.as_deref().filter(|glob| !glob.is_empty()))?;
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_HEAP_BYTES))
        .build();
    let mut found = Found::new(input.max_results.unwrap_or(DEFAULT_MAX_RESULTS));
    let omitted = Walk::new(workspace, ".", MAX_DEPTH, stop)?.run(&mut |walk, entry| {
        if entry.kind != FileType::RegularFile || globs.matched(entry.path, false).is_ignore() {
            return ControlFlow::Continue(());
        }
        let Ok(file) = walk.read(entry) else {
            found.unreadable += 1;
            return ControlFlow::Continue(());
        };
        let path = reveal_line(&entry.path.to_string_lossy());
        let mut lines =
            FileLines { matcher: &matcher, path: &path, found: &found, lines: Vec::new(), is_cut: false };
        let searched = searcher.search_reader(&matcher, StoppableFile { file, stop }, &mut lines);
        let (lines, is_cut) = (lines.lines, lines.is_cut);
        found.add(lines, is_cut, searched.is_ok())
    });
    Ok(found.outcome(&omitted))
}

fn matcher(input: &SearchInput) -> Result<RegexMatcher, Failed> {
    let is_regex = input.regex.unwrap_or(false);
    if !is_regex && input.query.contains('\n') {
        return Err(Failed::new(
            "`query` has a line break, and lines are searched one by one; search for one line.",
        ));
    }
    RegexMatcherBuilder::new()
        .fixed_strings(!is_regex)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_HEAP_BYTES)
        .build(&input.query)
        .map_err(|error| {
            Failed::new(format!(
                "`query` is not a regular expression that can be searched for: {error}. Correct it, or leave `regex` \
                 out to find the text as it is."
            ))
        })
}

fn globs(glob: Option<&str>) -> Result<Override, Failed> {
    let mut builder = OverrideBuilder::new(".");
    if let Some(glob) = glob {
        builder.add(glob).map_err(|error| bad_glob(&error))?;
    }
    builder.build().map_err(|error| bad_glob(&error))
}

fn bad_glob(error: &ignore::Error) -> Failed {
    Failed::new(format!("`glob` is not understood: {error}. Use a pattern such as `*.rs` or `src/**/*.ts`."))
}

/// What was found so far.
struct Found {
    max_results: usize,
    lines: Vec<String>,
    bytes: usize,
    files: usize,
    unreadable: usize,
    is_cut: bool,
}

impl Found {
    fn new(max_results: usize) -> Found {
        Found { max_results, lines: Vec::new(), bytes: 0, files: 0, unreadable: 0, is_cut: false }
    }

    fn add(&mut self, lines: Vec<String>, is_cut: bool, was_read: bool) -> ControlFlow<()> {
        self.unreadable += usize::from(!was_read);
        self.files += usize::from(!lines.is_empty());
        self.bytes += lines.iter().map(String::len).sum::<usize>();
        self.lines.extend(lines);
        self.is_cut |= is_cut;
        if self.is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn outcome(self, omitted: &Omitted) -> ToolOutcome {
        let count = self.lines.len();
        let mut notes = Vec::new();
        if count == 0 {
            notes.push("Nothing was found.".to_owned());
        }
        if self.is_cut {
            notes.push(format!(
                "There are more: only the first {count} are shown. Narrow the search by query or glob, or raise \
                 max_results."
            ));
        }
        let not_searched = self.unreadable + omitted.unreadable;
        if not_searched > 0 {
            notes.push(format!("{not_searched} files or directories could not be read."));
        }
        if omitted.too_many || omitted.too_deep > 0 {
            notes.push("The workspace is too large, and not all of it was searched.".to_owned());
        }
        let mut text = self.lines.concat();
        if !notes.is_empty() {
            text.push_str(&format!("[{}]\n", notes.join(" ")));
        }
        ToolOutcome::done(text, json!({"matches": count, "files": self.files, "truncated": self.is_cut}))
    }
}

/// The matching lines of one file.
struct FileLines<'a> {
    matcher: &'a RegexMatcher,
    path: &'a str,
    found: &'a Found,
    lines: Vec<String>,
    is_cut: bool,
}

impl Sink for FileLines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, std::io::Error> {
        let line = format!(
            "{}:{}: {}\n",
            self.path,
            matched.line_number().unwrap_or(0),
            around_match(self.matcher, matched.bytes())
        );
        let bytes: usize = self.lines.iter().map(String::len).sum();
        let count = self.found.lines.len() + self.lines.len();
        if count == self.found.max_results || self.found.bytes + bytes + line.len() > MAX_TEXT_BYTES {
            self.is_cut = true;
            return Ok(false);
        }
        self.lines.push(line);
        Ok(true)
    }

    /// Lines from before the first byte that is no text tell nothing.
    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, std::io::Error> {
        self.lines.clear();
        Ok(false)
    }
}

/// The line, or the part of a long one where the match is.
fn around_match(matcher: &RegexMatcher, line: &[u8]) -> String {
    let start = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
    let whole = String::from_utf8_lossy(line);
    let whole = whole.trim_end_matches(['\n', '\r']);
    if cut(whole, MAX_LINE).1 == 0 {
        return reveal(whole);
    }
    let from = start.saturating_sub(BEFORE_MATCH);
    let part = String::from_utf8_lossy(&line[from..]);
    let (kept, left_out) = cut(part.trim_end_matches(['\n', '\r']), MAX_LINE);
    let (before, after) = (if from > 0 { "…" } else { "" }, if left_out > 0 { "…" } else { "" });
    reveal(&format!("{before}{kept}{after}"))
}

/// A file whose end comes early when nobody waits for the search.
struct StoppableFile<'a> {
    file: File,
    stop: &'a Stop,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.stop.is_set() { Ok(0) } else { self.file.read(buffer) }
    }
}
