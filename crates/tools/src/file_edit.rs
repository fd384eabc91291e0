//! Changes of files that belong together: made all, or none. They are staged first, each is put in
//! its place only if that is still as it was read, and those that were made are taken back when a
//! later one fails. It also says what was changed, as a diff per file; what to change is left to
//! the tools.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_runner::ToolContext;
use ostler_types::{ChangeKind, FileChange};
use ostler_workspace_fs::DiffNames;
use serde_json::{Value, json};

use crate::Failed;
use crate::blocking::StopFlag;
use crate::diff::{TextDiff, diff};
use crate::file_location::{FileLocation, remove_created_directories};
use crate::file_replacement::{ExpectedVersion, FileMode, FileVersion, StagedContent};
use crate::hidden_paths::HiddenPaths;
use crate::patch::document::TextDocument;
use crate::text::reveal_line;
use crate::workspace::Workspace;

/// How much diff text one call gives, over all its files.
const MAX_DIFF_BYTES: usize = 256 * 1024;

/// What becomes of one file.
#[derive(Debug)]
pub(crate) struct FileEdit {
    /// Where the file is afterwards, or was before it is deleted, as it was given.
    pub(crate) path: String,
    pub(crate) action: FileEditAction,
}

/// What is done, with what was there before.
#[derive(Debug)]
pub(crate) enum FileEditAction {
    Add { content: Vec<u8>, executable: bool },
    Update { seen: FileVersion, content: Vec<u8> },
    Delete { seen: FileVersion },
    Move { from: String, seen: FileVersion, content: Vec<u8> },
}

/// Makes the changes, all or none. An error says what stopped them, and what is left of them if they
/// could not be taken back.
pub(crate) fn commit(workspace: &Workspace, changes: &[FileEdit], stop: &StopFlag) -> Result<(), Failed> {
    let mut made = Vec::new();
    let mut done: Vec<FileEditStep<'_>> = Vec::new();
    let result = stage(workspace, changes, &mut made).and_then(|steps| {
        if stop.is_set() {
            return Err(Failed::new("The call was canceled."));
        }
        for mut step in steps {
            step.apply()?;
            done.push(step);
        }
        Ok(())
    });
    let Err(failed) = result else { return Ok(()) };
    let left: Vec<String> = done.iter().rev().filter_map(|step| step.revert().err()).collect();
    remove_created_directories(workspace, &made);
    let consequence = if left.is_empty() {
        "Nothing was changed.".to_owned()
    } else {
        format!("Some changes could not be reverted: {}.", left.join("; "))
    };
    Err(Failed::new(format!("{} {consequence}", failed.0)))
}

/// One effect on one place. A move has two of them.
struct FileEditStep<'a> {
    location: FileLocation,
    path: &'a str,
    before: Option<&'a FileVersion>,
    /// What is there afterwards; none where the file is deleted.
    after: Option<&'a [u8]>,
    staged: Option<StagedContent>,
}

/// Writes everything that will be needed beside its place. New content comes before deletions, so
/// that a crash in between leaves a file twice rather than nowhere.
fn stage<'a>(
    workspace: &Workspace,
    changes: &'a [FileEdit],
    made: &mut Vec<PathBuf>,
) -> Result<Vec<FileEditStep<'a>>, Failed> {
    let mut steps = Vec::new();
    let mut deletions = Vec::new();
    for FileEdit { path, action } in changes {
        let (before, content, mode, source) = match action {
            FileEditAction::Add { content, executable } => {
                (None, Some(content), FileMode::New { executable: *executable }, None)
            }
            FileEditAction::Update { seen, content } => {
                (Some(seen), Some(content), FileMode::Like(seen), None)
            }
            FileEditAction::Delete { seen } => (None, None, FileMode::Like(seen), Some((path, seen))),
            FileEditAction::Move { from, seen, content } => {
                (None, Some(content), FileMode::Like(seen), Some((from, seen)))
            }
        };
        for (path, seen) in source.into_iter().chain(before.map(|seen| (path, seen))) {
            if seen.is_read_only() {
                return Err(Failed::new(format!("`{}` is read-only.", reveal_line(path))));
            }
        }
        if let Some(content) = content {
            let place = FileLocation::find_or_create_parents(workspace, path, made)?;
            let staged = Some(place.stage(path, content, mode)?);
            steps.push(FileEditStep { location: place, path, before, after: Some(content), staged });
        }
        if let Some((path, seen)) = source {
            let place = FileLocation::find_if_parent_exists(workspace, path)?
                .ok_or_else(|| Failed::new(format!("`{}` is gone.", reveal_line(path))))?;
            deletions.push(FileEditStep {
                location: place,
                path,
                before: Some(seen),
                after: None,
                staged: None,
            });
        }
    }
    steps.append(&mut deletions);
    Ok(steps)
}

