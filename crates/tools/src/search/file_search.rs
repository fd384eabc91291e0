//! Searches one file: its matching lines and those around them, cut where they are long. It opens no
//! file and knows of no other.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use rustix::fs::Stat;

use crate::text::{cut, reveal, reveal_line};
use crate::workspace_walk::WorkDeadline;

/// How much of a line is shown, in characters.
const MAX_LINE: usize = 300;
/// How much of a cut line comes before the match, in bytes.
const BEFORE_MATCH: usize = 100;
/// How long a line the searcher holds.
const MAX_HEAP_BYTES: usize = 10 * 1024 * 1024;
/// Larger files are not searched.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// How much text of one file is kept; more is never shown.
pub(super) const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Searches files, one after the other. Each thread has its own.
pub(super) struct FileSearch<'a> {
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    deadline: &'a WorkDeadline,
    max_results: usize,
    is_files_only: bool,
}

/// What was found in one file.
#[derive(Default)]
pub(super) struct Hits {
    pub(super) lines: Vec<HitLine>,
    /// Whether there are more than `lines` holds.
    pub(super) is_cut: bool,
    pub(super) is_unreadable: bool,
    pub(super) is_too_large: bool,
}

/// A line to be shown.
pub(super) struct HitLine {
    /// Whether it counts as a result; lines around one do not.
    pub(super) is_match: bool,
    pub(super) text: String,
}

impl Hits {
    pub(super) fn unreadable() -> Hits {
        Hits { is_unreadable: true, ..Hits::default() }
    }
}

impl<'a> FileSearch<'a> {
    pub(super) fn new(
        matcher: &'a RegexMatcher,
        until: &'a WorkDeadline,
        max_results: usize,
        context: usize,
        is_files_only: bool,
    ) -> FileSearch<'a> {
        let context = if is_files_only { 0 } else { context };
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HEAP_BYTES))
            .before_context(context)
            .after_context(context)
            .build();
        FileSearch { matcher, searcher, deadline: until, max_results, is_files_only }
    }

    pub(super) fn search(&mut self, path: &Path, file: File, stat: &Stat) -> Hits {
        if u64::try_from(stat.st_size).unwrap_or(0) > MAX_FILE_BYTES {
            return Hits { is_too_large: true, ..Hits::default() };
        }
        let mut lines = HitCollector {
            matcher: self.matcher,
            path,
            shown_path: None,
            max_results: self.max_results,
            is_files_only: self.is_files_only,
            matches: 0,
            bytes: 0,
            hits: Hits::default(),
        };
        let file = StoppableFile { file, deadline: self.deadline };
        let searched = self.searcher.search_reader(self.matcher, file, &mut lines);
        Hits { is_unreadable: searched.is_err(), ..lines.hits }
    }
}

/// The lines of one file as they are found.
struct HitCollector<'a> {
    matcher: &'a RegexMatcher,
    path: &'a Path,
    /// The path as it is shown, made when it first is: most files have no match.
    shown_path: Option<String>,
    max_results: usize,
    is_files_only: bool,
    matches: usize,
    bytes: usize,
    hits: Hits,
}

impl HitCollector<'_> {
    fn shown_path(&mut self) -> &str {
        let path = self.path;
        self.shown_path.get_or_insert_with(|| reveal_line(&path.to_string_lossy()))
    }

    /// Keeps a line if there is room, and says whether there was.
    fn keep(&mut self, is_match: bool, text: String) -> bool {
        if self.bytes + text.len() > MAX_TEXT_BYTES || (is_match && self.matches == self.max_results) {
            self.hits.is_cut = true;
            return false;
        }
        self.bytes += text.len();
        self.matches += usize::from(is_match);
        self.hits.lines.push(HitLine { is_match, text });
        true
    }
}

impl Sink for HitCollector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, std::io::Error> {
        if self.is_files_only {
            let text = format!("{}\n", self.shown_path());
            self.keep(true, text);
            return Ok(false);
        }
        let number = matched.line_number().unwrap_or(0);
        let line = around_match(self.matcher, matched.bytes());
        let text = format!("{}:{number}: {line}\n", self.shown_path());
        Ok(self.keep(true, text))
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, std::io::Error> {
        let number = context.line_number().unwrap_or(0);
        let line = line_excerpt(context.bytes(), 0);
        let text = format!("{}-{number}- {line}\n", self.shown_path());
        Ok(self.keep(false, text))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, std::io::Error> {
        Ok(self.keep(false, "--\n".to_owned()))
    }

    /// Lines from before the first byte that is no text tell nothing.
    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, std::io::Error> {
        self.hits = Hits::default();
        Ok(false)
    }
}

/// The line, or the part of a long one where the match is.
fn around_match(matcher: &RegexMatcher, line: &[u8]) -> String {
    let start = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
    line_excerpt(line, start)
}

/// The line, or the part of a long one around `at`.
fn line_excerpt(line: &[u8], at: usize) -> String {
    let whole = String::from_utf8_lossy(line);
    let whole = whole.trim_end_matches(['\n', '\r']);
    if cut(whole, MAX_LINE).1 == 0 {
        return reveal(whole);
    }
    let from = at.saturating_sub(BEFORE_MATCH);
    let part = String::from_utf8_lossy(&line[from..]);
    let (kept, left_out) = cut(part.trim_end_matches(['\n', '\r']), MAX_LINE);
    let (before, after) = (if from > 0 { "…" } else { "" }, if left_out > 0 { "…" } else { "" });
    reveal(&format!("{before}{kept}{after}"))
}

/// A file whose end comes early when nobody waits for the search.
struct StoppableFile<'a> {
    file: File,
    deadline: &'a WorkDeadline,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.deadline.is_over() { Ok(0) } else { self.file.read(buffer) }
    }
}
