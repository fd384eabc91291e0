//! From a patch to the changes that it means in a workspace: which files there are, what they hold
//! and what they will hold. It reads and computes, and leaves every write to `change`.

use std::collections::HashMap;
use std::path::{Component, PathBuf};

use rustix::io::Errno;

use super::apply::apply;
use super::document::TextDocument;
use super::{FileAction, FilePatch, ParsedPatch, PatchHunk};
use crate::Failed;
use crate::file_edit::{FileEdit, FileEditAction};
use crate::file_location::{FileLocation, FileLocationId};
use crate::file_replacement::FileVersion;
use crate::file_tracker::SessionFileTracker;
use crate::text::reveal_line;
use crate::workspace::Workspace;

/// How long a file may be that is patched.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// How much a patch may read in all, because every old content is kept until the end.
const MAX_READ_BYTES: u64 = 32 * 1024 * 1024;

/// What a patch comes to.
#[derive(Debug)]
pub(crate) struct PatchPlan {
    pub(crate) changes: Vec<FileEdit>,
    /// What the model should know although nothing is wrong.
    pub(crate) notes: Vec<String>,
}

/// Works out what a patch does.
pub(crate) fn plan(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    patch: &ParsedPatch<'_>,
) -> Result<PatchPlan, Failed> {
    let (changes, notes) = (Vec::new(), Vec::new());
    let mut planner =
        PatchPlanner { workspace, files: shown, named_files: HashMap::new(), read: 0, changes, notes };
    for file in &patch.files {
        planner.plan(file)?;
    }
    for change in &planner.changes {
        if let FileEditAction::Update { seen, content } = &change.action
            && seen.edit_base() == Some(content)
        {
            return Err(refused(&change.path, "the patch changes nothing in it"));
        }
    }
    Ok(PatchPlan { changes: planner.changes, notes: planner.notes })
}

/// Reads a text file that exists, to change it: what an editor shows of it, where that is not saved.
pub(crate) fn read_text(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    place: &FileLocation,
    path: &str,
) -> Result<(FileVersion, TextDocument), Failed> {
    let seen = place.read(path, MAX_FILE_BYTES)?;
    let Some(content) = seen.content() else {
        let reason =
            format!("it has {} bytes; the limit is {MAX_FILE_BYTES}. Change it with a command", seen.bytes());
        return Err(refused(path, &reason));
    };
    let document = TextDocument::decode(content)
        .ok_or_else(|| refused(path, "it is binary or in an unknown encoding; change it with a command"))?;
    let Some(unsaved) = shown.unsaved(workspace, path, Some(document.text())) else {
        return Ok((seen, document));
    };
    let document = document.with_text(unsaved);
    let unsaved = document.encode(document.text());
    Ok((seen.with_unsaved(unsaved), document))
}

/// Which file a path means: a name in a directory, or where that is missing, the path itself.
#[derive(Debug, PartialEq, Eq, Hash)]
enum FileId {
    Place(FileLocationId),
    Path(PathBuf),
}

struct PatchPlanner<'a> {
    workspace: &'a Workspace,
    files: &'a SessionFileTracker,
    /// The files that the patch has named so far, and the change that each is in.
    named_files: HashMap<FileId, usize>,
    read: u64,
    changes: Vec<FileEdit>,
    notes: Vec<String>,
}

