//! The folder of a session on this machine: for readable files, and for paths that clients here are told. What the log
//! keeps beside its records is asked of the log.

use std::path::{Path, PathBuf};

use ostler_recorder::log_folder;
use ostler_types::{Session, SessionId};

use crate::engine::Engine;

/// The folders of all sessions.
#[derive(Debug, Clone)]
pub(crate) struct SessionFolders {
    sessions: PathBuf,
}

impl SessionFolders {
    pub(crate) fn new(data_dir: &Path) -> SessionFolders {
        SessionFolders { sessions: data_dir.join("sessions") }
    }

    /// The folder of a session.
    pub(crate) fn session_path(&self, id: SessionId) -> PathBuf {
        self.sessions.join(id.to_string())
    }
}

/// The name of a log in the folder of its session.
const LOG_FILE_NAME: &str = "events.ndjson";

impl Engine {
    /// Where `session.json` and the raw traffic of a session are.
    pub fn session_folder(&self, id: SessionId) -> PathBuf {
        self.shared.folders.session_path(id)
    }

    /// Where the other readable files of a session are.
    pub fn readable_folder(&self, session: &Session) -> PathBuf {
        log_folder(session, &self.shared.folders.session_path(session.id))
    }

    /// The path of a session's log, for a client on this machine to be told.
    pub fn log_path(&self, id: SessionId) -> PathBuf {
        self.shared.folders.session_path(id).join(LOG_FILE_NAME)
    }

    /// The session whose own log a path leads to. Blocks.
    pub fn session_of_log(&self, path: &Path) -> Option<SessionId> {
        let path = path.canonicalize().ok()?;
        let sessions = self.shared.folders.sessions.canonicalize().ok()?;
        let rest = path.strip_prefix(sessions).ok()?;
        let mut parts = rest.components().map(|part| part.as_os_str().to_str());
        let (folder, file) = (parts.next()??, parts.next()??);
        if file != LOG_FILE_NAME || parts.next().is_some() {
            return None;
        }
        folder.parse().ok()
    }

    /// The path of a file beside a session's log, for a client on this machine to be told.
    pub fn file_path(&self, id: SessionId, reference: &str) -> PathBuf {
        self.shared.folders.session_path(id).join(reference)
    }
}
