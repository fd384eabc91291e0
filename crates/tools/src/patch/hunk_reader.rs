//! What both patch formats share: the lines of a patch one after the other, the line that opens a
//! hunk, and the hunk that is being read. Where a hunk ends is left to the formats.

use std::mem;

use super::{HunkLine, PatchHunk};
use crate::Failed;
use crate::text::excerpt;

/// The lines of a patch, read from the top.
pub(super) struct PatchLines<'p, 'a> {
    lines: &'p [&'a str],
    at: usize,
    /// The number of the first line in what the model sent.
    first: usize,
}

impl<'p, 'a> PatchLines<'p, 'a> {
    /// The lines, and the number of the first one in what was sent.
    pub(super) fn new(lines: &'p [&'a str], first: usize) -> PatchLines<'p, 'a> {
        PatchLines { lines, at: 0, first }
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        self.peek_ahead(0)
    }

    /// The line so many after the next one.
    pub(super) fn peek_ahead(&self, by: usize) -> Option<&'a str> {
        self.lines.get(self.at + by).copied()
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// The number of the next line.
    pub(super) fn number(&self) -> usize {
        self.first + self.at
    }

    /// That the next line makes no sense, and what it should be.
    pub(super) fn unexpected(&self, expected: &str) -> Failed {
        let found = self.peek().map_or_else(|| "its end".to_owned(), |line| format!("`{}`", excerpt(line)));
        Failed::new(format!(
            "Invalid patch at line {}: expected {expected}, but found {found}. Nothing was changed. Correct \
             the patch and send it again.",
            self.number()
        ))
    }
}

/// What a line beginning with `@@` says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HunkHeader<'a> {
    /// A line of the file that comes before the hunk.
    pub(super) text: Option<&'a str>,
    pub(super) ranges: Option<HunkRanges>,
}

/// The numbers of a unified hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HunkRanges {
    pub(super) old_line: usize,
    pub(super) old_count: usize,
    pub(super) new_count: usize,
}

/// Reads a line that begins with `@@`. What git adds after the ranges of a unified header is left
/// out: it is cut short and says nothing that the numbers do not.
pub(super) fn hunk_header(line: &str) -> HunkHeader<'_> {
    let rest = line.trim_start_matches('@');
    let inner = rest.split("@@").next().unwrap_or(rest);
    if let Some(ranges) = ranges(inner) {
        return HunkHeader { text: None, ranges: Some(ranges) };
    }
    let text = rest.trim_end();
    let text = text.strip_suffix("@@").unwrap_or(text).trim_end();
    let text = text.strip_prefix(' ').unwrap_or(text);
    let says_something = !matches!(text.trim(), "" | "..." | "…");
    HunkHeader { text: says_something.then_some(text), ranges: None }
}

fn ranges(text: &str) -> Option<HunkRanges> {
    let mut words = text.split_whitespace();
    let (old, new) = (words.next()?.strip_prefix('-')?, words.next()?.strip_prefix('+')?);
    let numbers = |range: &str| -> Option<(usize, usize)> {
        match range.split_once(',') {
            Some((line, count)) => Some((line.parse().ok()?, count.parse().ok()?)),
            None => Some((range.parse().ok()?, 1)),
        }
    };
    let ((old_line, old_count), (_, new_count)) = (numbers(old)?, numbers(new)?);
    words.next().is_none().then_some(HunkRanges { old_line, old_count, new_count })
}

/// The hunks of one file as they are read.
#[derive(Default)]
pub(super) struct HunkReader<'a> {
    done: Vec<PatchHunk<'a>>,
    current: Option<PatchHunk<'a>>,
    /// How many lines at the end of the current hunk are wholly empty in the patch.
    trailing_empty_lines: usize,
    /// Whether the last line of either side has no line break.
    old_lacks_newline: bool,
    new_lacks_newline: bool,
}

