//! Reads the envelope format: sections that begin with `***`, hunks without line numbers that are
//! found by their lines. The envelope itself has been taken off before.

use super::hunk_reader::{HunkReader, PatchLines, hunk_header};
use super::{FileAction, FilePatch};
use crate::Failed;

const SECTION: &str = "`*** Add File: path`, `*** Update File: path` or `*** Delete File: path`";
const END_OF_FILE: &str = "*** End of File";

/// Reads the sections to the end.
pub(super) fn read<'a>(lines: &mut PatchLines<'_, 'a>) -> Result<Vec<FilePatch<'a>>, Failed> {
    let mut files = Vec::new();
    while let Some(line) = lines.peek() {
        if line.trim().is_empty() {
            lines.skip();
        } else if let Some(path) = path_after_marker(line, "*** Add File:") {
            lines.skip();
            files.push(FilePatch { path: path.to_owned(), action: read_added(lines)? });
        } else if let Some(path) = path_after_marker(line, "*** Delete File:") {
            lines.skip();
            files.push(FilePatch { path: path.to_owned(), action: FileAction::Delete { hunks: Vec::new() } });
        } else if let Some(path) = path_after_marker(line, "*** Update File:") {
            lines.skip();
            files.push(FilePatch { path: path.to_owned(), action: read_updated(lines)? });
        } else {
            return Err(lines.unexpected(SECTION));
        }
    }
    Ok(files)
}

/// The path after a marker; none where there is no such marker, or no path.
fn path_after_marker<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    line.strip_prefix(marker).map(str::trim).filter(|path| !path.is_empty())
}

fn read_added<'a>(lines: &mut PatchLines<'_, 'a>) -> Result<FileAction<'a>, Failed> {
    let mut content = String::new();
    let mut blank = 0;
    while let Some(line) = lines.peek() {
        if let Some(text) = line.strip_prefix('+') {
            // Empty lines that have lost their sign count only where more of the file follows.
            content.push_str(&"\n".repeat(blank));
            blank = 0;
            content.push_str(text);
            content.push('\n');
        } else if line.trim().is_empty() {
            blank += 1;
        } else if line.trim_end() != END_OF_FILE {
            if line.starts_with("*** ") {
                break;
            }
            return Err(lines.unexpected("a line of the new file, starting with `+`"));
        }
        lines.skip();
    }
    Ok(FileAction::Add { content, executable: false })
}

fn read_updated<'a>(lines: &mut PatchLines<'_, 'a>) -> Result<FileAction<'a>, Failed> {
    let move_to = lines.peek().and_then(|line| path_after_marker(line, "*** Move to:")).map(str::to_owned);
    if move_to.is_some() {
        lines.skip();
    }
    skip_file_names(lines);
    let mut hunks = HunkReader::default();
    while let Some(line) = lines.peek() {
        if line.trim_end() == END_OF_FILE {
            hunks.end_of_file()?;
        } else if line.starts_with("***") {
            break;
        } else if line.starts_with("@@") {
            hunks.open(lines.number(), &hunk_header(line))?;
        } else if line.starts_with("\\ ") {
            hunks.take_no_newline();
        } else if !hunks.take(lines.number(), line) {
            return Err(lines.unexpected(
                "a line of the hunk, starting with a space (context), `-` (remove) or `+` (add), or `@@`",
            ));
        }
        lines.skip();
    }
    Ok(FileAction::Update { move_to, hunks: hunks.finish()? })
}

/// The `---` and `+++` lines that some models put under the section's own line.
fn skip_file_names(lines: &mut PatchLines<'_, '_>) {
    let is_named = |by: usize, sign: &str| lines.peek_ahead(by).is_some_and(|line| line.starts_with(sign));
    if is_named(0, "--- ") && is_named(1, "+++ ") && is_named(2, "@@") {
        lines.skip();
        lines.skip();
    }
}
