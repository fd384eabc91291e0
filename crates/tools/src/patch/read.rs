//! Reads a patch in either format, out of whatever a model has wrapped it in. The formats themselves
//! are left to `envelope` and `unified`.

use super::{ParsedPatch, envelope, unified};
use crate::Failed;
use crate::patch::hunk_reader::PatchLines;

/// How long a patch may be.
const MAX_PATCH_BYTES: usize = 1024 * 1024;
/// How many files a patch may change.
const MAX_FILES: usize = 200;
/// How many wrappers are taken off.
const MAX_WRAPPERS: usize = 4;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Reads a patch.
pub(crate) fn parse_patch(text: &str) -> Result<ParsedPatch<'_>, Failed> {
    if text.len() > MAX_PATCH_BYTES {
        return Err(Failed::new(format!(
            "The patch has {} bytes; the limit is {MAX_PATCH_BYTES}. Nothing was changed. Split the patch.",
            text.len()
        )));
    }
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let (body, first) = strip_wrappers(&lines)?;
    let mut lines = PatchLines::new(body, first);
    let files = match detect_format(body) {
        Some(PatchFormat::Envelope) => envelope::read(&mut lines)?,
        Some(PatchFormat::Unified) => unified::read(&mut lines)?,
        None if body.is_empty() => Vec::new(),
        None => {
            return Err(lines.unexpected(
                "`*** Add File: path`, `*** Update File: path` or `*** Delete File: path`, or the `---` and `+++` lines \
                 of a unified diff",
            ));
        }
    };
    if files.is_empty() {
        return Err(Failed::new("The patch is empty: it names no file. Nothing was changed."));
    }
    if files.len() > MAX_FILES {
        return Err(Failed::new(format!(
            "The patch changes {} files; the limit is {MAX_FILES}. Nothing was changed. Split the patch.",
            files.len()
        )));
    }
    Ok(ParsedPatch { files })
}

enum PatchFormat {
    Envelope,
    Unified,
}

fn detect_format(body: &[&str]) -> Option<PatchFormat> {
    let first = body.first()?;
    if first.starts_with("*** ") && !unified::is_context_diff(body) {
        return Some(PatchFormat::Envelope);
    }
    (0..body.len()).any(|at| unified::is_file_start(&body[at..])).then_some(PatchFormat::Unified)
}

/// Takes off blank lines, code fences, here-documents and the envelope, and gives what is left with the
/// number of its first line.
fn strip_wrappers<'p, 'a>(lines: &'p [&'a str]) -> Result<(&'p [&'a str], usize), Failed> {
    let (mut start, mut end) = (0, lines.len());
    let trim = |start: &mut usize, end: &mut usize| {
        while *start < *end && lines[*start].trim().is_empty() {
            *start += 1;
        }
        while *start < *end && lines[*end - 1].trim().is_empty() {
            *end -= 1;
        }
    };
    trim(&mut start, &mut end);
    for _ in 0..MAX_WRAPPERS {
        let Some(closing) = lines[start..end].first().and_then(|line| closing_line(line)) else { break };
        start += 1;
        if start < end && lines[end - 1].trim() == closing {
            end -= 1;
        }
        trim(&mut start, &mut end);
    }
    let is_begun = lines[start..end].first().is_some_and(|line| line.trim() == BEGIN);
    start += usize::from(is_begun);
    let closing = lines[start..end].iter().position(|line| line.trim_end() == END);
    match closing {
        Some(at) if start + at + 1 < end => {
            let mut rest = PatchLines::new(&lines[start + at + 1..end], start + at + 2);
            while rest.peek().is_some_and(|line| line.trim().is_empty()) {
                rest.skip();
            }
            return Err(rest.unexpected("nothing after `*** End Patch`; one call takes one patch"));
        }
        Some(at) => end = start + at,
        None if is_begun => {
            return Err(Failed::new(
                "The patch has no `*** End Patch`, so part of it may be missing. Nothing was changed. Send \
                 the complete patch.",
            ));
        }
        None => {}
    }
    trim(&mut start, &mut end);
    Ok((&lines[start..end], start + 1))
}

/// The line that closes what this line opens: a code fence, or a here-document.
fn closing_line(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with("```") {
        return Some("```");
    }
    let (command, tag) = line.split_once("<<")?;
    let tag = tag.trim_start_matches('-').trim().trim_matches(['\'', '"']);
    let is_tag =
        !tag.is_empty() && tag.chars().all(|character| character.is_alphanumeric() || character == '_');
    let is_command =
        matches!(command.trim(), "" | "apply_patch" | "applypatch" | "cat" | "git apply" | "patch -p1");
    (is_tag && is_command).then_some(tag)
}
