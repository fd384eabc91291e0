//! Reads unified diffs, as `diff -u` and git write them and as models imitate them: counts that do not
//! add up are tolerated, because hunks are found by their lines.

use super::hunk_reader::{HunkRanges, HunkReader, PatchLines, hunk_header};
use super::{FileAction, FilePatch, HunkLine, PatchHunk};
use crate::Failed;

const NO_FILE: &str = "/dev/null";

/// Reads the files to the end. What comes before the first of them, as the head of a mail does, is
/// passed over.
pub(super) fn read<'a>(lines: &mut PatchLines<'_, 'a>) -> Result<Vec<FilePatch<'a>>, Failed> {
    let mut files = Vec::new();
    while lines.peek().is_some() {
        if lines.is_at_file() {
            files.push(read_file(lines)?);
        } else {
            lines.skip();
        }
    }
    Ok(files)
}

/// Whether these lines begin the diff of a file.
pub(super) fn is_file_start(lines: &[&str]) -> bool {
    let starts = |at: usize, sign: &str| lines.get(at).is_some_and(|line| line.starts_with(sign));
    starts(0, "diff --git ") || starts(0, "--- ") && starts(1, "+++ ")
}

/// Whether this is a context diff, which looks like an envelope at first sight.
pub(super) fn is_context_diff(lines: &[&str]) -> bool {
    lines.get(1).is_some_and(|line| line.starts_with("--- "))
        && lines.get(2).is_some_and(|line| line.starts_with("***************"))
}

/// What the lines above the hunks say of a file.
#[derive(Default)]
struct FileHead {
    old: Option<String>,
    new: Option<String>,
    rename_from: Option<String>,
    rename_to: Option<String>,
    git: Option<(String, String)>,
    is_added: bool,
    is_deleted: bool,
    executable: bool,
}

fn read_file<'a>(lines: &mut PatchLines<'_, 'a>) -> Result<FilePatch<'a>, Failed> {
    let number = lines.number();
    let head = read_head(lines)?;
    let hunks = read_hunks(lines)?;
    let refuse = |reason: &str| {
        Failed::new(format!(
            "Invalid patch at line {number}: {reason}. Nothing was changed. Correct the patch and send it \
             again."
        ))
    };
    let (old, new) = file_names(&head).ok_or_else(|| refuse("the diff does not name its file"))?;
    if let (Some(from), Some(to)) = (head.rename_from, head.rename_to) {
        return Ok(FilePatch { path: from, action: FileAction::Update { move_to: Some(to), hunks } });
    }
    match (old, new) {
        (Some(old), Some(new)) if old == new => {
            Ok(FilePatch { path: new, action: FileAction::Update { move_to: None, hunks } })
        }
        (Some(_), Some(_)) => Err(refuse(
            "the diff names two different files; for a rename it needs `rename from` and `rename to` lines",
        )),
        (Some(old), None) => Ok(FilePatch { path: old, action: FileAction::Delete { hunks } }),
        (None, Some(new)) => {
            let content =
                added_content(&hunks).ok_or_else(|| refuse("a new file can have only added lines"))?;
            Ok(FilePatch { path: new, action: FileAction::Add { content, executable: head.executable } })
        }
        (None, None) => Err(refuse("both sides of the diff are /dev/null")),
    }
}

fn read_head(lines: &mut PatchLines<'_, '_>) -> Result<FileHead, Failed> {
    let mut head = FileHead::default();
    if let Some(rest) = lines.peek().and_then(|line| line.strip_prefix("diff --git ")) {
        head.git = git_names(rest.trim_end());
        lines.skip();
        while let Some(line) =
            lines.peek().filter(|line| !line.starts_with("--- ") && !line.starts_with("@@"))
        {
            if lines.is_at_file() {
                return Ok(head);
            }
            read_git_line(lines, line, &mut head)?;
            lines.skip();
        }
    }
    if lines.peek().is_some_and(|line| line.starts_with("--- ")) && lines.is_at_file() {
        head.old = lines.peek().and_then(|line| line.strip_prefix("--- ")).map(file_name);
        lines.skip();
        head.new = lines.peek().and_then(|line| line.strip_prefix("+++ ")).map(file_name);
        lines.skip();
    }
    Ok(head)
}

fn read_git_line(lines: &PatchLines<'_, '_>, line: &str, head: &mut FileHead) -> Result<(), Failed> {
    let line = line.trim_end();
    if let Some(name) = line.strip_prefix("rename from ") {
        head.rename_from = Some(file_name(name));
    } else if let Some(name) = line.strip_prefix("rename to ") {
        head.rename_to = Some(file_name(name));
    } else if let Some(mode) = line.strip_prefix("new file mode ") {
        head.is_added = true;
        head.executable = mode == "100755";
        if !mode.starts_with("100") {
            return Err(
                lines.unexpected("the mode of a regular file; links and submodules cannot be patched")
            );
        }
    } else if line.starts_with("deleted file mode ") {
        head.is_deleted = true;
    } else if line.starts_with("new mode ") || line.starts_with("old mode ") {
        return Err(
            lines.unexpected("no change of mode, which a patch cannot make here; use chmod in a command")
        );
    } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
        return Err(lines.unexpected("no copy, which a patch cannot make here; add the file instead"));
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        return Err(lines.unexpected("text, because binary files cannot be patched"));
    }
    Ok(())
}

