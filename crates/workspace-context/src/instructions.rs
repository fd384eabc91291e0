//! AGENTS.md files: those of every directory on the way from the workspace's root to the files in play. They
//! are text for the model and nothing else; what they say of checks is for the agent to read, under trust.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::prompts;
use crate::visible_files::VisibleFiles;
use ostler_context::{ContextMessage, GatheredSectionKind};
use ostler_context::{text_tokens, tokens_to_bytes};
use ostler_runner::ShownContext;
use sha2::{Digest, Sha256};

const NAME: &str = "AGENTS.md";
/// How much of one file is shown.
const MAX_FILE_BYTES: u64 = 16 * 1024;
/// How much of one file is looked at to tell whether it has changed.
const MAX_READ_BYTES: u64 = 1024 * 1024;
/// How many directories are looked into.
const MAX_DIRECTORIES: usize = 64;

/// One instruction file that is new to the model.
struct InstructionFile {
    path: String,
    text: String,
    digest: String,
    was_shown: bool,
}

/// Adds the instructions that the model has not seen as they are now, the outermost first: of two that
/// disagree the nearer one holds. Reads files.
pub(crate) fn add_instructions(
    bundle: &mut ContextMessage,
    visible: &VisibleFiles,
    in_play: &[String],
    before: &ShownContext,
    budget: u64,
) {
    let (found, gone) = changed_files(visible, in_play, before);
    let mut room = tokens_to_bytes(budget);
    let mut fits = BTreeMap::new();
    // The nearest files hold most, so they are the last to be left out.
    for (number, file) in found.iter().enumerate().rev() {
        let bytes = file.text.len() + file.path.len() + 40;
        fits.insert(number, bytes <= room);
        room = room.saturating_sub(bytes);
    }
    for path in gone {
        let (name, text) = prompts::deleted_instructions(&path);
        bundle.shown.instructions.insert(path.clone(), String::new());
        bundle.push(GatheredSectionKind::Instructions, name, text);
    }
    for (number, file) in found.into_iter().enumerate() {
        bundle.shown.instructions.insert(file.path.clone(), file.digest);
        let name = prompts::instructions_heading(&file.path, file.was_shown);
        let text =
            if fits[&number] { file.text } else { prompts::omitted_instructions(text_tokens(&file.text)) };
        bundle.push(GatheredSectionKind::Instructions, name, text);
    }
}

/// The files that are new or have changed, and those that were shown and are gone.
fn changed_files(
    visible: &VisibleFiles,
    in_play: &[String],
    before: &ShownContext,
) -> (Vec<InstructionFile>, Vec<String>) {
    let (mut found, mut gone) = (Vec::new(), Vec::new());
    for directory in directories(in_play, before) {
        let path = directory.join(NAME);
        let shown = path.to_string_lossy().into_owned();
        let known = before.instructions.get(&shown);
        let Ok(content) = visible.read(&path, MAX_READ_BYTES) else {
            if known.is_some_and(|digest| !digest.is_empty()) {
                gone.push(shown);
            }
            continue;
        };
        let digest = digest(&content.bytes);
        if known == Some(&digest) || content.bytes.trim_ascii().is_empty() {
            continue;
        }
        let was_shown = known.is_some_and(|digest| !digest.is_empty());
        found.push(InstructionFile {
            path: shown,
            text: bounded_text(&content.bytes, content.stamp.size),
            digest,
            was_shown,
        });
    }
    (found, gone)
}

/// The directories whose instructions hold, each after those above it.
fn directories(in_play: &[String], before: &ShownContext) -> Vec<PathBuf> {
    let known = before.instructions.keys().map(String::as_str);
    let mut directories = vec![PathBuf::new()];
    for path in known.chain(in_play.iter().map(String::as_str)) {
        let path = Path::new(path);
        let is_inside =
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let Some(parent) = path.parent().filter(|_| is_inside) else { continue };
        let mut directory = PathBuf::new();
        for part in parent.components().filter(|part| *part != Component::CurDir) {
            directory.push(part);
            if directories.len() < MAX_DIRECTORIES && !directories.contains(&directory) {
                directories.push(directory.clone());
            }
        }
    }
    directories
        .sort_by(|one, other| (one.components().count(), one).cmp(&(other.components().count(), other)));
    directories
}

/// The text of a file, as much as is shown of one.
fn bounded_text(bytes: &[u8], size: u64) -> String {
    let limit = bytes.len().min(usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX));
    let text = String::from_utf8_lossy(&bytes[..limit]);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if size <= limit as u64 {
        return text.trim().to_owned();
    }
    // A character that the limit has cut in two is left out rather than shown broken.
    let text = text.trim_end_matches('\u{fffd}').trim();
    text.to_owned() + &prompts::truncated_instructions(limit, size)
}

/// By what one content of a file is told from another.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