impl<'a> HunkReader<'a> {
    /// Opens a hunk. Headers without lines between them belong to the same hunk.
    pub(super) fn open(&mut self, number: usize, header: &HunkHeader<'a>) -> Result<(), Failed> {
        if self.current.as_ref().is_some_and(|hunk| !hunk.lines.is_empty()) {
            self.close()?;
        }
        let hunk =
            self.current.get_or_insert_with(|| PatchHunk { patch_line: number, ..PatchHunk::default() });
        hunk.headers.extend(header.text);
        hunk.old_line = header.ranges.map(|ranges| ranges.old_line).or(hunk.old_line);
        Ok(())
    }

    /// Takes a line of the hunk; false where it is none.
    pub(super) fn take(&mut self, number: usize, line: &'a str) -> bool {
        let parsed = match line.chars().next() {
            None => HunkLine::Keep(line),
            Some(' ') => HunkLine::Keep(&line[1..]),
            Some('-') => HunkLine::Remove(&line[1..]),
            Some('+') => HunkLine::Add(&line[1..]),
            Some(_) => return false,
        };
        self.trailing_empty_lines = if line.is_empty() { self.trailing_empty_lines + 1 } else { 0 };
        let hunk =
            self.current.get_or_insert_with(|| PatchHunk { patch_line: number, ..PatchHunk::default() });
        hunk.lines.push(parsed);
        true
    }

    /// Takes the remark that the line before has no line break.
    pub(super) fn take_no_newline(&mut self) {
        let last = self.current.as_ref().and_then(|hunk| hunk.lines.last());
        match last {
            Some(HunkLine::Keep(_)) => (self.old_lacks_newline, self.new_lacks_newline) = (true, true),
            Some(HunkLine::Remove(_)) => self.old_lacks_newline = true,
            Some(HunkLine::Add(_)) => self.new_lacks_newline = true,
            None => {}
        }
    }

    /// Says that the current hunk is at the end of its file.
    pub(super) fn end_of_file(&mut self) -> Result<(), Failed> {
        if let Some(hunk) = &mut self.current {
            hunk.at_end = true;
        }
        self.close()
    }

    /// All the hunks.
    pub(super) fn finish(mut self) -> Result<Vec<PatchHunk<'a>>, Failed> {
        self.close()?;
        Ok(self.done)
    }

    fn close(&mut self) -> Result<(), Failed> {
        let (bare, old, new) = (
            mem::take(&mut self.trailing_empty_lines),
            mem::take(&mut self.old_lacks_newline),
            mem::take(&mut self.new_lacks_newline),
        );
        let Some(mut hunk) = self.current.take() else { return Ok(()) };
        if !hunk.at_end {
            // Empty lines at the end are more often a model's spacing than lines of the file, and as
            // context they can be spared.
            hunk.lines.truncate(hunk.lines.len() - bare);
        }
        if old || new {
            hunk.at_end = true;
            hunk.final_newline = Some(!new);
        }
        if hunk.lines.is_empty() && (bare == 0 || !hunk.headers.is_empty()) {
            return Err(Failed::new(format!(
                "Invalid patch: the hunk at line {} has no lines. Nothing was changed. Give its context, \
                 removed and added lines, each with its prefix.",
                hunk.patch_line
            )));
        }
        if !hunk.lines.is_empty() {
            self.done.push(hunk);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{HunkHeader, HunkRanges, hunk_header};

    #[test]
    fn headers_are_ranges_or_lines() {
        let ranges = |old_line, old_count, new_count| HunkHeader {
            text: None,
            ranges: Some(HunkRanges { old_line, old_count, new_count }),
        };
        let text = |text| HunkHeader { text, ranges: None };
        for (line, expected) in [
            ("@@ -1,2 +3,4 @@", ranges(1, 2, 4)),
            ("@@ -1 +3 @@ fn main() {", ranges(1, 1, 1)),
            ("@@ -1,2 +3,4", ranges(1, 2, 4)),
            ("@@", text(None)),
            ("@@ ", text(None)),
            ("@@ @@", text(None)),
            ("@@ ... @@", text(None)),
            ("@@ fn main() {", text(Some("fn main() {"))),
            ("@@     def f(): @@", text(Some("    def f():"))),
            ("@@ -x +y", text(Some("-x +y"))),
        ] {
            assert_eq!(hunk_header(line), expected, "{line}");
        }
    }
}
