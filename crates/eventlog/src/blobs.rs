//! Files beside a log: written under another name and synced before they get their own. Links are not followed, and
//! only plain files are seen: whatever else is there was put there by somebody else.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_types::SessionId;

use crate::layout::{MAX_DEPTH, blob_components};
use crate::log::{Blob, BlobEntry, LogError};
use crate::shared::{FileLogShared, disk_error};

/// Tells apart the writes that are going on.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Whether a file may replace another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    Yes,
    No,
}

/// Writes a file, whole or not at all.
pub(crate) fn put(
    shared: &FileLogShared,
    session: SessionId,
    name: &str,
    content: &[u8],
    replace: Overwrite,
) -> Result<(), LogError> {
    let (folder, file_name) = folder_for(shared, session, name)?;
    let target = folder.join(&file_name);
    if replace == Overwrite::No && target.symlink_metadata().is_ok() {
        return Err(LogError::Exists);
    }
    let part = temporary_path(&folder);
    let written = (|| {
        let file = shared.disk.open(&part)?;
        shared.disk.truncate(&file, 0)?;
        shared.disk.write_at(&file, content, 0)?;
        shared.disk.sync_data(&file)?;
        match replace {
            Overwrite::Yes => shared.disk.rename(&part, &target)?,
            Overwrite::No => link_new(shared, &part, &target)?,
        }
        shared.disk.sync_dir(&folder)
    })();
    if written.is_err() {
        // Whether or not it can be removed: a part has no name that anybody asks for.
        let _ = shared.disk.remove_file(&part);
    }
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => LogError::Exists,
        _ => write_error(&error),
    })
}