impl FileEditStep<'_> {
    fn apply(&mut self) -> Result<(), Failed> {
        let before = self.before.map_or(ExpectedVersion::Nothing, ExpectedVersion::Seen);
        match self.staged.take() {
            Some(staged) => staged.publish(&self.location, self.path, before),
            None => self.location.remove(self.path, before),
        }
    }

    /// Undoes the step, unless somebody has changed the file since.
    fn revert(&self) -> Result<(), String> {
        let after = self.after.map_or(ExpectedVersion::Nothing, ExpectedVersion::Content);
        let restore = || match self.before {
            None => self.location.remove(self.path, after),
            Some(before) => {
                let content = before.content().ok_or_else(|| {
                    Failed::new(format!("the old content of `{}` was not kept", reveal_line(self.path)))
                })?;
                let staged = self.location.stage(self.path, content, FileMode::Like(before))?;
                staged.publish(&self.location, self.path, after)
            }
        };
        restore().map_err(|failed| failed.0.trim_end_matches('.').to_owned())
    }
}

/// One file's change in numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditLineCounts {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// What was changed, for people and for clients.
pub(crate) struct FileEditReport {
    /// A line for each file.
    pub(crate) text: String,
    /// The `files` of the details.
    pub(crate) files: Value,
    /// The lines of each file; none where the old content was too long to be looked at.
    pub(crate) counts: Vec<Option<EditLineCounts>>,
}

/// Says what the changes did.
pub(crate) fn report(workspace: &Workspace, changes: &[FileEdit]) -> FileEditReport {
    let mut room = MAX_DIFF_BYTES;
    let (mut text, mut files, mut counts) = (String::new(), Vec::new(), Vec::new());
    for change in changes {
        let path = workspace_path(workspace, &change.path);
        let (verb, action, from) = match &change.action {
            FileEditAction::Add { .. } => (format!("Added {}", reveal_line(&path)), "add", None),
            FileEditAction::Update { .. } => (format!("Updated {}", reveal_line(&path)), "update", None),
            FileEditAction::Delete { .. } => (format!("Deleted {}", reveal_line(&path)), "delete", None),
            FileEditAction::Move { from, .. } => {
                let from = workspace_path(workspace, from);
                let verb = format!("Moved {} to {}", reveal_line(&from), reveal_line(&path));
                (verb, "move", Some(from))
            }
        };
        let made = edit_diff(&change.action, &path, from.as_deref(), room);
        let mut file = json!({"path": path, "action": action});
        if let Some(from) = from {
            file["from"] = json!(from);
        }
        file["added"] = json!(made.as_ref().map(|made| made.added));
        file["removed"] = json!(made.as_ref().map(|made| made.removed));
        file["diff"] = json!(made.as_ref().map_or("", |made| made.text.as_str()));
        if made.as_ref().is_none_or(|made| made.truncated) {
            file["truncated"] = json!(true);
        }
        let lines = made.as_ref().map(|made| format!(": {}", line_counts_text(made.added, made.removed)));
        text.push_str(&format!("{verb}{}.\n", lines.unwrap_or_default()));
        room -= made.as_ref().map_or(0, |made| made.text.len());
        counts.push(made.map(|made| EditLineCounts { added: made.added, removed: made.removed }));
        files.push(file);
    }
    FileEditReport { text, files: Value::Array(files), counts }
}

/// How many lines a change adds and removes, in words.
pub(crate) fn line_counts_text(added: usize, removed: usize) -> String {
    let lines = if added == 1 { "line" } else { "lines" };
    format!("{added} {lines} added, {removed} removed")
}

/// What the changes that are planned would come to, worked out on a thread that may block; none where the plan fails.
pub(crate) async fn preview(
    context: ToolContext,
    hidden: Arc<HiddenPaths>,
    plan: impl FnOnce(&Workspace) -> Result<Vec<FileEdit>, Failed> + Send + 'static,
) -> Option<Vec<FileChange>> {
    let work = move || {
        let workspace = Workspace::open(&context.workspace, &hidden)?;
        let changes = plan(&workspace)?;
        Ok::<_, Failed>(preview_edits(&workspace, &changes))
    };
    tokio::task::spawn_blocking(work).await.ok()?.ok()
}

fn preview_edits(workspace: &Workspace, changes: &[FileEdit]) -> Vec<FileChange> {
    let mut room = MAX_DIFF_BYTES;
    let of = |FileEdit { path, action }: &FileEdit| {
        let (kind, from) = match action {
            FileEditAction::Add { .. } => (ChangeKind::Added, None),
            FileEditAction::Update { .. } => (ChangeKind::Modified, None),
            FileEditAction::Delete { .. } => (ChangeKind::Deleted, None),
            FileEditAction::Move { from, .. } => (ChangeKind::Renamed, Some(workspace_path(workspace, from))),
        };
        let path = workspace_path(workspace, path);
        let made = edit_diff(action, &path, from.as_deref(), room);
        room -= made.as_ref().map_or(0, |made| made.text.len());
        let count = |of: fn(&TextDiff) -> usize| made.as_ref().map_or(0, |made| of(made) as u64);
        let (added, removed) = (count(|made| made.added), count(|made| made.removed));
        let whole = made.filter(|made| !made.truncated);
        FileChange { path, kind, from, added, removed, binary: false, diff: whole.map(|made| made.text) }
    };
    changes.iter().map(of).collect()
}

