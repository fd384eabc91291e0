//! What is known of storage, and where: the folders of sessions, and who appends to a log.

use super::TidyFinding;
use super::production;
use super::tree::{RepositoryFile, RepositoryTree};

/// The files that know where the folders of sessions are.
const SESSION_FOLDERS: [&str; 2] = ["crates/eventlog/src/layout.rs", "crates/engine/src/session_folder.rs"];
/// The files that append to a log: to a session that is awake, and to one that is being made.
const APPENDS: [&str; 2] = ["crates/engine/src/loaded_session.rs", "crates/engine/src/new_log.rs"];

/// What a log keeps in the folder of a session is asked of the log, so that a log can be kept elsewhere.
pub(super) fn session_folders_known_once(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let others = production::files(tree).filter(|file| !SESSION_FOLDERS.contains(&file.path.as_str()));
    let text = "makes a path of a session's folder; ask the log, or `engine/src/session_folder.rs`";
    lines_with(others, "join(\"sessions\")", text)
}

/// A session changes in `LoadedSession::record` and, while it is being made, in `NewLog`.
pub(super) fn appended_in_two_places(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let engine = production::files(tree).filter(|file| file.path.starts_with("crates/engine/"));
    let others = engine.filter(|file| !APPENDS.contains(&file.path.as_str()));
    lines_with(
        others,
        "log.append(",
        "appends to a log; use `LoadedSession::record`, or `NewLog` for a new session",
    )
}

fn lines_with<'a>(
    files: impl Iterator<Item = &'a RepositoryFile>,
    wanted: &str,
    text: &str,
) -> Vec<TidyFinding> {
    let lines =
        files.flat_map(|file| file.text.lines().enumerate().map(move |(at, line)| (file, at + 1, line)));
    let found = lines.filter(|(_, _, line)| line.contains(wanted));
    found.map(|(file, line, _)| TidyFinding::new(&file.path, line, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::{appended_in_two_places, session_folders_known_once};
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn folders_of_sessions_are_known_in_two_places() {
        let code = "fn f(data_dir: &Path) { data_dir.join(\"sessions\"); }";
        let found =
            |path: &str| session_folders_known_once(&RepositoryTree::from_files(&[(path, code)])).len();
        assert_eq!(found("crates/doors/src/a.rs"), 1);
        assert_eq!(found("crates/engine/src/session_folder.rs") + found("crates/doors/tests/it/a.rs"), 0);
    }

    #[test]
    fn records_are_appended_in_two_places() {
        let code = "fn f() { shared.log.append(id, epoch, 1, records); }";
        let found = |path: &str| appended_in_two_places(&RepositoryTree::from_files(&[(path, code)])).len();
        assert_eq!(found("crates/engine/src/actor.rs"), 1);
        assert_eq!(found("crates/engine/src/loaded_session.rs") + found("crates/engine/tests/it/a.rs"), 0);
    }
}