/// Gives a part its own name, unless something has that name.
fn link_new(shared: &FileLogShared, part: &Path, target: &Path) -> io::Result<()> {
    match shared.disk.link(part, target) {
        Ok(()) => {
            // It has its name now; a part that stays is asked for by nobody.
            let _ = shared.disk.remove_file(part);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links: nobody else writes here, and the name was free before.
        Err(_) => shared.disk.rename(part, target),
    }
}

/// Replaces the snapshot beside a log. It is not synced: a snapshot that a power failure damages is not used.
pub(crate) fn put_snapshot(
    shared: &FileLogShared,
    session: SessionId,
    content: &[u8],
) -> Result<(), LogError> {
    let part = temporary_path(&shared.layout.session(session));
    let written = (|| {
        let file = shared.disk.open(&part)?;
        shared.disk.truncate(&file, 0)?;
        shared.disk.write_at(&file, content, 0)?;
        shared.disk.rename(&part, &shared.layout.snapshot(session))
    })();
    if written.is_err() {
        let _ = shared.disk.remove_file(&part);
    }
    written.map_err(|error| write_error(&error))
}

/// The snapshot beside a log. One that is larger than `limit` was not written by this program.
pub(crate) fn snapshot(
    shared: &FileLogShared,
    session: SessionId,
    limit: u64,
) -> Result<Option<Bytes>, LogError> {
    let path = shared.layout.snapshot(session);
    let read = plain_file(&path).and_then(|found| match found {
        Some(metadata) if metadata.len() <= limit => std::fs::read(&path).map(Some),
        Some(_) | None => Ok(None),
    });
    match read {
        Ok(content) => Ok(content.map(Bytes::from)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(disk_error("reading a snapshot", &error)),
    }
}

/// Gives a file a second name beside another session's log. Files beside logs are never changed, so both may
/// have the same one; where they cannot, it is copied.
pub(crate) fn share(
    shared: &FileLogShared,
    from: SessionId,
    to: SessionId,
    name: &str,
) -> Result<(), LogError> {
    let (folder, file_name) = folder_for(shared, to, name)?;
    let components = blob_components(name).ok_or_else(|| bad_name(name))?;
    let source = shared.layout.session(from).join(components.join("/"));
    match shared.disk.link(&source, &folder.join(file_name)) {
        Ok(()) => shared.disk.sync_dir(&folder).map_err(|error| write_error(&error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::NotFound),
        Err(_) => {
            let content = std::fs::read(&source).map_err(|error| write_error(&error))?;
            put(shared, to, name, &content, Overwrite::Yes)
        }
    }
}

/// Makes the folders in which a file beside a log is to lie, and tells its own name in them.
fn folder_for(shared: &FileLogShared, session: SessionId, name: &str) -> Result<(PathBuf, String), LogError> {
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
            shared.disk.create_dir(&folder).map_err(|error| write_error(&error))?;
            shared.disk.sync_dir(&parent).map_err(|error| write_error(&error))?;
        }
    }
    Ok((folder, (*file_name).to_owned()))
}

fn temporary_path(folder: &Path) -> PathBuf {
    folder.join(format!(".part-{}", WRITES.fetch_add(1, Ordering::Relaxed)))
}

fn write_error(error: &io::Error) -> LogError {
    match error.kind() {
        // The session was removed in the meantime.
        io::ErrorKind::NotFound => LogError::NotFound,
        _ => disk_error("writing a file beside the log", error),
    }
}

/// Opens a file.
pub(crate) fn open(
    shared: &FileLogShared,
    session: SessionId,
    name: &str,
) -> Result<Arc<dyn Blob>, LogError> {
    let components = blob_components(name).ok_or_else(|| bad_name(name))?;
    let path = shared.layout.session(session).join(components.join("/"));
    let opened = plain_file(&path).and_then(|found| match found {
        Some(_) => File::open(&path),
        None => Err(io::ErrorKind::NotFound.into()),
    });
    let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
    match opened {
        Ok((size, file)) => Ok(Arc::new(FileBlob { file: Arc::new(file), size })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::NotFound),
        Err(error) => Err(read_error(&error)),
    }
}

/// The files in a folder and below it, in the order of their names.
pub(crate) fn list(
    shared: &FileLogShared,
    session: SessionId,
    folder: &str,
    limit: usize,
) -> Result<Vec<BlobEntry>, LogError> {
    let within = folder.strip_suffix('/').ok_or_else(|| bad_name(folder))?;
    blob_components(within).ok_or_else(|| bad_name(folder))?;
    let mut found = Vec::new();
    let top = shared.layout.session(session);
    collect(&top, within, &mut found).map_err(|error| read_error(&error))?;
    found.sort_by(|one: &BlobEntry, other| one.name.cmp(&other.name));
    found.truncate(limit);
    Ok(found)
}

/// Adds the files in `top/within` and below.
fn collect(top: &Path, within: &str, found: &mut Vec<BlobEntry>) -> io::Result<()> {
    let folder = top.join(within);
    let is_folder = std::fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir());
    if !is_folder || within.split('/').count() >= MAX_DEPTH {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        // Parts of files that are being written have hidden names.
        let Some(name) = entry?.file_name().to_str().map(|name| format!("{within}/{name}")) else { continue };
        if blob_components(&name).is_none() {
            continue;
        }
        match std::fs::symlink_metadata(top.join(&name)) {
            Ok(metadata) if metadata.is_file() => found.push(BlobEntry { name, size: metadata.len() }),
            Ok(metadata) if metadata.is_dir() => collect(top, &name, found)?,
            // One that goes away while it is being looked at is left out.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

fn plain_file(path: &Path) -> io::Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.is_file().then_some(metadata)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// An open file beside a log.
struct FileBlob {
    file: Arc<File>,
    size: u64,
}

impl Blob for FileBlob {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, limit: usize) -> BoxFuture<'_, Result<Bytes, LogError>> {
        let file = Arc::clone(&self.file);
        let limit = limit.min(usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX));
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || read_at(&file, offset, limit)).await {
                Ok(read) => read.map(Bytes::from).map_err(|error| read_error(&error)),
                Err(error) => Err(LogError::Io(format!("a read was given up: {error}"))),
            }
        })
    }
}

fn read_at(file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; limit];
    let mut filled = 0;
    while filled < limit {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn read_error(error: &io::Error) -> LogError {
    disk_error("reading a file beside the log", error)
}

fn bad_name(name: &str) -> LogError {
    LogError::Io(format!("{name:?} is no name for a file beside a log: use plain names, parted by `/`"))
}
