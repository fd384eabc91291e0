//! The files of a session as an export reads them: from a thread that may block.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use ostler_eventlog::{Blob, Log, LogError};
use ostler_recorder::export::{OpenSessionFile, SessionFiles};
use ostler_types::SessionId;
use tokio::runtime::Handle;

use crate::engine::Engine;

/// Files in one list, at most; a session keeps far fewer.
const MAX_LISTED: usize = 10_000;
/// Bytes that are read at a time.
const BUFFER: usize = 1 << 16;

impl Engine {
    /// The files of a session, for an export. Called inside the runtime, used outside of it.
    pub fn exported_files(&self, id: SessionId) -> impl SessionFiles + Send + Sync + 'static {
        ExportedFiles { log: self.shared.log.clone(), id, runtime: Handle::current() }
    }
}

struct ExportedFiles {
    log: Arc<dyn Log>,
    id: SessionId,
    runtime: Handle,
}

impl SessionFiles for ExportedFiles {
    fn open(&self, name: &str) -> io::Result<Option<OpenSessionFile<'_>>> {
        match self.runtime.block_on(self.log.open_blob(self.id, name.to_owned())) {
            Ok(blob) => {
                let (size, runtime) = (blob.size(), self.runtime.clone());
                Ok(Some(OpenSessionFile {
                    size,
                    content: Box::new(BufReader::with_capacity(
                        BUFFER,
                        BlobReader { blob, runtime, offset: 0 },
                    )),
                }))
            }
            Err(LogError::NotFound) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let listed = self.runtime.block_on(self.log.list_blobs(self.id, folder.to_owned(), MAX_LISTED));
        Ok(listed.map_err(io::Error::other)?.into_iter().map(|entry| entry.name).collect())
    }
}

struct BlobReader {
    blob: Arc<dyn Blob>,
    runtime: Handle,
    offset: u64,
}

impl Read for BlobReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.runtime.block_on(self.blob.read(self.offset, into.len()));
        let bytes = bytes.map_err(io::Error::other)?;
        into[..bytes.len()].copy_from_slice(&bytes);
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }
}
