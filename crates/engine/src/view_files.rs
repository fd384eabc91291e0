//! The readable files beside a log, kept by the recorder on a thread of its own: here it is told when a session
//! has more records, where to read them and where to write. No turn waits for it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_eventlog::{Log, LogError};
use ostler_recorder::{RecordSource, RecordSourceError, Recorder, ViewFolder, WriteDelay, log_folder};
use ostler_types::{Event, Record, Session, SessionEvent, SessionId, TurnEvent};
use tokio::runtime::Handle;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::session_folder::SessionFolders;
use crate::{history, wake};

/// Folders that are remembered.
const MAX_CACHED_FOLDERS: usize = 4096;
/// How long a session that goes to sleep waits for its views.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);

/// The views of all sessions.
pub(crate) struct ViewFiles {
    /// None where its thread could not be started: then there are no views until the next start.
    recorder: Option<Recorder>,
    source: Arc<LogSource>,
}

impl Engine {
    /// Brings the readable files of a session up to its log, for somebody who is about to read them.
    pub async fn flush_views(&self, id: SessionId) -> Result<(), EngineError> {
        let view = self.view(id).await?;
        let folder = self.shared.folders.session_path(id);
        tokio::task::spawn_blocking(move || ostler_recorder::write_session(&folder, &view))
            .await
            .map_err(|error| not_written(&error.to_string()))?
            .map_err(|error| not_written(&error.to_string()))?;
        self.shared.views.flush(id).await
    }

    /// Makes the readable files of every session anew from the logs.
    pub async fn rebuild_views(&self) -> Result<(), EngineError> {
        let mut failed = None;
        for id in history::all_sessions(&*self.shared.log).await? {
            if let Err(error) = self.shared.views.rebuild(id).await {
                tracing::warn!(%id, %error, "the readable files of a session were not made again");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

impl ViewFiles {
    /// Starts the recorder. Called inside the runtime that the log uses.
    pub(crate) fn start(log: Arc<dyn Log>, sessions: SessionFolders) -> ViewFiles {
        let (runtime, folders) = (Handle::current(), Mutex::default());
        let source = Arc::new(LogSource { log, sessions, runtime, folders });
        let recorder = Recorder::start(source.clone());
        let recorder =
            recorder.inspect_err(|error| tracing::error!(%error, "no readable files are written")).ok();
        ViewFiles { recorder, source }
    }

    /// Says where a session's files go, once it is awake.
    pub(crate) fn set_folder(&self, session: &Session) {
        self.source.set_folder(session);
    }

    /// Says that there are records that the views may lack.
    pub(crate) fn notify(&self, id: SessionId, records: &[Record]) {
        let settles = |record: &Record| {
            matches!(
                record.event,
                Event::Turn(
                    TurnEvent::Completed { .. } | TurnEvent::Failed { .. } | TurnEvent::Canceled { .. }
                ) | Event::Session(SessionEvent::Completed { .. } | SessionEvent::Updated { .. })
            )
        };
        let pace = if records.iter().any(settles) { WriteDelay::AfterTurn } else { WriteDelay::DuringTurn };
        if let Some(recorder) = &self.recorder {
            recorder.notify(id, pace);
        }
    }

    pub(crate) async fn flush(&self, id: SessionId) -> Result<(), EngineError> {
        let Some(recorder) = &self.recorder else {
            return Err(not_written("the recorder could not be started"));
        };
        recorder.flush(id).await.map_err(|error| not_written(&error.to_string()))
    }

    /// Brings the views of a session that goes to sleep up to date and lets go of them. Whether they are.
    pub(crate) async fn settle(&self, id: SessionId) -> bool {
        let flushed =
            tokio::time::timeout(SETTLE_TIMEOUT, self.flush(id)).await.is_ok_and(|flushed| flushed.is_ok());
        self.forget(id).await;
        flushed
    }

    /// The same at the end of a daemon with many sessions, without waiting until it is all on disk: views that a
    /// power failure takes away are made again.
    pub(crate) async fn settle_without_sync(&self, id: SessionId) -> bool {
        let flushed =
            tokio::time::timeout(SETTLE_TIMEOUT, self.flush(id)).await.is_ok_and(|flushed| flushed.is_ok());
        if let Some(recorder) = &self.recorder {
            _ = tokio::time::timeout(SETTLE_TIMEOUT, recorder.release(id)).await;
        }
        flushed
    }

    /// Lets go of a session's files.
    pub(crate) async fn forget(&self, id: SessionId) {
        if let Some(recorder) = &self.recorder {
            _ = tokio::time::timeout(SETTLE_TIMEOUT, recorder.forget(id)).await;
        }
        self.source.folders().remove(&id);
    }

    /// Removes what lies in a folder of its own, with the session that it belongs to.
    pub(crate) async fn remove(&self, session: &Session) {
        self.forget(session.id).await;
        if session.log_root.is_none() {
            return;
        }
        let folder = log_folder(session, Path::new(""));
        match tokio::fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %folder.display(), "the files of a removed session are left behind");
            }
            Ok(()) | Err(_) => {}
        }
    }

    async fn rebuild(&self, id: SessionId) -> Result<(), EngineError> {
        let Some(recorder) = &self.recorder else {
            return Err(not_written("the recorder could not be started"));
        };
        recorder.rebuild(id).await.map_err(|error| not_written(&error.to_string()))
    }
}

/// The logs as the recorder reads them, from its own thread.
struct LogSource {
    log: Arc<dyn Log>,
    sessions: SessionFolders,
    runtime: Handle,
    folders: Mutex<HashMap<SessionId, ViewFolder>>,
}

impl LogSource {
    fn set_folder(&self, session: &Session) -> ViewFolder {
        let dir = self.sessions.session_path(session.id);
        let folder = match session.log_root {
            Some(_) => ViewFolder::Made(log_folder(session, &dir)),
            None => ViewFolder::Existing(dir),
        };
        let mut folders = self.folders();
        if folders.len() >= MAX_CACHED_FOLDERS {
            // Those that are awake are found again, by the way that those who sleep are.
            folders.clear();
        }
        folders.insert(session.id, folder.clone());
        folder
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<SessionId, ViewFolder>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordSource for LogSource {
    fn last_seq(&self, session: SessionId) -> Result<u64, RecordSourceError> {
        Ok(self.runtime.block_on(self.log.last_seq(session))?)
    }

    fn read(&self, session: SessionId, from: u64) -> Result<Vec<Record>, RecordSourceError> {
        let lines = self.runtime.block_on(self.log.read(session, from, history::PAGE_BYTES))?;
        lines.iter().map(|line| line.record().map_err(RecordSourceError::from)).collect()
    }

    fn folder(&self, session: SessionId) -> Result<ViewFolder, RecordSourceError> {
        if let Some(folder) = self.folders().get(&session) {
            return Ok(folder.clone());
        }
        let woken = self.runtime.block_on(wake::read_from_log(&*self.log, session))?;
        Ok(self.set_folder(&woken.state.session))
    }
}

fn not_written(why: &str) -> EngineError {
    LogError::Io(format!("the readable files of the session are not written: {why}")).into()
}
