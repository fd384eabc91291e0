//! How far each session's log has been appended to: what readers may read, and what the next record
//! follows. Only sessions that are in use are known; the others are read from their files.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_types::SessionId;

use crate::sealed_line::RecordChain;

/// Heads kept. Those of suspect logs stay beyond it, up to as many again.
pub(crate) const MAX_HEADS: usize = 4096;

/// The end of a log: its last record, and where that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogHead {
    pub(crate) seq: u64,
    pub(crate) chain: RecordChain,
    pub(crate) length: u64,
}

impl LogHead {
    /// The end of a log without records.
    pub(crate) const EMPTY: LogHead = LogHead { seq: 0, chain: RecordChain::START, length: 0 };
}

/// What is known of a log's end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownHead {
    pub(crate) head: LogHead,
    /// The file may hold more than was acknowledged, because the disk failed: it must be cut back to
    /// the head before it is appended to.
    pub(crate) suspect: bool,
    used: u64,
}

/// The heads, shared by the committer, which alone changes them, and the readers.
#[derive(Debug, Default)]
pub(crate) struct LogHeads {
    state: Mutex<LogHeadsState>,
}

#[derive(Debug, Default)]
struct LogHeadsState {
    known: HashMap<SessionId, KnownHead>,
    clock: u64,
    suspects: usize,
}

impl LogHeads {
    pub(crate) fn get(&self, session: SessionId) -> Option<KnownHead> {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        let known = state.known.get_mut(&session)?;
        known.used = now;
        Some(*known)
    }

    /// Says how far the log goes. Called before a write with the head before it, so that no reader sees
    /// a write in progress, and after the sync with the new head.
    pub(crate) fn put(&self, session: SessionId, head: LogHead) {
        self.set(session, head, false);
    }

    /// Says that the file may hold more than its head.
    pub(crate) fn mark_suspect(&self, session: SessionId, head: LogHead) {
        self.set(session, head, true);
    }

    pub(crate) fn remove(&self, session: SessionId) {
        let mut state = self.lock();
        if state.known.remove(&session).is_some_and(|known| known.suspect) {
            state.suspects -= 1;
        }
    }

    /// Whether another log may be opened: heads of suspect logs cannot be forgotten, so there is an
    /// end to how many are gathered while the disk fails.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().suspects < MAX_HEADS
    }

    /// Forgets the heads that were not used for longest. Called between two groups only: a head that
    /// is being written to must stay.
    pub(crate) fn trim(&self) {
        let mut state = self.lock();
        if state.known.len() - state.suspects <= MAX_HEADS {
            return;
        }
        let mut ages: Vec<u64> = state.known.values().filter(|k| !k.suspect).map(|k| k.used).collect();
        let middle = ages.len() / 2;
        let (_, &mut median, _) = ages.select_nth_unstable(middle);
        state.known.retain(|_, known| known.suspect || known.used >= median);
    }

    fn set(&self, session: SessionId, head: LogHead, suspect: bool) {
        let mut state = self.lock();
        state.clock += 1;
        let used = state.clock;
        let before = state.known.insert(session, KnownHead { head, suspect, used });
        state.suspects += usize::from(suspect);
        state.suspects -= usize::from(before.is_some_and(|known| known.suspect));
    }

    fn lock(&self) -> MutexGuard<'_, LogHeadsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::SessionId;
    use uuid::Uuid;

    use super::{LogHead, LogHeads, MAX_HEADS};

    #[test]
    fn the_least_used_are_forgotten_but_never_a_suspect() {
        let heads = LogHeads::default();
        let id = |n: usize| SessionId::new(Uuid::from_u128(n as u128));
        heads.mark_suspect(id(0), LogHead::EMPTY);
        for n in 1..=MAX_HEADS + 1 {
            heads.put(id(n), LogHead::EMPTY);
        }
        heads.trim();
        assert!(heads.get(id(0)).unwrap().suspect);
        assert!(heads.get(id(1)).is_none());
        assert!(heads.get(id(MAX_HEADS + 1)).is_some());
        assert!(heads.lock().known.len() <= MAX_HEADS);
    }
}
