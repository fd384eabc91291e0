//! Files beside a log: written under another name and synced before they get their own.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ostler_types::SessionId;

use crate::layout::blob_components;
use crate::log::LogError;
use crate::shared::{Shared, disk_error};

/// Tells apart the writes that are going on.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Writes a file, whole or not at all.
pub(crate) fn put(shared: &Shared, session: SessionId, name: &str, content: &[u8]) -> Result<(), LogError> {
    let (folder, file_name) = folder_for(shared, session, name)?;
    let part = folder.join(format!(".part-{}", WRITES.fetch_add(1, Ordering::Relaxed)));
    let written = (|| {
        let file = shared.disk.open(&part)?;
        shared.disk.truncate(&file, 0)?;
        shared.disk.write_at(&file, content, 0)?;
        shared.disk.sync_data(&file)?;
        shared.disk.rename(&part, &folder.join(&file_name))?;
        shared.disk.sync_dir(&folder)
    })();
    if written.is_err() {
        // Whether or not it can be removed: a part has no name that anybody asks for.
        let _ = shared.disk.remove_file(&part);
    }
    written.map_err(|error| failed(&error))
}

/// Gives a file a second name beside another session's log. Files beside logs are never changed, so both may
/// have the same one; where they cannot, it is copied.
pub(crate) fn share(shared: &Shared, from: SessionId, to: SessionId, name: &str) -> Result<(), LogError> {
    let (folder, file_name) = folder_for(shared, to, name)?;
    let components = blob_components(name).ok_or_else(|| bad_name(name))?;
    let source = shared.layout.session(from).join(components.join("/"));
    match shared.disk.link(&source, &folder.join(file_name)) {
        Ok(()) => shared.disk.sync_dir(&folder).map_err(|error| failed(&error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::NotFound),
        Err(_) => put(shared, to, name, &get(shared, from, name)?),
    }
}

/// Makes the folders in which a file beside a log is to lie, and tells its own name in them.
fn folder_for(shared: &Shared, session: SessionId, name: &str) -> Result<(PathBuf, String), LogError> {
    let components = blob_components(name).ok_or_else(|| bad_name(name))?;
    if !shared.layout.log(session).exists() {
        return Err(LogError::NotFound);
    }
    let mut folder = shared.layout.session(session);
    let (file_name, folders) = components.split_last().ok_or_else(|| bad_name(name))?;
    for component in folders {
        let parent = folder.clone();
        folder.push(component);
        if !folder.is_dir() {
            shared.disk.create_dir(&folder).map_err(|error| failed(&error))?;
            shared.disk.sync_dir(&parent).map_err(|error| failed(&error))?;
        }
    }
    Ok((folder, (*file_name).to_owned()))
}

fn failed(error: &io::Error) -> LogError {
    match error.kind() {
        // The session was removed in the meantime.
        io::ErrorKind::NotFound => LogError::NotFound,
        _ => disk_error("writing a file beside the log", error),
    }
}

/// Reads a file.
pub(crate) fn get(shared: &Shared, session: SessionId, name: &str) -> Result<Bytes, LogError> {
    let components = blob_components(name).ok_or_else(|| bad_name(name))?;
    let path: PathBuf = shared.layout.session(session).join(components.join("/"));
    match std::fs::read(path) {
        Ok(content) => Ok(Bytes::from(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::NotFound),
        Err(error) => Err(disk_error("reading a file beside the log", &error)),
    }
}

fn bad_name(name: &str) -> LogError {
    LogError::Io(format!("{name:?} is no name for a file beside a log: use plain names, parted by `/`"))
}
