//! One supervised child: its phase, its leases, and waiting until it is ready. Starting and ending it is left to
//! `run`, and which instances there are to the supervisor.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Launcher, Supervised};

/// A child from its first start until it is stopped or unavailable.
pub struct Instance<T: Supervised> {
    child: T,
    /// When it was made; its first start began then.
    pub(super) started: Instant,
    pub(super) stop: CancellationToken,
    usage: Mutex<InstanceUsage>,
    /// Notified when the child may have become idle.
    released: Notify,
    /// Kept through restarts, so that the child cannot lose its slot to another between two starts.
    slot: Mutex<Option<Arc<OwnedSemaphorePermit>>>,
    phase: watch::Sender<InstancePhase<T::Handle, T::Failure>>,
    changes: watch::Sender<u64>,
}

/// How far a child is.
#[derive(Debug, Clone)]
pub enum InstancePhase<H, F> {
    /// It is being started for the first time.
    Starting,
    /// It can be used.
    Ready(H),
    /// It failed, and is being started again.
    Restarting(F),
    /// It failed for good, at this time.
    Unavailable(F, Instant),
    /// It was ended.
    Stopped,
}

impl<H, F> InstancePhase<H, F> {
    /// Whether the child has neither been ended nor failed for good.
    pub fn is_running(&self) -> bool {
        matches!(self, InstancePhase::Starting | InstancePhase::Ready(_) | InstancePhase::Restarting(_))
    }
}

struct InstanceUsage {
    last_used: Instant,
    leases: usize,
    /// Set when the child is to end; it is not leased any more then.
    is_closing: bool,
}

/// The right to use a child, which is not ended as idle meanwhile.
pub struct InstanceLease<T: Supervised> {
    /// What speaks to the child.
    pub handle: T::Handle,
    guard: LeaseGuard<T>,
}

/// Why there is no lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReady<F> {
    /// The instance has ended; another one can be started.
    Stopped,
    /// It failed for good, for this reason.
    Unavailable(F),
    /// It is still being started, after it failed for this reason if it did.
    TimedOut(Option<F>),
}

struct LeaseGuard<T: Supervised>(Arc<Instance<T>>);

impl<T: Supervised> InstanceLease<T> {
    /// Has the child end when its last lease is dropped. It is not leased any more.
    pub fn retire(&self) {
        self.guard.0.usage().is_closing = true;
        self.guard.0.released.notify_one();
    }
}

impl<T: Supervised> Drop for LeaseGuard<T> {
    fn drop(&mut self) {
        let mut usage = self.0.usage();
        usage.leases -= 1;
        usage.last_used = Instant::now();
        drop(usage);
        self.0.released.notify_one();
    }
}

impl<T: Supervised> Instance<T> {
    pub(super) fn new(child: T, stop: CancellationToken, changes: watch::Sender<u64>) -> Instance<T> {
        let started = Instant::now();
        let usage = Mutex::new(InstanceUsage { last_used: started, leases: 0, is_closing: false });
        let phase = watch::Sender::new(InstancePhase::Starting);
        Instance {
            child,
            started,
            stop,
            usage,
            released: Notify::new(),
            slot: Mutex::default(),
            phase,
            changes,
        }
    }

    /// What is supervised.
    pub fn child(&self) -> &T {
        &self.child
    }

    /// How far it is.
    pub fn phase(&self) -> InstancePhase<T::Handle, T::Failure> {
        self.phase.borrow().clone()
    }

    /// Waits until its first start has succeeded or failed, up to this time after it began.
    pub async fn wait_until_settled(&self, time: Duration) {
        let mut phase = self.phase.subscribe();
        let settled = phase.wait_for(|phase| !matches!(phase, InstancePhase::Starting));
        // One that takes longer goes on by itself.
        let _ = timeout_at(self.started + time, settled).await;
    }

