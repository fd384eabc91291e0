//! Puts what threads find into the order of the files, up to the limits. It holds little more than it
//! will show: once enough is found, what comes later in that order is neither kept nor searched.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_runner::ToolOutcome;
use serde_json::json;

use super::file_search::{HitLine, Hits, MAX_TEXT_BYTES};
use crate::workspace_walk::OmittedEntries;

/// What threads have found, by the number of the chunk of files in which they did.
pub(super) struct HitMerger {
    max_results: usize,
    /// Whether files are set apart, because lines around the matches are shown.
    has_context: bool,
    chunks: Mutex<ChunkResults>,
}

#[derive(Default)]
struct ChunkResults {
    /// The chunk that is searched next.
    next: usize,
    /// The last chunk that can matter, once that is known.
    end: Option<usize>,
    found: BTreeMap<usize, ChunkHits>,
    unreadable: usize,
    too_large: usize,
}

/// What was found in one chunk.
#[derive(Default)]
struct ChunkHits {
    /// The lines of each file that has any.
    files: Vec<Vec<HitLine>>,
    matches: usize,
    bytes: usize,
    is_cut: bool,
}

impl HitMerger {
    pub(super) fn new(max_results: usize, has_context: bool) -> HitMerger {
        HitMerger { max_results, has_context, chunks: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, ChunkResults> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next chunk to search, of `count`.
    pub(super) fn next(&self, count: usize) -> Option<usize> {
        let mut chunks = self.lock();
        let number = chunks.next;
        let is_left = number < count && chunks.end.is_none_or(|end| number <= end);
        chunks.next += usize::from(is_left);
        is_left.then_some(number)
    }

    /// Takes what was found in a chunk.
    pub(super) fn add_chunk(&self, number: usize, hits: Vec<Hits>) {
        let mut found = ChunkHits::default();
        let mut chunks = self.lock();
        for hits in hits {
            chunks.unreadable += usize::from(hits.is_unreadable);
            chunks.too_large += usize::from(hits.is_too_large);
            found.is_cut |= hits.is_cut;
            found.matches += hits.lines.iter().filter(|line| line.is_match).count();
            found.bytes += hits.lines.iter().map(|line| line.text.len()).sum::<usize>();
            if !hits.lines.is_empty() {
                found.files.push(hits.lines);
            }
        }
        if found.files.is_empty() && !found.is_cut {
            return;
        }
        chunks.found.insert(number, found);
        // Chunks that are still searched can only add to the sum, so the end can only come nearer.
        let (mut matches, mut bytes) = (0, 0);
        let end = chunks.found.iter().find_map(|(number, found)| {
            matches += found.matches + usize::from(found.is_cut);
            bytes += found.bytes;
            (matches > self.max_results || bytes > MAX_TEXT_BYTES).then_some(*number)
        });
        if let Some(end) = end {
            chunks.end = Some(end);
            chunks.found.split_off(&(end + 1));
        }
    }

    /// What the call comes to, once all threads have ended.
    pub(super) fn outcome(self, omitted: &OmittedEntries, is_late: bool) -> ToolOutcome {
        let has_context = self.has_context;
        let max_results = self.max_results;
        let chunks = self.chunks.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut shown = SearchResultText { max_results, has_context, ..SearchResultText::default() };
        'all: for found in chunks.found.into_values() {
            for file in &found.files {
                if !shown.add(file) {
                    break 'all;
                }
            }
            shown.is_cut |= found.is_cut;
        }
        let mut notes = shown.notes();
        let not_searched = chunks.unreadable + omitted.unreadable;
        if not_searched > 0 {
            notes.push(format!("{not_searched} files or directories could not be read."));
        }
        if chunks.too_large > 0 {
            notes.push(format!("{} files are too large and were skipped.", chunks.too_large));
        }
        if is_late {
            notes.push(
                "The search timed out before all files were searched. Narrow it by path or glob.".to_owned(),
            );
        } else if omitted.too_many || omitted.too_deep > 0 {
            notes.push("The workspace is too large; not all of it was searched.".to_owned());
        }
        let mut text = shown.text;
        if !notes.is_empty() {
            text.push_str(&format!("[{}]\n", notes.join(" ")));
        }
        let truncated = shown.is_cut || is_late || omitted.too_many;
        ToolOutcome::done(
            text,
            json!({"matches": shown.matches, "files": shown.files, "truncated": truncated}),
        )
    }
}

/// The text as it grows.
#[derive(Default)]
struct SearchResultText {
    max_results: usize,
    has_context: bool,
    text: String,
    matches: usize,
    files: usize,
    is_cut: bool,
}

impl SearchResultText {
    /// Adds the lines of a file, and says whether all of them fitted.
    fn add(&mut self, lines: &[HitLine]) -> bool {
        let mut before = if self.has_context && !self.text.is_empty() { "--\n" } else { "" };
        let mut is_counted = false;
        for line in lines {
            if self.text.len() + before.len() + line.text.len() > MAX_TEXT_BYTES
                || (line.is_match && self.matches == self.max_results)
            {
                self.is_cut = true;
                return false;
            }
            self.text.push_str(before);
            before = "";
            self.text.push_str(&line.text);
            self.matches += usize::from(line.is_match);
            self.files += usize::from(line.is_match && !is_counted);
            is_counted |= line.is_match;
        }
        true
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.matches == 0 {
            notes.push("Nothing was found.".to_owned());
        }
        if self.is_cut {
            notes.push(format!(
                "Only the first {} matches are shown. Narrow the search by query or glob, or raise \
                 max_results.",
                self.matches
            ));
        }
        notes
    }
}
