//! Documents as files of a data directory. The directory belongs to one process, by a lock that is taken elsewhere, so
//! comparing and swapping under a lock of this process is enough. Somebody who edits a file by hand is noticed: a
//! version is a digest of the content.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_workspace_fs::{ReplaceOptions, open_regular, replace_file};
use sha2::{Digest, Sha256};

use crate::documents::{DocumentError, DocumentVersion, Documents, StoredDocument};

/// No document comes near this size.
const MAX_BYTES: u64 = 64 << 20;

/// The documents of a data directory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileDocuments {
    directory: PathBuf,
    /// Held while a file is compared and replaced.
    replacing: Arc<Mutex<()>>,
}

impl FileDocuments {
    /// Those in a directory. Nothing is read or made yet.
    pub fn new(directory: &Path) -> FileDocuments {
        FileDocuments { directory: directory.to_owned(), replacing: Arc::default() }
    }
}

impl Documents for FileDocuments {
    fn read(&self, name: &'static str) -> BoxFuture<'_, Result<Option<StoredDocument>, DocumentError>> {
        let path = self.directory.join(name);
        Box::pin(blocking(move || read(&path).map_err(|error| failed(name, &error))))
    }

    fn replace(
        &self,
        name: &'static str,
        expected: Option<DocumentVersion>,
        content: Bytes,
    ) -> BoxFuture<'_, Result<DocumentVersion, DocumentError>> {
        let (path, replacing) = (self.directory.join(name), Arc::clone(&self.replacing));
        Box::pin(blocking(move || {
            let _replacing = replacing.lock().unwrap_or_else(PoisonError::into_inner);
            let found = read(&path).map_err(|error| failed(name, &error))?;
            if found.map(|stored| stored.version) != expected {
                return Err(DocumentError::Changed);
            }
            replace_file(&path, &content, ReplaceOptions::STATE).map_err(|error| failed(name, &error))?;
            Ok(version(&content))
        }))
    }
}

fn read(path: &Path) -> io::Result<Option<StoredDocument>> {
    let mut content = Vec::new();
    match open_regular(path) {
        Ok(file) => file.take(MAX_BYTES + 1).read_to_end(&mut content)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if content.len() as u64 > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(StoredDocument { version: version(&content), content: content.into() }))
}

fn version(content: &[u8]) -> DocumentVersion {
    let digest = Sha256::digest(content);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    DocumentVersion(u64::from_be_bytes(first))
}

fn failed(name: &str, error: &io::Error) -> DocumentError {
    DocumentError::Storage(format!("{name}: {error}"))
}

/// Runs what blocks where it may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DocumentError> + Send + 'static,
) -> Result<T, DocumentError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(DocumentError::Storage(format!("a document was given up: {error}"))),
    }
}
