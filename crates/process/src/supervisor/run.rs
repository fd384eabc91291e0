//! The life of a supervised child: started, watched, restarted with growing back-off, and ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Instance, InstancePhase, StartFailure, StartResult, Supervised, SupervisorShared};

/// Number of times the pause between two starts is doubled.
const DOUBLINGS: u32 = 5;
/// The longest pause between two starts, in first pauses.
const LONGEST_PAUSE: u32 = 30;

/// Why a child did not start, or ended by itself.
struct RunFailure<F> {
    failure: StartFailure<F>,
    /// Whether the child had proven itself, so that earlier failures do not count.
    was_proven: bool,
}

/// Runs a child until it is stopped, idle or unavailable.
pub(super) async fn run<T: Supervised>(instance: Arc<Instance<T>>, shared: Arc<SupervisorShared<T>>) {
    let mut failures: u32 = 0;
    while let Err(RunFailure { failure, was_proven }) = run_once(&instance, &shared).await {
        failures = if was_proven { 1 } else { failures + 1 };
        let is_last = failures > shared.settings.restarts || instance.is_closing();
        let (failure, is_last) = match failure {
            StartFailure::Permanent(failure) => (failure, true),
            StartFailure::Transient(failure) => (failure, is_last),
        };
        instance.child().log_failure(&failure, failures);
        if is_last && !instance.stop.is_cancelled() {
            return instance.set_phase(InstancePhase::Unavailable(failure, Instant::now()));
        }
        instance.set_phase(InstancePhase::Restarting(failure));
        tokio::select! {
            biased;
            () = instance.stop.cancelled() => break,
            () = tokio::time::sleep(backoff(shared.settings.first_backoff, failures)) => {}
        }
    }
    instance.set_phase(InstancePhase::Stopped);
}

/// One run of the child. `Ok` when it has ended because it is not needed any more.
async fn run_once<T: Supervised>(
    instance: &Instance<T>,
    shared: &SupervisorShared<T>,
) -> Result<(), RunFailure<T::Failure>> {
    let started = tokio::select! {
        biased;
        () = instance.stop.cancelled() => return Ok(()),
        started = Box::pin(start(instance, shared)) => started,
    };
    let (handle, mut running) = started.map_err(|failure| RunFailure { failure, was_proven: false })?;
    let ready_at = Instant::now();
    // The time that the start took is not idle time.
    instance.touch();
    instance.set_phase(InstancePhase::Ready(handle.clone()));
    let child = instance.child();
    let failure = tokio::select! {
        biased;
        () = instance.stop.cancelled() => None,
        () = instance.wait_until_idle(shared.settings.idle_timeout) => None,
        failure = child.watch(&mut running) => Some(failure),
    };
    let was_proven = child.is_proven(&handle, ready_at.elapsed());
    if let Some(failure) = &failure {
        // Before its lease holders learn of the end: whoever asks again must not find it ready.
        instance.set_phase(InstancePhase::Restarting(failure.clone()));
    }
    child.stop(running).await;
    failure.map_or(Ok(()), |why| Err(RunFailure { failure: StartFailure::Transient(why), was_proven }))
}

async fn start<T: Supervised>(instance: &Instance<T>, shared: &SupervisorShared<T>) -> StartResult<T> {
    let child = instance.child();
    if child.takes_slot() && !instance.holds_slot() {
        let slot =
            shared.slot(instance).await.ok_or_else(|| child.no_slot_failure(shared.settings.capacity))?;
        instance.keep_slot(slot);
    }
    child.start(instance.launcher()).await
}

/// The pause before the restart after so many failures.
pub(super) fn backoff(first: Duration, failures: u32) -> Duration {
    first * (1 << failures.saturating_sub(1).min(DOUBLINGS)).min(LONGEST_PAUSE)
}