fn read_hunks<'a>(lines: &mut PatchLines<'_, 'a>) -> Result<Vec<PatchHunk<'a>>, Failed> {
    let mut hunks = HunkReader::default();
    let mut left: Option<(usize, usize)> = None;
    while let Some(line) = lines.peek() {
        let is_counted_out = left.is_none_or(|left| left == (0, 0));
        if line.starts_with("@@") {
            let header = hunk_header(line);
            left = header.ranges.map(|HunkRanges { old_count, new_count, .. }| (old_count, new_count));
            hunks.open(lines.number(), &header)?;
        } else if lines.is_at_file() && (is_counted_out || is_certain_file_start(lines)) {
            break;
        } else if line.starts_with("\\ ") {
            hunks.take_no_newline();
        } else if is_counted_out && left.is_some() && (line.trim_end() == "--" || !is_hunk_line(line)) {
            // The signature of a mail, or what another tool put between two files.
            while lines.peek().is_some() && !lines.is_at_file() {
                lines.skip();
            }
            break;
        } else if hunks.take(lines.number(), line) {
            left = left.map(|left| remaining_counts(left, line));
        } else {
            return Err(lines.unexpected(
                "a line of the hunk, starting with a space (context), `-` (remove) or `+` (add), or the \
                 next `@@`",
            ));
        }
        lines.skip();
    }
    hunks.finish()
}

fn is_hunk_line(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '-', '+'])
}

fn remaining_counts((old, new): (usize, usize), line: &str) -> (usize, usize) {
    match line.chars().next() {
        Some('-') => (old.saturating_sub(1), new),
        Some('+') => (old, new.saturating_sub(1)),
        Some(_) | None => (old.saturating_sub(1), new.saturating_sub(1)),
    }
}

/// Whether a file begins here even though the counts say that the hunk goes on: a removed line can look
/// like `--- x`, but hardly with a hunk right below.
fn is_certain_file_start(lines: &PatchLines<'_, '_>) -> bool {
    lines.peek().is_some_and(|line| line.starts_with("diff --git "))
        || lines.peek_ahead(2).is_some_and(|line| line.starts_with("@@ "))
}

impl PatchLines<'_, '_> {
    fn is_at_file(&self) -> bool {
        let ahead: Vec<&str> = (0..2).filter_map(|by| self.peek_ahead(by)).collect();
        is_file_start(&ahead)
    }
}

/// The file before and after, none where there is none.
fn file_names(head: &FileHead) -> Option<(Option<String>, Option<String>)> {
    let (old, new) = match (&head.old, &head.new, &head.git) {
        (Some(old), Some(new), _) => (old.as_str(), new.as_str()),
        (_, _, Some((old, new))) => (old.as_str(), new.as_str()),
        (_, _, None) if head.rename_from.is_some() => (NO_FILE, NO_FILE),
        (_, _, None) => return None,
    };
    let old = if head.is_added { NO_FILE } else { old };
    let new = if head.is_deleted { NO_FILE } else { new };
    // Both sides have git's prefixes, or neither: a folder may be called `a`.
    let plain = |name: &str, prefix: &str| name == NO_FILE || name.starts_with(prefix);
    let prefixed = plain(old, "a/") && plain(new, "b/");
    let name = |name: &str, prefix: &str| {
        let bare = if prefixed { name.strip_prefix(prefix).unwrap_or(name) } else { name };
        (name != NO_FILE).then(|| bare.to_owned())
    };
    Some((name(old, "a/"), name(new, "b/")))
}

/// The two names of a `diff --git` line, which has no mark between them: they are told apart by being
/// the same.
fn git_names(rest: &str) -> Option<(String, String)> {
    if rest.starts_with('"') {
        let (old, new) = rest.split_once("\" ")?;
        return Some((file_name(&format!("{old}\"")), file_name(new)));
    }
    let same = rest.match_indices(' ').find_map(|(at, _)| {
        let (old, new) = (&rest[..at], &rest[at + 1..]);
        let is_same =
            old == new || old.strip_prefix("a/").is_some_and(|old| new.strip_prefix("b/") == Some(old));
        is_same.then_some((old, new))
    });
    same.or_else(|| rest.split_once(' ')).map(|(old, new)| (old.to_owned(), new.to_owned()))
}

/// The name on a `---` or `+++` line: without the time after it, and without git's quotes.
fn file_name(text: &str) -> String {
    let name = text.split('\t').next().unwrap_or(text).trim_end();
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => unquote(quoted),
        None => name.to_owned(),
    }
}

fn unquote(quoted: &str) -> String {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let Some((&escape, after)) = rest.split_first().filter(|_| byte == b'\\') else {
            bytes.push(byte);
            continue;
        };
        let octal = rest.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        if let Some(digits) = octal {
            let number = digits.iter().fold(0u32, |number, digit| number * 8 + u32::from(digit - b'0'));
            bytes.push(u8::try_from(number).unwrap_or(b'?'));
            rest = &rest[3..];
            continue;
        }
        rest = after;
        bytes.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a new file holds; none where its hunks have other lines than added ones.
fn added_content(hunks: &[PatchHunk<'_>]) -> Option<String> {
    let mut content = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        match line {
            HunkLine::Add(text) => {
                content.push_str(text);
                content.push('\n');
            }
            HunkLine::Keep(_) | HunkLine::Remove(_) => return None,
        }
    }
    if hunks.last().is_some_and(|hunk| hunk.final_newline == Some(false)) {
        content.pop();
    }
    Some(content)
}
