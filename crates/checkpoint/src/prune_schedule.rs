//! When a store is to be pruned, and what must not be removed because somebody works with it. How it is
//! pruned is for `prune`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::digest::CheckpointDigest;

/// How long after the last time a store is pruned again.
const PRUNE_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Which part of a store's limit may be written before that.
const MAX_WRITTEN_SHARE: u64 = 8;

/// What is known of a store's upkeep. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct PruneSchedule(Arc<Mutex<PruneScheduleState>>);

#[derive(Debug, Default)]
struct PruneScheduleState {
    captured: bool,
    pruned: Option<SystemTime>,
    in_use: HashMap<CheckpointDigest, usize>,
}

/// Keeps a checkpoint until it is dropped.
#[derive(Debug)]
pub struct CheckpointUse {
    id: CheckpointDigest,
    upkeep: PruneSchedule,
}

impl PruneSchedule {
    pub(crate) fn record_capture(&self) {
        self.state().captured = true;
    }

    pub(crate) fn record_prune(&self, now: SystemTime) {
        let mut state = self.state();
        (state.captured, state.pruned) = (false, Some(now));
    }

    /// Whether a store that has had so many bytes written since is to be pruned.
    pub(crate) fn is_due(&self, now: SystemTime, written: u64, max_bytes: u64) -> bool {
        let state = self.state();
        let since = state.pruned.map(|pruned| now.duration_since(pruned).unwrap_or_default());
        state.captured
            && (written >= max_bytes / MAX_WRITTEN_SHARE || since.is_none_or(|since| since >= PRUNE_INTERVAL))
    }

    pub(crate) fn in_use(&self, id: CheckpointDigest) -> CheckpointUse {
        *self.state().in_use.entry(id).or_default() += 1;
        CheckpointUse { id, upkeep: self.clone() }
    }

    /// The checkpoints that somebody works with.
    pub(crate) fn all_in_use(&self) -> Vec<CheckpointDigest> {
        self.state().in_use.keys().copied().collect()
    }

    fn state(&self) -> MutexGuard<'_, PruneScheduleState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CheckpointUse {
    fn drop(&mut self) {
        let mut state = self.upkeep.state();
        if let Some(count) = state.in_use.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                state.in_use.remove(&self.id);
            }
        }
    }
}
