//! The connections that read. A few are kept open; each question borrows one on a blocking thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::{IndexError, schema};

/// How many questions are answered at a time. More wait.
const READERS: u32 = 4;

pub(crate) struct IndexReaders {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl IndexReaders {
    pub(crate) fn new(path: &Path) -> IndexReaders {
        let permits = Arc::new(Semaphore::new(READERS as usize));
        IndexReaders { path: path.to_owned(), idle: Arc::default(), permits }
    }

    /// Asks a question. All that it reads is of one moment.
    pub(crate) async fn query<T, F>(&self, question: F) -> Result<T, IndexError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, IndexError> + Send + 'static,
    {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| IndexError::Stopped)?;
        let (path, idle) = (self.path.clone(), self.idle.clone());
        let answered = spawn_blocking(move || {
            // Held to the end even when nobody waits for the answer any more, since `exclusive` relies on it.
            let _permit = permit;
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = kept.map_or_else(|| schema::open_reader(&path), Ok)?;
            let moment = connection.unchecked_transaction()?;
            let answer = question(&moment);
            moment.finish()?;
            if answer.is_ok() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
            answer
        });
        answered.await.map_err(|_| IndexError::Stopped)?
    }

    /// Closes every connection, once its question is answered, and keeps questions waiting until the permit
    /// is dropped. A connection that outlived its file would delete the next file's WAL when it closes.
    pub(crate) async fn exclusive(&self) -> Result<OwnedSemaphorePermit, IndexError> {
        let permit =
            self.permits.clone().acquire_many_owned(READERS).await.map_err(|_| IndexError::Stopped)?;
        self.close();
        Ok(permit)
    }

    /// Closes the connections that are not in use.
    pub(crate) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