/// The path from the workspace on, whichever way it was given.
fn workspace_path(workspace: &Workspace, path: &str) -> String {
    workspace.relative(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

fn edit_diff(action: &FileEditAction, path: &str, from: Option<&str>, room: usize) -> Option<TextDiff> {
    let empty = String::new;
    let (old, new, names) = match action {
        FileEditAction::Add { content, .. } => {
            (empty(), decoded_text(content), DiffNames { old: None, new: Some(path) })
        }
        FileEditAction::Delete { seen } => {
            (decoded_text(seen.edit_base()?), empty(), DiffNames { old: Some(path), new: None })
        }
        FileEditAction::Update { seen, content } | FileEditAction::Move { seen, content, .. } => {
            let names = DiffNames { old: Some(from.unwrap_or(path)), new: Some(path) };
            (decoded_text(seen.edit_base()?), decoded_text(content), names)
        }
    };
    Some(diff(&old, &new, names, room))
}

fn decoded_text(content: &[u8]) -> String {
    match TextDocument::decode(content) {
        Some(document) => document.into_text(),
        None => String::from_utf8_lossy(content).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{FileEdit, FileEditAction, commit};
    use crate::blocking::StopFlag;
    use crate::file_location::FileLocation;
    use crate::file_replacement::FileVersion;
    use crate::hidden_paths::HiddenPaths;
    use crate::workspace::Workspace;

    fn seen(workspace: &Workspace, path: &str) -> FileVersion {
        FileLocation::find_if_parent_exists(workspace, path).unwrap().unwrap().read(path, 1_000).unwrap()
    }

    /// One change of each kind, in a folder with the files that they are for.
    fn changes(folder: &Path) -> (Workspace, Vec<FileEdit>) {
        for name in ["update", "delete", "move", "last"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        std::fs::set_permissions(folder.join("update"), std::fs::Permissions::from_mode(0o750)).unwrap();
        let workspace = Workspace::open(folder, &HiddenPaths::default()).unwrap();
        let new = || b"new".to_vec();
        let seen = |path| seen(&workspace, path);
        let changes = vec![
            ("update", FileEditAction::Update { seen: seen("update"), content: new() }),
            ("d/e/add", FileEditAction::Add { content: new(), executable: true }),
            ("delete", FileEditAction::Delete { seen: seen("delete") }),
            ("d/moved", FileEditAction::Move { from: "move".to_owned(), seen: seen("move"), content: new() }),
            ("last", FileEditAction::Delete { seen: seen("last") }),
        ];
        let change = |(path, action): (&str, FileEditAction)| FileEdit { path: path.to_owned(), action };
        let changes = changes.into_iter().map(change).collect();
        (workspace, changes)
    }

    /// Names, modes and contents.
    fn listing(folder: &Path) -> Vec<String> {
        let mut listing = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                listing.extend(self::listing(&path).iter().map(|inner| format!("{name}/{inner}")));
                listing.push(format!("{name}/"));
            } else {
                let mode = path.metadata().unwrap().permissions().mode() & 0o111;
                listing.push(format!("{name} {mode:o} {}", std::fs::read_to_string(&path).unwrap()));
            }
        }
        listing.sort();
        listing
    }

    #[test]
    fn all_changes_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, changes) = changes(folder.path());
        commit(&workspace, &changes, &StopFlag::default()).unwrap();
        let mode = std::fs::metadata(folder.path().join("d/e/add")).unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100, "{mode:o}");
        let listing: Vec<String> =
            listing(folder.path()).into_iter().filter(|line| !line.starts_with("d/e/add")).collect();
        assert_eq!(listing, ["d/", "d/e/", "d/moved 0 new", "update 110 new"]);
    }

    #[test]
    fn when_one_fails_all_are_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, changes) = changes(folder.path());
        std::fs::write(folder.path().join("last"), "else").unwrap();
        let before = listing(folder.path());
        let failed = commit(&workspace, &changes, &StopFlag::default()).unwrap_err();
        assert!(failed.0.contains("`last` was modified by someone else"), "{}", failed.0);
        assert!(failed.0.ends_with("Nothing was changed."), "{}", failed.0);
        assert_eq!(listing(folder.path()), before);
    }

    #[test]
    fn a_canceled_call_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, changes) = changes(folder.path());
        let before = listing(folder.path());
        let stop = StopFlag::default();
        stop.set();
        let failed = commit(&workspace, &changes, &stop).unwrap_err();
        assert_eq!(failed.0, "The call was canceled. Nothing was changed.");
        assert_eq!(listing(folder.path()), before);
    }
}
