//! What is on its way to disk now: how much memory it may take, and which names are spoken for.

use std::sync::{Arc, Mutex, MutexGuard};

use ostler_types::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory for attachments that are being read or written, over all sessions, in KiB.
const UPLOAD_MEMORY_KIB: usize = 128 << 10;

/// The attachments that are on their way.
#[derive(Clone)]
pub(crate) struct Uploads {
    memory: Arc<Semaphore>,
    pending: Arc<Mutex<Vec<PendingUpload>>>,
}

struct PendingUpload {
    session: SessionId,
    name: String,
    size: u64,
}

/// A name that is spoken for until this is dropped.
pub(super) struct ReservedUpload {
    uploads: Uploads,
    session: SessionId,
    name: String,
    /// The names and sizes that were on their way in the same session before.
    pub(super) others: Vec<(String, u64)>,
}

impl Default for Uploads {
    fn default() -> Uploads {
        Uploads { memory: Arc::new(Semaphore::new(UPLOAD_MEMORY_KIB)), pending: Arc::default() }
    }
}

impl Uploads {
    /// Waits for memory. What is asked for beyond all that there is waits for all that there is.
    pub(super) async fn reserve_memory(&self, bytes: usize) -> OwnedSemaphorePermit {
        let kib = u32::try_from(((bytes >> 10) + 1).min(UPLOAD_MEMORY_KIB)).unwrap_or(u32::MAX);
        Arc::clone(&self.memory).acquire_many_owned(kib).await.expect("the semaphore is never closed")
    }

    /// Takes a name, unless it is spoken for.
    pub(super) fn reserve(&self, session: SessionId, name: String, size: u64) -> Option<ReservedUpload> {
        let mut underway = self.pending();
        let same = underway.iter().filter(|other| other.session == session);
        let others: Vec<(String, u64)> = same.map(|other| (other.name.clone(), other.size)).collect();
        if others.iter().any(|(other, _)| *other == name) {
            return None;
        }
        underway.push(PendingUpload { session, name: name.clone(), size });
        Some(ReservedUpload { uploads: self.clone(), session, name, others })
    }

    fn pending(&self) -> MutexGuard<'_, Vec<PendingUpload>> {
        self.pending.lock().expect("no code panics while it holds the list of uploads")
    }
}

impl Drop for ReservedUpload {
    fn drop(&mut self) {
        let mut underway = self.uploads.pending();
        underway.retain(|upload| (upload.session, &upload.name) != (self.session, &self.name));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use ostler_types::SessionId;
    use uuid::Uuid;

    use super::{UPLOAD_MEMORY_KIB, Uploads};

    #[test]
    fn uploads_wait_when_the_memory_is_taken() {
        let uploads = Uploads::default();
        let beyond = uploads.reserve_memory(usize::MAX).now_or_never().expect("all that there is can be had");
        assert!(uploads.reserve_memory(1).now_or_never().is_none());
        drop(beyond);
        let half = (UPLOAD_MEMORY_KIB << 9) - 1;
        let held = [uploads.reserve_memory(half).now_or_never(), uploads.reserve_memory(half).now_or_never()];
        assert!(held.iter().all(Option::is_some));
        assert!(uploads.reserve_memory(0).now_or_never().is_none());
    }

    #[test]
    fn a_name_is_spoken_for_until_its_upload_ends() {
        let uploads = Uploads::default();
        let [one, other] = [1, 2].map(|number| SessionId::new(Uuid::from_u128(number)));
        let first = uploads.reserve(one, "a".to_owned(), 5).unwrap();
        assert!(uploads.reserve(one, "a".to_owned(), 1).is_none());
        assert!(uploads.reserve(other, "a".to_owned(), 1).unwrap().others.is_empty());
        let second = uploads.reserve(one, "b".to_owned(), 7).unwrap();
        assert_eq!(second.others, [("a".to_owned(), 5)], "the earlier one counts for the later one");
        drop(first);
        assert_eq!(uploads.reserve(one, "a".to_owned(), 1).unwrap().others, [("b".to_owned(), 7)]);
    }
}
