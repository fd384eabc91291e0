//! [`FileLog`]: logs as files in one data directory, for one daemon.
//!
//! Here requests are taken in and handed on: to the committer, a thread of its own, for all that is
//! written in order; to the blocking pool for reading and for files beside a log.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use ostler_types::SessionId;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::check::{self, CheckReport, SalvageReport};
use crate::committer::{CommitRequest, Committer, LogReply};
use crate::disk::Disk;
use crate::feed::Feed;
use crate::feed_repair::repair;
use crate::layout::{DataLayout, TRASH};
use crate::lock::DataLock;
use crate::log::LogError;
use crate::log_heads::LogHeads;
use crate::markers;
use crate::nested_sessions;
use crate::permissions;
use crate::quarantine::Quarantine;
use crate::shared::{FileLogShared, disk_error};

mod log_impl;

/// Requests that may wait for the committer, and their size in KiB.
const MAX_WAITING: usize = 1024;
const MAX_WAITING_KIB: usize = 64 << 10;

/// A data directory with a log for each session. It belongs to one process, by a lock.
///
/// Dropping it waits for what is being written, for at most one group of appends.
pub struct FileLog {
    shared: Arc<FileLogShared>,
    /// None only while it is dropped.
    requests: Option<mpsc::Sender<CommitRequest>>,
    queue_permits: Arc<Semaphore>,
    committer: Option<JoinHandle<()>>,
}

/// Why a data directory cannot be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error(
        "another process{} uses this data directory; use that daemon, or stop it with `ostler stop`",
        .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Locked {
        /// That process, if it can be told.
        pid: Option<u32>,
    },
    /// The disk failed.
    #[error("the data directory cannot be opened: {0}")]
    Io(String),
}

impl FileLog {
    /// Opens a data directory, and makes it if it is missing. Repairs the feed after a crash; takes as
    /// long as there are unsettled sessions, however many others there are.
    pub fn open(data_dir: &Path, disk: Arc<dyn Disk>) -> Result<FileLog, OpenError> {
        let layout = DataLayout::new(data_dir);
        let failed = |error: io::Error| OpenError::Io(format!("{}: {error}", data_dir.display()));
        create_dirs(&*disk, data_dir).map_err(failed)?;
        permissions::restrict_to_owner(data_dir).map_err(failed)?;
        let lock = DataLock::take(&*disk, &layout)?;
        disk.create_dir(&layout.sessions).map_err(failed)?;
        disk.create_dir(&layout.unsettled).map_err(failed)?;
        let feed = Feed::open(Arc::clone(&disk), &layout.feed).map_err(failed)?;
        disk.sync_dir(data_dir).map_err(failed)?;
        let shared = Arc::new(FileLogShared {
            quarantine: Quarantine::new(Arc::clone(&disk), layout.quarantine.clone()),
            heads: LogHeads::default(),
            bytes_read: AtomicU64::new(0),
            layout,
            disk,
            feed,
            lock,
        });
        let marked = finish_interrupted(&shared).map_err(failed)?;
        match repair(&shared) {
            Ok(()) => {}
            // A daemon that does not start is no help against a full disk: the feed is repaired later.
            Err(LogError::Full) => tracing::warn!("the disk is full: the feed waits for its repair"),
            Err(error) => return Err(OpenError::Io(error.to_string())),
        }
        let (requests, waiting) = mpsc::channel(MAX_WAITING);
        let committer = Committer::new(Arc::clone(&shared), waiting, marked);
        let committer = std::thread::Builder::new()
            .name("committer".to_owned())
            .spawn(move || committer.run())
            .map_err(failed)?;
        let room = Arc::new(Semaphore::new(MAX_WAITING_KIB));
        Ok(FileLog { shared, requests: Some(requests), queue_permits: room, committer: Some(committer) })
    }

    /// Proves every record of a session's log, and tells what is good of it.
    pub async fn check(&self, session: SessionId) -> Result<CheckReport, LogError> {
        self.blocking(move |shared| check::check(shared, session)).await
    }

