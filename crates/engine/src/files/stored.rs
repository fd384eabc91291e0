//! Reading what lies beside a log. Links are not followed, and only plain files are seen: what else
//! lies there was put there by somebody else.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::name::{is_plain, spelling};
use super::sniff::{HEAD, media_type};

/// Files in one list.
const MAX_LISTED: usize = 500;

/// A file beside a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Where it lies, relative to the session's folder.
    pub reference: String,
    /// Its name.
    pub name: String,
    /// Its type, as sniffed from the bytes.
    pub mime_type: &'static str,
    /// Its length in bytes.
    pub size: u64,
}

/// Some files, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileList {
    /// The files.
    pub files: Vec<StoredFile>,
    /// Whether there are more than a list holds.
    pub more: bool,
}

/// A file that can be read. It stays readable when its session is removed meanwhile.
#[derive(Debug, Clone)]
pub struct OpenFile {
    /// What it is.
    pub file: StoredFile,
    /// Its first bytes, from which its type was told.
    pub head: Bytes,
    handle: Arc<File>,
}

impl OpenFile {
    /// Reads from an offset, `limit` bytes at most; nothing at the end.
    pub async fn read(&self, offset: u64, limit: usize) -> io::Result<Bytes> {
        let handle = Arc::clone(&self.handle);
        let read = tokio::task::spawn_blocking(move || read_at(&handle, offset, limit));
        read.await.map_err(io::Error::other)?.map(Bytes::from)
    }
}

/// Opens a file, if it is there.
pub(super) fn open(session_dir: &Path, reference: String, name: String) -> io::Result<Option<OpenFile>> {
    let path = session_dir.join(&reference);
    if plain_file(&path)?.is_none() {
        return Ok(None);
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let (size, head) = (file.metadata()?.len(), read_at(&file, 0, HEAD)?);
    let file_info = StoredFile { reference, mime_type: media_type(&head, &name), name, size };
    Ok(Some(OpenFile { file: file_info, head: head.into(), handle: Arc::new(file) }))
}

/// The files in a folder of the session's; `within` is that folder's place.
pub(super) fn list(folder: &Path, within: &str) -> io::Result<FileList> {
    let mut names: Vec<String> =
        sizes_by_name(folder, MAX_LISTED + 1)?.into_iter().map(|(name, _)| name).collect();
    let more = names.len() > MAX_LISTED;
    names.truncate(MAX_LISTED);
    names.sort();
    let mut files = Vec::new();
    for name in names {
        let path = folder.join(&name);
        // One that goes away while it is being looked at is left out.
        let Ok(file) = File::open(path) else { continue };
        let (size, head) = (file.metadata()?.len(), read_at(&file, 0, HEAD)?);
        let mime_type = media_type(&head, &name);
        files.push(StoredFile { reference: format!("{within}/{name}"), name, mime_type, size });
    }
    Ok(FileList { files, more })
}

/// How large the files in a folder are, by the spelling of their names; `limit` of them at most.
pub(super) fn sizes(folder: &Path, limit: usize) -> io::Result<HashMap<String, u64>> {
    let files = sizes_by_name(folder, limit)?;
    Ok(files.into_iter().map(|(name, size)| (spelling(&name), size)).collect())
}

fn sizes_by_name(folder: &Path, limit: usize) -> io::Result<Vec<(String, u64)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        // Parts of files that are being written have hidden names.
        let Some(name) = entry?.file_name().to_str().filter(|name| is_plain(name)).map(str::to_owned) else {
            continue;
        };
        if let Some(metadata) = plain_file(&folder.join(&name))? {
            files.push((name, metadata.len()));
        }
        if files.len() == limit {
            break;
        }
    }
    Ok(files)
}

fn plain_file(path: &Path) -> io::Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.is_file().then_some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_at(file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; limit];
    let mut filled = 0;
    while filled < limit {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
