//! `raw.jsonl`: what goes over the wire to a provider and back, one line each, for whoever looks into what
//! went wrong.
//!
//! Lines are taken without waiting and written by a thread that is there only while there is something to
//! write. Nothing here can hurt a turn: what the disk cannot take in time is left out and counted, and the
//! file says so. Secrets are taken out by whoever hands the lines over. When to record is left to the engine.

mod raw_file;
mod raw_queue;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostler_types::{Clock, RawLine};

use raw_queue::RawQueue;

/// How long the end of a session waits for its last lines; a disk that hangs must not hang the daemon.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Writes the lines of one session.
pub struct RawWriter {
    queue: Arc<RawQueue>,
}

impl RawWriter {
    /// A writer for this file, which is made when the first line comes. Lines that are there stay. Fails if
    /// something other than a regular file is there.
    pub fn open(path: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> io::Result<RawWriter> {
        let path = path.into();
        raw_file::check(&path)?;
        Ok(RawWriter { queue: Arc::new(RawQueue::new(path, clock)) })
    }

    /// Takes lines from any thread, and never waits. What comes after the writer was dropped is left out.
    pub fn sink(&self) -> Arc<dyn Fn(RawLine) + Send + Sync> {
        let queue = self.queue.clone();
        Arc::new(move |line| queue.push(line))
    }

    /// Waits until all that was taken is in the file or lost, but no longer than `limit`. Blocks.
    pub fn flush(&self, limit: Duration) {
        self.queue.wait_until_written(limit);
    }
}

impl Drop for RawWriter {
    fn drop(&mut self) {
        self.queue.close();
        self.queue.wait_until_written(CLOSE_TIMEOUT);
    }
}