impl PatchPlanner<'_> {
    fn plan(&mut self, file: &FilePatch<'_>) -> Result<(), Failed> {
        let path = &file.path;
        let place = FileLocation::find_if_parent_exists(self.workspace, path)?;
        let id = self.id(path, place.as_ref())?;
        let earlier = self.named_files.insert(id, self.changes.len());
        if let Some(index) = earlier {
            return self.plan_again(index, file);
        }
        let action = match &file.action {
            FileAction::Add { content, executable } => {
                self.refuse_existing(
                    path,
                    place.as_ref(),
                    "use `*** Update File` or write_file to change it",
                )?;
                FileEditAction::Add { content: content.clone().into_bytes(), executable: *executable }
            }
            FileAction::Delete { hunks } => {
                let (seen, document) = self.read(path, place, FinalLinkPolicy::No)?;
                if !hunks.is_empty() && !apply(path, &document, hunks)?.text.is_empty() {
                    return Err(refused(path, "the patch deletes it but does not remove all of its lines"));
                }
                FileEditAction::Delete { seen }
            }
            FileAction::Update { move_to: None, hunks } => {
                let (seen, document) = self.read(path, place, FinalLinkPolicy::Yes)?;
                let content = self.updated(path, &document, hunks)?;
                FileEditAction::Update { seen, content }
            }
            FileAction::Update { move_to: Some(to), hunks } => {
                let (seen, document) = self.read(path, place, FinalLinkPolicy::No)?;
                let target = FileLocation::find_if_parent_exists(self.workspace, to)?;
                let id = self.id(to, target.as_ref())?;
                if self.named_files.insert(id, self.changes.len()).is_some() {
                    return Err(named_twice(to));
                }
                self.refuse_existing(to, target.as_ref(), "a file cannot be moved onto it")?;
                let content = if hunks.is_empty() {
                    seen.edit_base().unwrap_or_default().to_vec()
                } else {
                    self.updated(path, &document, hunks)?
                };
                self.changes.push(FileEdit {
                    path: to.clone(),
                    action: FileEditAction::Move { from: path.clone(), seen, content },
                });
                return Ok(());
            }
        };
        self.changes.push(FileEdit { path: path.clone(), action });
        Ok(())
    }

    /// A file that the patch names again. Only updates can follow one another.
    fn plan_again(&mut self, index: usize, file: &FilePatch<'_>) -> Result<(), Failed> {
        let (
            Some(FileEdit { action: FileEditAction::Update { content, .. }, .. }),
            FileAction::Update { move_to: None, hunks },
        ) = (self.changes.get(index), &file.action)
        else {
            return Err(named_twice(&file.path));
        };
        let document = TextDocument::decode(content).ok_or_else(|| named_twice(&file.path))?;
        let updated = self.updated(&file.path, &document, hunks)?;
        if let Some(FileEdit { action: FileEditAction::Update { content, .. }, .. }) =
            self.changes.get_mut(index)
        {
            *content = updated;
        }
        let id =
            self.id(&file.path, FileLocation::find_if_parent_exists(self.workspace, &file.path)?.as_ref())?;
        self.named_files.insert(id, index);
        Ok(())
    }

    fn updated(
        &mut self,
        path: &str,
        document: &TextDocument,
        hunks: &[PatchHunk<'_>],
    ) -> Result<Vec<u8>, Failed> {
        if hunks.is_empty() {
            return Err(refused(path, "the patch has no hunks for it"));
        }
        let applied = apply(path, document, hunks)?;
        self.notes.extend(applied.notes);
        Ok(document.encode(&applied.text))
    }

    fn read(
        &mut self,
        path: &str,
        place: Option<FileLocation>,
        follow: FinalLinkPolicy,
    ) -> Result<(FileVersion, TextDocument), Failed> {
        let place = place.filter(|place| place.existing().is_some()).ok_or_else(|| {
            Failed::new(format!("{} Nothing was changed.", self.workspace.explain(path, Errno::NOENT).0))
        })?;
        if place.is_link() && follow == FinalLinkPolicy::No {
            return Err(refused(
                path,
                "it is a symbolic link, which apply_patch can neither delete nor move; use a command",
            ));
        }
        let (seen, document) = read_text(self.workspace, self.files, &place, path)?;
        self.read += seen.bytes();
        if self.read > MAX_READ_BYTES {
            return Err(refused(path, "the files in this patch are too large together; split the patch"));
        }
        Ok((seen, document))
    }

    fn refuse_existing(&self, path: &str, place: Option<&FileLocation>, advice: &str) -> Result<(), Failed> {
        match place {
            Some(place) if place.existing().is_some() || place.is_link() => {
                Err(refused(path, &format!("it already exists; {advice}")))
            }
            Some(_) => Ok(()),
            None if self.workspace.relative(path)?.components().any(|part| part == Component::ParentDir) => {
                Err(self.workspace.explain(path, Errno::NOENT))
            }
            None => Ok(()),
        }
    }

    fn id(&self, path: &str, place: Option<&FileLocation>) -> Result<FileId, Failed> {
        Ok(match place {
            Some(place) => FileId::Place(place.id().map_err(|errno| self.workspace.explain(path, errno))?),
            None => FileId::Path(self.workspace.relative(path)?),
        })
    }
}

/// Whether a symbolic link at the end of a path stands for the file that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalLinkPolicy {
    Yes,
    No,
}

fn named_twice(path: &str) -> Failed {
    refused(path, "the patch names it twice with conflicting actions; name it once")
}

fn refused(path: &str, reason: &str) -> Failed {
    Failed::new(format!("`{}` cannot be patched: {reason}. Nothing was changed.", reveal_line(path)))
}