    /// Puts the good beginning of a damaged log in its place, and keeps the damaged one beside it.
    /// Records are given up by this, so only a person may ask for it; the views must be rebuilt after it.
    pub async fn salvage(&self, session: SessionId) -> Result<SalvageReport, LogError> {
        self.ask(|reply| CommitRequest::Salvage { session, reply }).await
    }

    /// The sessions that have a folder but no records: they were never begun, or their log was emptied or removed.
    pub async fn without_records(&self) -> Result<Vec<SessionId>, LogError> {
        self.blocking(|shared| {
            let failed = |error: io::Error| disk_error("listing sessions", &error);
            let mut found = Vec::new();
            for entry in std::fs::read_dir(&shared.layout.sessions).map_err(failed)? {
                let Some(id) = entry.map_err(failed)?.file_name().to_str().and_then(|name| name.parse().ok())
                else {
                    continue;
                };
                let log = std::fs::metadata(shared.layout.log(id));
                if log.map_or(0, |log| log.len()) == 0 {
                    found.push(id);
                }
            }
            Ok(found)
        })
        .await
    }

    /// Removes the snapshot of a session, because it is to be made anew or knows another log.
    pub async fn remove_snapshot(&self, session: SessionId) -> Result<(), LogError> {
        self.blocking(move |shared| match shared.disk.remove_file(&shared.layout.snapshot(session)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(disk_error("removing a snapshot", &error))
            }
            Ok(()) | Err(_) => Ok(()),
        })
        .await
    }

    /// How many bytes of logs have been read since the start.
    pub fn bytes_read(&self) -> u64 {
        self.shared.bytes_read.load(Ordering::Relaxed)
    }

    /// Runs what blocks where it may.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FileLogShared) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, LogError> {
        let shared = Arc::clone(&self.shared);
        match tokio::task::spawn_blocking(move || work(&shared)).await {
            Ok(result) => result,
            Err(error) => Err(LogError::Io(format!("a read was given up: {error}"))),
        }
    }

    /// Hands a request to the committer, and waits for the answer.
    async fn ask<T>(&self, request: impl FnOnce(LogReply<T>) -> CommitRequest) -> Result<T, LogError> {
        let (reply, answer) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or_else(stopped)?;
        requests.send(request(reply)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(committer) = self.committer.take()
            && committer.join().is_err()
        {
            tracing::error!("the committer had stopped before its time");
        }
    }
}

fn stopped() -> LogError {
    LogError::Io("the committer has stopped: restart the daemon".to_owned())
}

/// Makes a directory and those above it.
fn create_dirs(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    create_dirs(disk, parent)?;
    disk.create_dir(path)?;
    disk.sync_dir(parent)
}

/// Finishes what a crash interrupted: deletes removed sessions, and what there is of sessions that never
/// got a log. Returns the sessions with markers.
fn finish_interrupted(shared: &FileLogShared) -> io::Result<HashSet<SessionId>> {
    for entry in std::fs::read_dir(&shared.layout.root)? {
        let entry = entry?;
        let removed = entry.file_name().to_string_lossy().starts_with(TRASH);
        if removed {
            nested_sessions::unlink_all(shared, &entry.path())?;
        }
        if removed && let Err(error) = shared.disk.remove_dir_all(&entry.path()) {
            tracing::warn!(%error, path = %entry.path().display(), "a removed session could not be deleted");
        }
    }
    let mut marked = HashSet::new();
    for (session, marker) in markers::list(&shared.layout)? {
        if marker.unfinished || nested_sessions::has_no_records(shared, session) {
            nested_sessions::discard(shared, session)?;
        }
        if shared.layout.log(session).exists() {
            marked.insert(session);
        } else {
            if let Some(parent) = marker.parent {
                nested_sessions::discard_under(shared, session, parent)?;
            }
            shared.disk.remove_file(&shared.layout.marker(session))?;
        }
    }
    Ok(marked)
}
