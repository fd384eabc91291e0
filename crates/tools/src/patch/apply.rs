//! Applies the hunks of one file to its lines, in memory. Lines that a hunk does not change stay as
//! they are in the file, even where the hunk spells them differently. Reading and writing files is
//! left to others.

use super::document::TextDocument;
use super::lines_finder::{LinesFinder, LinesMatch, MatchPreference, TooRepetitive};
use super::{HunkLine, PatchHunk};
use crate::Failed;
use crate::text::{excerpt, reveal_line};

/// A file's text after its hunks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AppliedHunks {
    pub(crate) text: String,
    /// What the model should know although the hunks were applied.
    pub(crate) notes: Vec<String>,
    /// How many lines were looked at.
    #[cfg(test)]
    pub(crate) comparisons: usize,
}

/// Applies hunks in order.
pub(crate) fn apply(
    path: &str,
    document: &TextDocument,
    hunks: &[PatchHunk<'_>],
) -> Result<AppliedHunks, Failed> {
    let lines = document.lines();
    let mut application = HunkApplier {
        path,
        finder: LinesFinder::new(lines.iter().map(|line| line.text).collect()),
        cursor: Cursor::default(),
        removed: vec![false; lines.len()],
        added: Vec::new(),
        final_newline: None,
        notes: Vec::new(),
    };
    for (index, hunk) in hunks.iter().enumerate() {
        application.apply(&NumberedHunk { hunk, number: index + 1, total: hunks.len() })?;
    }
    Ok(AppliedHunks {
        text: application.render(document),
        notes: application.notes,
        #[cfg(test)]
        comparisons: application.finder.comparisons(),
    })
}

struct NumberedHunk<'h, 'a> {
    hunk: &'h PatchHunk<'a>,
    number: usize,
    total: usize,
}

/// How far into the file the hunks have come.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    /// After all lines of the last hunk.
    after_hunk: usize,
    /// After the last line that it changed: the context below may be that of the next hunk too.
    after_change: usize,
    /// How far the last hunk was from where its numbers said.
    drift: isize,
}

struct HunkApplier<'a> {
    path: &'a str,
    finder: LinesFinder<'a>,
    cursor: Cursor,
    removed: Vec<bool>,
    /// Lines, each with the line of the file that it comes before.
    added: Vec<(usize, &'a str)>,
    final_newline: Option<bool>,
    notes: Vec<String>,
}

impl<'a> HunkApplier<'a> {
    fn apply(&mut self, numbered: &NumberedHunk<'_, 'a>) -> Result<(), Failed> {
        let hunk = numbered.hunk;
        let wanted = hunk.old_lines();
        let start = if wanted.is_empty() {
            self.insertion_point(numbered)?
        } else {
            let found = self.locate(numbered, &wanted)?;
            if found.is_ambiguous && hunk.headers.is_empty() {
                self.note_ambiguous(numbered, found.start);
            }
            found.start
        };
        if let Some(line) = hunk.old_line.filter(|_| !wanted.is_empty()) {
            self.cursor.drift = start.cast_signed() - line.saturating_sub(1).cast_signed();
        }
        let before = self.cursor;
        let mut at = start;
        self.cursor.after_change = start;
        for line in &hunk.lines {
            match line {
                HunkLine::Keep(_) => at += 1,
                HunkLine::Remove(_) => {
                    self.removed[at] = true;
                    at += 1;
                    self.cursor.after_change = at;
                }
                HunkLine::Add(text) => {
                    self.added.push((at, text));
                    self.cursor.after_change = at;
                }
            }
        }
        self.cursor.after_hunk = at;
        if wanted.is_empty() && hunk.headers.is_empty() && hunk.old_line.is_none() {
            // What is added at the end of the file says nothing about where the next hunk is.
            self.cursor = before;
        }
        self.final_newline = hunk.final_newline.or(self.final_newline);
        Ok(())
    }

