//! A recording that is read when somebody asks it something, and again only once its file has changed. What
//! it answers is the replay's.

use std::fs::Metadata;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures_util::stream::{self, BoxStream, StreamExt};

use crate::{Model, ModelError, ModelEvent, ModelRequest, ReplayModel};

/// The recording in a file.
#[derive(Clone)]
pub(crate) struct RecordedModel {
    file: Arc<PathBuf>,
    /// Held while the file is read, so that it is read once however many ask; never across an await.
    loaded: Arc<Mutex<Option<LoadedRecording>>>,
}

/// What was read, and how the file looked then.
struct LoadedRecording {
    stamp: RecordingStamp,
    replay: Arc<ReplayModel>,
}

/// Tells one state of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RecordingStamp {
    changed: Option<SystemTime>,
    length: u64,
}

impl RecordedModel {
    pub(crate) fn new(file: PathBuf) -> RecordedModel {
        RecordedModel { file: Arc::new(file), loaded: Arc::default() }
    }

    /// What the file holds now. Blocks.
    fn replay(&self) -> Result<Arc<ReplayModel>, ModelError> {
        let mut read = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = std::fs::metadata(&*self.file).ok().map(|found| RecordingStamp::from_metadata(&found));
        if let Some(known) = read.as_ref().filter(|known| Some(known.stamp) == stamp) {
            return Ok(known.replay.clone());
        }
        *read = None;
        let replay = Arc::new(ReplayModel::load(&self.file)?);
        *read = stamp.map(|stamp| LoadedRecording { stamp, replay: replay.clone() });
        Ok(replay)
    }
}

impl RecordingStamp {
    fn from_metadata(found: &Metadata) -> RecordingStamp {
        RecordingStamp { changed: found.modified().ok(), length: found.len() }
    }
}

impl Model for RecordedModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let recording = self.clone();
        let answering = async move {
            let read = tokio::task::spawn_blocking(move || recording.replay()).await;
            let lost = |error: tokio::task::JoinError| {
                ModelError::new("bad_recording", format!("the recording was not read: {error}"))
                    .hint("retry the turn")
            };
            match read.unwrap_or_else(|error| Err(lost(error))) {
                Ok(replay) => replay.stream(request),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        stream::once(answering).flatten().boxed()
    }
}

impl std::fmt::Debug for RecordedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RecordedModel").field(&self.file).finish()
    }
}
