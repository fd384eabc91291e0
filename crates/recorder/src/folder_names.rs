//! What the folders of readable files are called. Where the log's own folder lies is left to the engine.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ostler_types::{Session, SessionId};

/// Ways to use a session that may stand in the name of a folder.
const MODES: [&str; 3] = ["repl", "serve", "agent"];

/// What a session is called among log folders: when it was made (UTC), how it is used, and the end of its id.
pub fn log_id(session: &Session) -> String {
    let made = made_at(session).strftime("%Y-%m-%d_%H%M%S");
    // The mode comes from clients, and the name is a path.
    let mode = MODES.into_iter().find(|mode| *mode == session.mode).unwrap_or("serve");
    format!("{made}_{mode}_{}", short_id(session.id))
}

/// Where a session's readable files lie: beside its log, or in a folder of their own when it says so.
pub fn log_folder(session: &Session, session_dir: &Path) -> PathBuf {
    match &session.log_root {
        Some(root) => Path::new(root).join(log_id(session)),
        None => session_dir.to_owned(),
    }
}

/// The folder that stands for a child in the folder of the session that started it.
pub fn child_folder(parent_folder: &Path, child: SessionId) -> PathBuf {
    parent_folder.join(format!("subagent_{}", short_id(child)))
}

/// Lets a child's folder be found in the folder of the session that started it, by a link. Both must be there.
pub fn link_child(parent_folder: &Path, child: SessionId, folder: &Path) -> io::Result<()> {
    let beside = folder.file_name().filter(|_| folder.parent() == parent_folder.parent());
    // A relative link holds when the data directory is moved.
    let target = beside.map_or_else(|| folder.to_owned(), |name| Path::new("..").join(name));
    match symlink(target, child_folder(parent_folder, child)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The time inside the id, since that is when the name was given.
fn made_at(session: &Session) -> Timestamp {
    let uuid = session.id.uuid();
    let milliseconds = i64::try_from(uuid.as_u128() >> 80).expect("48 bits are left of an id");
    let inside = (uuid.get_version_num() == 7).then(|| Timestamp::from_millisecond(milliseconds).ok());
    inside.flatten().unwrap_or(session.created_at)
}

/// The last six digits of an id.
fn short_id(id: SessionId) -> String {
    format!("{:06x}", id.uuid().as_u128() & 0xff_ffff)
}
