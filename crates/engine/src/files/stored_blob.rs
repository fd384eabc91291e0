//! Reading what the log keeps beside a session's records.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use ostler_eventlog::{Blob, Log, LogError};
use ostler_types::SessionId;

use super::media_type::{SNIFFED_BYTES, media_type};

/// Files in one list.
const MAX_LISTED: usize = 500;

/// A file beside a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
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
pub struct StoredBlobList {
    /// The files.
    pub files: Vec<StoredBlob>,
    /// Whether there are more than a list holds.
    pub more: bool,
}

/// A file that can be read. It stays readable when its session is removed meanwhile.
#[derive(Clone)]
pub struct OpenBlob {
    /// What it is.
    pub file: StoredBlob,
    /// Its first bytes, from which its type was told.
    pub head: Bytes,
    blob: Arc<dyn Blob>,
}

impl OpenBlob {
    /// Reads from an offset, `limit` bytes at most; nothing at the end.
    pub async fn read(&self, offset: u64, limit: usize) -> io::Result<Bytes> {
        self.blob.read(offset, limit).await.map_err(io::Error::other)
    }
}

/// Opens a file.
pub(super) async fn open(
    log: &dyn Log,
    id: SessionId,
    reference: String,
    name: String,
) -> Result<OpenBlob, LogError> {
    let blob = log.open_blob(id, reference.clone()).await?;
    let head = blob.read(0, SNIFFED_BYTES).await?;
    let file = StoredBlob { reference, mime_type: media_type(&head, &name), name, size: blob.size() };
    Ok(OpenBlob { file, head, blob })
}

/// The files in a folder of the session's, which ends with a slash.
pub(super) async fn list(log: &dyn Log, id: SessionId, folder: &str) -> Result<StoredBlobList, LogError> {
    let mut entries = log.list_blobs(id, folder.to_owned(), MAX_LISTED + 1).await?;
    let more = entries.len() > MAX_LISTED;
    entries.truncate(MAX_LISTED);
    let mut files = Vec::new();
    for entry in entries {
        let name = entry.name.strip_prefix(folder).unwrap_or(&entry.name).to_owned();
        match open(log, id, entry.name, name).await {
            Ok(open) => files.push(open.file),
            // One that goes away while it is being looked at is left out.
            Err(LogError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(StoredBlobList { files, more })
}
