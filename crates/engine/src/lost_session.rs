//! Subscribers of a session that this engine lost: they go on seeing its records, read from the log.
//!
//! Nothing tells an engine that another one appends, so the log is asked with growing pauses. The task of the actor that
//! lost the session does this. It ends when the subscribers have left, a command has woken the session on this engine, or
//! the engine stops. The log on disk has one owner for good, so nothing of this ever runs there.

use std::sync::Arc;
use std::time::Duration;

use ostler_eventlog::LogError;
use ostler_types::SessionId;

use crate::engine::EngineShared;
use crate::hub::Hub;

/// The pause before the log is asked for the first time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How an actor lost its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnershipLoss {
    /// Another owner has the session, or it cannot be read. To claim it would disturb an owner that may be at work.
    Fenced,
    /// The storage did not answer, and no other owner is known.
    Unknown,
}

impl OwnershipLoss {
    /// Why a session could not be woken whose subscribers are still there.
    pub(crate) fn from_wake_error(error: &LogError) -> OwnershipLoss {
        let claim_again =
            !matches!(error, LogError::Owned { .. } | LogError::Fenced | LogError::Damaged { .. });
        if claim_again { OwnershipLoss::Unknown } else { OwnershipLoss::Fenced }
    }
}

/// Shows the subscribers of a kept hub what others append. Returns whether this engine has to wake the session again:
/// when no other owner is known and somebody still waits for it.
pub(crate) async fn follow_lost_session(
    shared: &EngineShared,
    id: SessionId,
    hub: &Arc<Hub>,
    loss: OwnershipLoss,
) -> bool {
    let mut pause = pause_after(hub.count_loss());
    let mut known = None;
    while sleep_unless_stopping(shared, pause).await && hub.has_subscribers() {
        if loss == OwnershipLoss::Unknown {
            return shared.is_kept_hub(id, hub);
        }
        let last_seq = shared.log.last_seq(id).await.ok();
        let has_grown = last_seq.is_some() && last_seq != known;
        if has_grown {
            known = last_seq;
        }
        pause = if has_grown { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        let is_kept = match last_seq {
            Some(0) => return shared.close_kept_hub(id, hub),
            Some(last_seq) if has_grown => shared.advance_kept_hub(id, hub, last_seq),
            Some(_) | None => shared.is_kept_hub(id, hub),
        };
        if !is_kept {
            return false;
        }
    }
    false
}

/// The first pause after this many losses without a record in between.
fn pause_after(losses: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << losses.saturating_sub(1).min(5)).min(LONGEST_PAUSE)
}

/// Returns whether the engine goes on after the pause.
async fn sleep_unless_stopping(shared: &EngineShared, pause: Duration) -> bool {
    let mut stopping = shared.stopping();
    tokio::select! {
        () = tokio::time::sleep(pause) => true,
        _ = stopping.wait_for(|stopping| *stopping) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_each_loss_in_a_row_up_to_a_limit() {
        let pauses: Vec<u128> = (1..=8).map(|losses| pause_after(losses).as_millis()).collect();
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(pause_after(u32::MAX), LONGEST_PAUSE);
    }
}
