//! Texts that a model reads: the note that an undo leaves in the conversation.

use ostler_types::TurnId;

/// How many paths one list names.
const MAX_LISTED: usize = 50;

/// Says that the workspace was reverted, and which files changed by it.
pub(crate) fn undone(turn: TurnId, files: &str) -> String {
    format!("The user reverted the workspace to its state before {turn}. {files}")
}

/// The files that an undo changed, by what happened to them.
pub(crate) fn undone_files(restored: &[String], recreated: &[String], deleted: &[String]) -> String {
    let list = |what: &str, paths: &[String]| match paths.len() {
        0 => String::new(),
        count if count > MAX_LISTED => {
            format!("{what}: {}, and {} more. ", paths[..MAX_LISTED].join(", "), count - MAX_LISTED)
        }
        _ => format!("{what}: {}. ", paths.join(", ")),
    };
    let all = list("Restored", restored) + &list("Recreated", recreated) + &list("Deleted", deleted);
    all.trim_end().to_owned()
}
