//! Patches: what a model sends to change several files at once, in either of the two formats that
//! models write. The text is read here into one form, applied to the files' lines in memory, and
//! becomes a list of changes; making them is left to `change`.

pub(crate) mod apply;
pub(crate) mod document;
mod envelope;
mod hunk_reader;
pub(crate) mod line_tolerance;
pub(crate) mod lines_finder;
pub(crate) mod plan;
pub(crate) mod read;
#[cfg(test)]
mod round_trip;
mod unified;

/// A patch as it was sent, whatever the format.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedPatch<'a> {
    pub(crate) files: Vec<FilePatch<'a>>,
}

/// What a patch does to one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilePatch<'a> {
    pub(crate) path: String,
    pub(crate) action: FileAction<'a>,
}

/// What is to become of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileAction<'a> {
    Add {
        content: String,
        executable: bool,
    },
    Delete {
        /// What the file must hold for it to be deleted; none where the patch does not say.
        hunks: Vec<PatchHunk<'a>>,
    },
    Update {
        move_to: Option<String>,
        hunks: Vec<PatchHunk<'a>>,
    },
}

/// One place of a file and what changes there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchHunk<'a> {
    /// Where it begins in the patch, counted from 1.
    pub(crate) patch_line: usize,
    /// Lines of the file that come before it, outermost first.
    pub(crate) headers: Vec<&'a str>,
    /// Where the patch says that it is, if it says so: a hint, because models count badly.
    pub(crate) old_line: Option<usize>,
    pub(crate) lines: Vec<HunkLine<'a>>,
    /// Whether its old lines are the last of the file.
    pub(crate) at_end: bool,
    /// Whether the file ends with a line break afterwards; as before, where the patch does not say.
    pub(crate) final_newline: Option<bool>,
}

/// A line of a hunk, without its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HunkLine<'a> {
    Keep(&'a str),
    Remove(&'a str),
    Add(&'a str),
}

impl<'a> PatchHunk<'a> {
    /// The lines that must be in the file.
    fn old_lines(&self) -> Vec<&'a str> {
        let mut lines = Vec::new();
        for line in &self.lines {
            match line {
                HunkLine::Keep(text) | HunkLine::Remove(text) => lines.push(*text),
                HunkLine::Add(_) => {}
            }
        }
        lines
    }

    /// The lines that the file has in their place afterwards.
    fn new_lines(&self) -> Vec<&'a str> {
        let mut lines = Vec::new();
        for line in &self.lines {
            match line {
                HunkLine::Keep(text) | HunkLine::Add(text) => lines.push(*text),
                HunkLine::Remove(_) => {}
            }
        }
        lines
    }
}
