//! What tools know of files beside what the disk holds: what an editor shows that is not saved, and what the session has
//! seen of them. Files are read and written elsewhere.

use std::sync::Arc;

use ostler_types::SessionId;
use tokio::runtime::Handle;

use crate::editors::{EDITOR_TIMEOUT, Editors};
use crate::file_edit::{FileEdit, FileEditAction};
use crate::patch::document::TextDocument;
use crate::seen_files::{Fingerprint, SeenFiles};
use crate::text::reveal_line;
use crate::workspace::Workspace;

/// What is known of files beside what the disk holds.
#[derive(Clone, Default)]
pub(crate) struct FileTracker {
    pub(crate) editors: Arc<Editors>,
    seen_files: Arc<SeenFiles>,
}

impl FileTracker {
    /// The same for the files of one session.
    pub(crate) fn for_session(&self, session: SessionId) -> SessionFileTracker {
        SessionFileTracker { tracker: self.clone(), session }
    }
}

/// What the editor of one session shows, and what the session has seen. For tools, whose threads may block.
pub(crate) struct SessionFileTracker {
    tracker: FileTracker,
    session: SessionId,
}

impl SessionFileTracker {
    /// The session has seen all of a file.
    pub(crate) fn record_seen(&self, workspace: &Workspace, path: &str, content: Fingerprint) {
        if let Some(path) = workspace.absolute(path) {
            self.tracker.seen_files.record(self.session, &path, content);
        }
    }

    /// Whether somebody has changed a file since the session saw it.
    pub(crate) fn is_outdated(&self, workspace: &Workspace, path: &str, content: Option<&[u8]>) -> bool {
        let path = workspace.absolute(path);
        path.zip(content)
            .is_some_and(|(path, content)| self.tracker.seen_files.differs(self.session, &path, content))
    }

    /// Whether there is an editor at all.
    pub(crate) fn has_editor(&self) -> bool {
        self.tracker.editors.has_editor(self.session)
    }

    /// What is unsaved in a file that the tool may look at.
    pub(crate) fn unsaved(&self, workspace: &Workspace, path: &str, on_disk: Option<&str>) -> Option<String> {
        if !self.has_editor() {
            return None;
        }
        let path = workspace.absolute(path)?;
        Handle::try_current().ok()?.block_on(self.tracker.editors.unsaved(self.session, &path, on_disk))
    }

    /// Remembers what was written, and has the editor show it in files in which it had something unsaved. That it
    /// does not is no error: the disk has it.
    pub(crate) fn record_edits(&self, workspace: &Workspace, changes: &[FileEdit]) {
        for FileEdit { path, action } in changes {
            self.record_edit(workspace, path, action);
            let (FileEditAction::Update { seen, content } | FileEditAction::Move { seen, content, .. }) =
                action
            else {
                continue;
            };
            let (Some(path), Some(document)) = (workspace.absolute(path), TextDocument::decode(content))
            else {
                continue;
            };
            let asked = self.tracker.editors.buffers_for(self.session, &path, Some(document.text()));
            let write = asked.and_then(|buffers| buffers.write).filter(|_| seen.has_unsaved());
            if let (Some(write), Ok(runtime)) = (write, Handle::try_current()) {
                let writing = write(path, document.into_text());
                _ = runtime.block_on(async { tokio::time::timeout(EDITOR_TIMEOUT, writing).await });
            }
        }
    }

    fn record_edit(&self, workspace: &Workspace, path: &str, action: &FileEditAction) {
        let forget = |path: &str| {
            if let Some(path) = workspace.absolute(path) {
                self.tracker.seen_files.forget(self.session, &path);
            }
        };
        match action {
            FileEditAction::Add { content, .. } | FileEditAction::Update { content, .. } => {
                self.record_seen(workspace, path, Fingerprint::from_content(content));
            }
            FileEditAction::Delete { .. } => forget(path),
            FileEditAction::Move { from, content, .. } => {
                forget(from);
                self.record_seen(workspace, path, Fingerprint::from_content(content));
            }
        }
    }
}

/// What is said besides when a change was made all the same.
pub(crate) const OUTDATED_ADVICE: &str =
    "Your change was applied to its current content; read it again before you continue.";

/// What a model is told of a file that was changed since it saw it.
pub(crate) fn outdated_message(path: &str) -> String {
    format!(
        "`{}` has been modified since you read it, by the user, a command or another session",
        reveal_line(path)
    )
}

/// What a model is told of files whose unsaved text a change took in; nothing where there was none.
pub(crate) fn unsaved_text_note(changes: &[FileEdit]) -> Option<&'static str> {
    let has_unsaved = |change: &FileEdit| match &change.action {
        FileEditAction::Update { seen, .. }
        | FileEditAction::Delete { seen }
        | FileEditAction::Move { seen, .. } => seen.has_unsaved(),
        FileEditAction::Add { .. } => false,
    };
    changes.iter().any(has_unsaved).then_some(
        "The file had unsaved changes in the user's editor. The change was applied to that text and saved.",
    )
}