    /// Where a hunk goes that has only added lines: where its number says, below its header, or at the
    /// end of the file.
    fn insertion_point(&mut self, numbered: &NumberedHunk<'_, 'a>) -> Result<usize, Failed> {
        let hunk = numbered.hunk;
        if !hunk.headers.is_empty() {
            return Ok(self.below_headers(numbered, self.cursor.after_hunk)?.0);
        }
        let length = self.finder.len();
        let Some(line) = hunk.old_line.filter(|_| !hunk.at_end) else { return Ok(length) };
        let at = line.saturating_add_signed(if line == 0 { 0 } else { self.cursor.drift });
        if at > length || at < self.cursor.after_change {
            let place = if at > length {
                format!("has only {length} lines")
            } else {
                "was already changed there".to_owned()
            };
            return Err(self.failure(
                numbered,
                &format!(
                    "it adds lines after line {line}, but the file {place}. Include the surrounding \
                        lines as context"
                ),
            ));
        }
        Ok(at)
    }

    fn locate(&mut self, numbered: &NumberedHunk<'_, 'a>, wanted: &[&str]) -> Result<LinesMatch, Failed> {
        let hunk = numbered.hunk;
        let wish = match hunk.old_line {
            _ if hunk.at_end => MatchPreference::End,
            Some(line) => {
                MatchPreference::Near(line.saturating_sub(1).saturating_add_signed(self.cursor.drift))
            }
            None => MatchPreference::First,
        };
        let from = [self.cursor.after_hunk, self.cursor.after_change];
        let from = if hunk.headers.is_empty() {
            from
        } else {
            let (below, header) = self.below_headers(numbered, self.cursor.after_hunk)?;
            // Some models repeat the header as the first line of the hunk.
            [below, header]
        };
        for from in from {
            let found = self.finder.find(wanted, from, wish);
            if let Some(found) = found.map_err(|TooRepetitive| self.too_repetitive(numbered))? {
                return Ok(found);
            }
        }
        Err(self.not_found(numbered, wanted, from[0], wish))
    }

    /// The line below the innermost header, and the line of that header.
    fn below_headers(
        &mut self,
        numbered: &NumberedHunk<'_, 'a>,
        from: usize,
    ) -> Result<(usize, usize), Failed> {
        let mut below = from;
        let mut header_line = from;
        for (depth, header) in numbered.hunk.headers.iter().enumerate() {
            let found = self.find_header(header, below);
            match found.map_err(|TooRepetitive| self.too_repetitive(numbered))? {
                Some(line) => (below, header_line) = (line + 1, line),
                // Two hunks of one function may both name it, and then the cursor is below it already.
                None if depth == 0
                    && matches!(self.find_header(header, 0), Ok(Some(line)) if line < from) =>
                {
                    (below, header_line) = (from, self.cursor.after_change);
                }
                None => {
                    let nearest = self.nearest(&[header], below);
                    return Err(self.failure(
                        numbered,
                        &format!(
                            "its header `{}` was not found after line {below}. {nearest}",
                            excerpt(header)
                        ),
                    ));
                }
            }
        }
        Ok((below, header_line))
    }

    fn find_header(&mut self, header: &str, from: usize) -> Result<Option<usize>, TooRepetitive> {
        match self.finder.find(&[header], from, MatchPreference::First)? {
            Some(found) => Ok(Some(found.start)),
            None => self.finder.find_beginning(header, from),
        }
    }

    fn note_ambiguous(&mut self, numbered: &NumberedHunk<'_, 'a>, start: usize) {
        self.notes.push(format!(
            "Hunk {} of {} matches in more than one place; it was applied at line {}. Check that this is \
             the right place.",
            numbered.number,
            reveal_line(self.path),
            start + 1
        ));
    }