    /// Leases it when it is ready. Without patience this waits for as long as it is being started.
    pub(super) async fn lease(
        self: &Arc<Instance<T>>,
        patience: Option<Duration>,
    ) -> Result<InstanceLease<T>, NotReady<T::Failure>> {
        // Looked at before the lock is taken: no thread holds both.
        let is_running = self.phase.borrow().is_running();
        let guard = {
            let mut usage = self.usage();
            if usage.is_closing && is_running {
                return Err(NotReady::Stopped);
            }
            usage.leases += 1;
            LeaseGuard(Arc::clone(self))
        };
        let mut phase = self.phase.subscribe();
        let settled = phase.wait_for(|phase| match phase {
            InstancePhase::Starting | InstancePhase::Restarting(_) => false,
            InstancePhase::Ready(handle) => self.child.is_open(handle),
            InstancePhase::Unavailable(..) | InstancePhase::Stopped => true,
        });
        let settled = async { settled.await.ok().map(|phase| phase.clone()) };
        let settled = match patience {
            Some(patience) => timeout(patience, settled).await.ok().flatten(),
            None => settled.await,
        };
        match settled.unwrap_or_else(|| self.phase()) {
            InstancePhase::Ready(handle) => Ok(InstanceLease { handle, guard }),
            InstancePhase::Stopped => Err(NotReady::Stopped),
            InstancePhase::Unavailable(failure, _) => Err(NotReady::Unavailable(failure)),
            InstancePhase::Starting => Err(NotReady::TimedOut(None)),
            InstancePhase::Restarting(failure) => Err(NotReady::TimedOut(Some(failure))),
        }
    }

    /// Counts it as used now.
    pub(super) fn touch(&self) {
        self.usage().last_used = Instant::now();
    }

    /// Has it not be leased any more, if it is retired or has been idle for this long. Otherwise says how long it
    /// still has; while it is leased, that is not known.
    pub(super) fn close_if_idle_for(&self, time: Duration) -> Result<(), Option<Duration>> {
        let mut usage = self.usage();
        if usage.leases > 0 {
            return Err(None);
        }
        let idle = usage.last_used.elapsed();
        if !usage.is_closing && idle < time {
            return Err(Some(time - idle));
        }
        usage.is_closing = true;
        Ok(())
    }

    /// Waits until it has been idle for this long, or is retired and not leased. It is not leased any more then.
    pub(super) async fn wait_until_idle(&self, time: Duration) {
        while let Err(left) = self.close_if_idle_for(time) {
            tokio::select! {
                () = self.released.notified() => {}
                () = sleep(left.unwrap_or_default()), if left.is_some() => {}
            }
        }
    }

    /// Ends it, also when it is leased.
    pub(super) fn close(&self) {
        self.usage().is_closing = true;
        self.stop.cancel();
    }

    /// Waits until it has ended, and its process is gone.
    pub(super) async fn wait_until_ended(&self) {
        // The sender is in this instance, so that waiting cannot fail.
        let _ = self.phase.subscribe().wait_for(|phase| !phase.is_running()).await;
    }

    /// Since when it is not leased, unless it is about to end.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let usage = self.usage();
        (usage.leases == 0 && !usage.is_closing).then_some(usage.last_used)
    }

    pub(super) fn is_closing(&self) -> bool {
        self.usage().is_closing
    }

    /// Whether another instance is to take its place. One that failed for good is left alone for a while.
    pub(super) fn is_over(&self, retry_after: Duration) -> bool {
        let is_closing = self.is_closing();
        match *self.phase.borrow() {
            InstancePhase::Starting | InstancePhase::Ready(_) | InstancePhase::Restarting(_) => is_closing,
            InstancePhase::Unavailable(_, since) => since.elapsed() >= retry_after,
            InstancePhase::Stopped => true,
        }
    }

    pub(super) fn holds_slot(&self) -> bool {
        self.slot().is_some()
    }

    /// Whether it is about to end, and to free its slot.
    pub(super) fn is_freeing_slot(&self) -> bool {
        let is_unused = self.usage().leases == 0;
        self.holds_slot() && (self.stop.is_cancelled() || is_unused && self.is_closing())
    }

    pub(super) fn keep_slot(&self, slot: OwnedSemaphorePermit) {
        *self.slot() = Some(Arc::new(slot));
    }

    pub(super) fn launcher(&self) -> Launcher {
        Launcher { slot: self.slot().clone() }
    }

    /// Changes the phase. Where it does not run any more, its process must be gone.
    pub(super) fn set_phase(&self, phase: InstancePhase<T::Handle, T::Failure>) {
        if !phase.is_running() {
            drop(self.slot().take());
        }
        self.phase.send_replace(phase);
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<OwnedSemaphorePermit>>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usage(&self) -> MutexGuard<'_, InstanceUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
