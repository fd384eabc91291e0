//! Files beside a session's log: what clients attach, and what turns make.
//!
//! Here names are given out, and the limits of a session are kept. That a file is written whole or not
//! at all is the log's doing; how files travel, and as what they are shown, is left to the doors.

mod attachment_name;
mod exported;
mod media_type;
mod stored_blob;
mod uploads;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use ostler_eventlog::{BlobWrite, Log, LogError};
use ostler_types::{Refusal, RefusalKind, SessionId, TurnId};
use tokio::sync::OwnedSemaphorePermit;

use crate::engine::{Engine, EngineShared};
use crate::error::EngineError;
use attachment_name::{collision_key, is_plain, numbered, safe_name};
use stored_blob::{list, open};

pub use stored_blob::{OpenBlob, StoredBlob, StoredBlobList};
pub(crate) use uploads::Uploads;

/// Bytes in one attachment.
pub const MAX_ATTACHMENT: usize = 25 << 20;
/// Attachments of one session.
const MAX_ATTACHMENTS: usize = 200;
/// Bytes in all attachments of one session.
const MAX_ATTACHMENT_BYTES: u64 = 500 << 20;

/// A share of the memory that there is for files on their way to disk.
#[derive(Debug)]
pub struct AttachmentPermit(#[expect(dead_code, reason = "it is held, not looked at")] OwnedSemaphorePermit);

impl Engine {
    /// Waits until there is memory for so much of an attachment that is about to be read. Whoever reads
    /// one holds the room, and hands it on with the content.
    pub async fn reserve_attachment_memory(&self, bytes: usize) -> AttachmentPermit {
        AttachmentPermit(self.shared.uploads.reserve_memory(bytes).await)
    }

    /// Keeps a file that a client attaches, and returns once it is on disk. It gets a name that is safe
    /// and that no other attachment of the session has, so nothing is ever overwritten.
    ///
    /// It is carried through even if nobody waits for it any more: a name must not be given out again
    /// while its file is being written.
    pub async fn put_attachment(
        &self,
        room: AttachmentPermit,
        id: SessionId,
        name: &str,
        content: Vec<u8>,
    ) -> Result<StoredBlob, EngineError> {
        self.refuse_if_stopping()?;
        if content.len() > MAX_ATTACHMENT {
            let message = format!("an attachment may have {} MiB at most", MAX_ATTACHMENT >> 20);
            return Err(Refusal::new(RefusalKind::TooLarge, "too_large", message).into());
        }
        self.refuse_unknown(id).await?;
        let (shared, name) = (Arc::clone(&self.shared), safe_name(name));
        let attaching = tokio::spawn(async move {
            let attached = write_attachment(&shared, id, &name, content).await;
            drop(room);
            attached
        });
        attaching.await.map_err(|error| LogError::Io(format!("an attachment was given up: {error}")))?
    }

    /// Opens an attachment by its name.
    pub async fn get_attachment(&self, id: SessionId, name: &str) -> Result<OpenBlob, EngineError> {
        match self.open(id, format!("attachments/{name}"), name).await? {
            Some(file) => Ok(file),
            None => {
                self.refuse_unknown(id).await?;
                let message = "this session has no attachment of that name";
                Err(Refusal::not_found("attachment_not_found", message).into())
            }
        }
    }

    /// Opens what a turn made, by its name.
    pub async fn get_artifact(
        &self,
        id: SessionId,
        turn: TurnId,
        name: &str,
    ) -> Result<OpenBlob, EngineError> {
        match self.open(id, format!("artifacts/{turn}/{name}"), name).await? {
            Some(file) => Ok(file),
            None => {
                self.refuse_unknown_turn(id, turn).await?;
                let message = "this turn has no artifact of that name";
                Err(Refusal::not_found("artifact_not_found", message).into())
            }
        }
    }

    /// The attachments of a session.
    pub async fn attachments(&self, id: SessionId) -> Result<StoredBlobList, EngineError> {
        self.refuse_unknown(id).await?;
        Ok(list(&*self.shared.log, id, "attachments/").await?)
    }

    /// What a turn made.
    pub async fn artifacts(&self, id: SessionId, turn: TurnId) -> Result<StoredBlobList, EngineError> {
        let listed = list(&*self.shared.log, id, &format!("artifacts/{turn}/")).await?;
        if listed.files.is_empty() {
            self.refuse_unknown_turn(id, turn).await?;
        }
        Ok(listed)
    }

    /// Opens a file beside the log, if there is one. What cannot be a name names nothing.
    async fn open(
        &self,
        id: SessionId,
        reference: String,
        name: &str,
    ) -> Result<Option<OpenBlob>, EngineError> {
        if !is_plain(name) {
            return Ok(None);
        }
        match open(&*self.shared.log, id, reference, name.to_owned()).await {
            Ok(file) => Ok(Some(file)),
            Err(LogError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn refuse_unknown(&self, id: SessionId) -> Result<(), EngineError> {
        match self.shared.log.last_seq(id).await? {
            0 => Err(EngineError::NotFound),
            _ => Ok(()),
        }
    }

    /// A turn without artifacts is known by the session's state, as long as it is among the newest.
    async fn refuse_unknown_turn(&self, id: SessionId, turn: TurnId) -> Result<(), EngineError> {
        let view = self.view(id).await?;
        let known = view.running_turn_id == Some(turn) || view.turns.iter().any(|other| other.id == turn);
        if known || !self.shared.log.list_blobs(id, format!("artifacts/{turn}/"), 1).await?.is_empty() {
            return Ok(());
        }
        let message = format!("turn {turn} made nothing that is kept, or is not a turn of this session");
        Err(Refusal::not_found("turn_not_found", message).into())
    }
}

/// Finds a name that is free, and writes the file under it.
async fn write_attachment(
    shared: &Arc<EngineShared>,
    id: SessionId,
    name: &str,
    content: Vec<u8>,
) -> Result<StoredBlob, EngineError> {
    let (size, content) = (content.len() as u64, Bytes::from(content));
    let mut taken = HashSet::new();
    // One more than there can be, so that one is free or the session is full.
    for number in 1..=MAX_ATTACHMENTS * 2 + 1 {
        let name = numbered(name, number);
        if taken.contains(&collision_key(&name)) {
            continue;
        }
        let Some(underway) = shared.uploads.reserve(id, collision_key(&name), size) else { continue };
        // Read after the name was reserved: whoever had it before has written its file by now.
        let there = attachment_sizes(&*shared.log, id).await?;
        let others = underway.others.iter().filter(|(other, _)| !there.contains_key(other));
        let (mut count, mut bytes) = (there.len() + 1, there.values().sum::<u64>() + size);
        for (_, size) in others {
            (count, bytes) = (count + 1, bytes + size);
        }
        check_attachment_limits(count, bytes)?;
        if there.contains_key(&collision_key(&name)) {
            taken = there.into_keys().collect();
            continue;
        }
        let (reference, mime_type) = (format!("attachments/{name}"), media_type::media_type(&content, &name));
        match shared.log.put_blob(id, reference.clone(), content.clone(), BlobWrite::New).await {
            Ok(()) => return Ok(StoredBlob { reference, name, mime_type, size }),
            // Another node was faster.
            Err(LogError::Exists) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(too_many().into())
}

/// The sizes of a session's attachments, by the spelling of their names.
async fn attachment_sizes(log: &dyn Log, id: SessionId) -> Result<HashMap<String, u64>, LogError> {
    let there = log.list_blobs(id, "attachments/".to_owned(), MAX_ATTACHMENTS + 1).await?;
    let by_spelling = |entry: ostler_eventlog::BlobEntry| {
        let name = entry.name.strip_prefix("attachments/").unwrap_or(&entry.name);
        (collision_key(name), entry.size)
    };
    Ok(there.into_iter().map(by_spelling).collect())
}

/// The whole content of a file beside the log.
pub(crate) async fn read_whole(log: &dyn Log, id: SessionId, reference: String) -> Result<Bytes, LogError> {
    let blob = log.open_blob(id, reference).await?;
    blob.read(0, usize::try_from(blob.size()).unwrap_or(usize::MAX)).await
}

/// Refuses more attachments, or more bytes in them, than one session may have.
pub fn check_attachment_limits(count: usize, bytes: u64) -> Result<(), Refusal> {
    if count > MAX_ATTACHMENTS {
        return Err(too_many());
    }
    if bytes > MAX_ATTACHMENT_BYTES {
        let message = format!("a session's attachments may have {} MiB in all", MAX_ATTACHMENT_BYTES >> 20);
        return Err(Refusal::new(RefusalKind::TooLarge, "attachments_full", message)
            .hint("go on in another session, or put the file in the workspace and name its path"));
    }
    Ok(())
}

fn too_many() -> Refusal {
    let message = format!("a session may have {MAX_ATTACHMENTS} attachments");
    Refusal::new(RefusalKind::TooMany, "too_many_attachments", message)
        .hint("go on in another session, or put the file in the workspace and name its path")
}