    fn not_found(
        &mut self,
        numbered: &NumberedHunk<'_, 'a>,
        wanted: &[&str],
        from: usize,
        wish: MatchPreference,
    ) -> Failed {
        let place = match (wish, from) {
            (MatchPreference::End, _) => "at the end of the file".to_owned(),
            (MatchPreference::First | MatchPreference::Near(_), 0) => "in the file".to_owned(),
            (MatchPreference::First | MatchPreference::Near(_), from) => format!("after line {from}"),
        };
        let nearest = self.nearest(wanted, from);
        let new_lines = numbered.hunk.new_lines();
        let applied = match self.finder.find(&new_lines, 0, MatchPreference::First) {
            Ok(Some(found)) if new_lines != wanted => {
                format!(
                    ". Its result is already at line {}: it may have been applied before",
                    found.start + 1
                )
            }
            Ok(_) | Err(TooRepetitive) => String::new(),
        };
        self.failure(numbered, &format!("its lines were not found {place}. {nearest}{applied}"))
    }

    /// Where lines came nearest, in a sentence or two without the last full stop.
    fn nearest(&mut self, wanted: &[&str], from: usize) -> String {
        let Some(nearest) = self.finder.nearest(wanted, from) else {
            return "No line in the file is similar".to_owned();
        };
        let all = wanted.len();
        let start = nearest.start + 1;
        let Some(differs) = nearest.differs else {
            let hint = if nearest.start < from {
                "hunks must be in the order of the file and must not overlap"
            } else {
                "there they are not at the end"
            };
            return format!("They are at line {start}, but {hint}");
        };
        let expected = excerpt(wanted[differs]);
        let found = match self.finder.line(nearest.start + differs) {
            Some(line) => format!("found `{}`", excerpt(line)),
            None => "found the end of the file".to_owned(),
        };
        format!(
            "The closest match is at line {start}, where {} of {all} lines match; first difference at line \
             {}: expected `{expected}`, {found}",
            nearest.matched,
            nearest.start + differs + 1
        )
    }

    fn too_repetitive(&self, numbered: &NumberedHunk<'_, 'a>) -> Failed {
        self.failure(
            numbered,
            "too many lines in the file are identical to search it. Use edit_file or write_file",
        )
    }

    fn failure(&self, numbered: &NumberedHunk<'_, 'a>, reason: &str) -> Failed {
        Failed::new(format!(
            "`{}`, hunk {} of {} (line {} of the patch): {reason}. Nothing was changed. Read the file again \
             and send a patch that matches its current lines.",
            reveal_line(self.path),
            numbered.number,
            numbered.total,
            numbered.hunk.patch_line
        ))
    }

    /// The new text. Old lines keep their endings, new ones get the usual one, and a file that ended
    /// without a line break still does unless the patch says otherwise.
    fn render(&self, document: &TextDocument) -> String {
        let lines = document.lines();
        let usual = document.usual_ending();
        let is_unended = lines.last().is_some_and(|line| line.ending.is_empty());
        let mut pieces: Vec<(&str, Option<&str>)> = Vec::with_capacity(lines.len() + self.added.len());
        let mut added = self.added.clone();
        added.sort_by_key(|(before, _)| *before);
        let mut added = added.into_iter().peekable();
        for at in 0..=lines.len() {
            while let Some((_, text)) = added.next_if(|(before, _)| *before <= at) {
                pieces.push((text, None));
            }
            if let Some(line) = lines.get(at)
                && !self.removed[at]
            {
                pieces.push((line.text, Some(line.ending)));
            }
        }
        let last = pieces.len().saturating_sub(1);
        let mut text = String::with_capacity(document.text().len());
        for (at, (line, ending)) in pieces.into_iter().enumerate() {
            text.push_str(line);
            let kept = ending.filter(|ending| !ending.is_empty());
            let is_bare = at == last
                && self
                    .final_newline
                    .map_or_else(|| ending.map_or(is_unended, str::is_empty), |is_ended| !is_ended);
            if !is_bare {
                text.push_str(kept.unwrap_or(usual));
            }
        }
        text
    }
}
