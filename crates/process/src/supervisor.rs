//! Supervises children that are spoken to: starts each when it is first needed, at most one for a key and at most so
//! many at once; restarts it with growing back-off when it ends by itself; ends it when it is idle, evicted or closed.
//!
//! [`Supervised`] is the part of a protocol: how a child is started, watched and stopped. `instance` holds the state
//! and the leases of one child, `run` its life. What is said to a child is left to the protocols.

mod instance;
mod run;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::child::{ChildProcess, PreparedChild, StderrTail};

pub use instance::{Instance, InstanceLease, InstancePhase, NotReady};

/// How long a slot is waited for that another child is about to free. Longer than an orderly end takes.
const SLOT_TIMEOUT: Duration = Duration::from_secs(10);

/// How one kind of child is started, watched and stopped. The supervisor calls these for one instance in turn, never
/// two at once; it drops `start` and `watch` when the instance is to end.
pub trait Supervised: Send + Sync + Sized + 'static {
    /// Names an instance among those of its supervisor.
    type Key: Clone + Eq + Hash + Send + Sync;
    /// What a lease holder speaks to the child with.
    type Handle: Clone + Send + Sync;
    /// A child that was started, owned by the supervisor. Dropping it ends the child.
    type Running: Send;
    /// Why a child did not start, or ended.
    type Failure: Clone + Send + Sync;

    /// Starts the child with the launcher, and returns when it can be used. Has its own time limit.
    fn start(&self, launcher: Launcher) -> impl Future<Output = StartResult<Self>> + Send;

    /// Waits until the child ends by itself or has to be given up.
    fn watch(&self, running: &mut Self::Running) -> impl Future<Output = Self::Failure> + Send;

    /// Ends the child in an orderly way, also one that has ended by itself. Has its own time limit.
    fn stop(&self, running: Self::Running) -> impl Future<Output = ()> + Send;

    /// Whether a child that was ready for this long has proven itself, so that its past failures do not count.
    fn is_proven(&self, handle: &Self::Handle, uptime: Duration) -> bool;

    /// Whether the child can still be spoken to. One that cannot is about to be restarted.
    fn is_open(&self, _handle: &Self::Handle) -> bool {
        true
    }

    /// Logs a failure. `failures` is the number of those since the child last proved itself.
    fn log_failure(&self, failure: &Self::Failure, failures: u32);

    /// Whether the child is a process, and so takes one of the slots.
    fn takes_slot(&self) -> bool {
        true
    }

    /// Whether this idle child may be ended to make room for the other.
    fn yields_to(&self, _other: &Self) -> bool {
        true
    }

    /// What a start fails with when all slots are taken.
    fn no_slot_failure(&self, capacity: usize) -> StartFailure<Self::Failure>;
}

/// A child that can be used, or why there is none.
pub type StartResult<T> =
    Result<(<T as Supervised>::Handle, <T as Supervised>::Running), StartFailure<<T as Supervised>::Failure>>;

/// Why a child did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFailure<F> {
    /// The next start would fail too.
    Permanent(F),
    /// The next start may succeed.
    Transient(F),
}

/// The limits of a supervisor.
#[derive(Debug, Clone)]
pub struct SupervisorSettings {
    /// Number of processes that may run at once.
    pub capacity: usize,
    /// How long a child without a lease is kept.
    pub idle_timeout: Duration,
    /// How long a child must have been idle to be evicted when there is no slot for another.
    pub evict_after: Duration,
    /// Number of restarts after failures in a row, before a child is unavailable.
    pub restarts: u32,
    /// The pause before the first restart; doubled for each one after it, up to thirty-fold.
    pub first_backoff: Duration,
    /// How long an unavailable child is left alone before a request starts it anew.
    pub retry_after: Duration,
    /// Number of instances above which those that have ended are forgotten.
    pub remembered: usize,
}

/// Starts the processes of one instance. Each takes the instance's slot along until it has been reaped.
#[derive(Debug, Clone)]
pub struct Launcher {
    slot: Option<Arc<OwnedSemaphorePermit>>,
}

impl Launcher {
    /// Starts a process in a process group of its own. Its error output goes to `stderr`.
    pub fn start(
        &self,
        prepared: PreparedChild,
        stderr: &StderrTail,
    ) -> io::Result<(ChildProcess, ChildStdout, ChildStdin)> {
        let PreparedChild { command, keep_alive: keep } = prepared;
        ChildProcess::start(
            PreparedChild { command, keep_alive: Box::new((keep, self.slot.clone())) },
            stderr,
        )
    }
}

/// The children of one kind. Dropping it ends them.
pub struct Supervisor<T: Supervised>(Arc<SupervisorShared<T>>);

struct SupervisorShared<T: Supervised> {
    settings: SupervisorSettings,
    instances: Mutex<Instances<T>>,
    /// One permit for each process that may run.
    slots: Arc<Semaphore>,
    stop: CancellationToken,
    /// Owns the tasks that run the instances.
    tasks: TaskTracker,
    changes: watch::Sender<u64>,
}

struct Instances<T: Supervised> {
    by_key: HashMap<T::Key, Arc<Instance<T>>>,
    /// Instances that were replaced or removed before they had ended: their slots are about to be freed.
    replaced: Vec<Arc<Instance<T>>>,
}

impl<T: Supervised> Supervisor<T> {
    /// A supervisor without children.
    pub fn new(settings: SupervisorSettings) -> Supervisor<T> {
        let slots = Arc::new(Semaphore::new(settings.capacity));
        let instances = Instances { by_key: HashMap::new(), replaced: Vec::new() };
        Supervisor(Arc::new(SupervisorShared {
            settings,
            instances: Mutex::new(instances),
            slots,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            changes: watch::Sender::new(0),
        }))
    }

    /// The instance with this key, counted as used now. Made and started if there is none that runs; `None` once the
    /// supervisor is shut down.
    pub fn instance(&self, key: &T::Key, make: impl FnOnce() -> T) -> Option<Arc<Instance<T>>> {
        let SupervisorShared { settings, stop, tasks, changes, .. } = &*self.0;
        if stop.is_cancelled() {
            return None;
        }
        let mut instances = self.0.instances();
        if let Some(instance) = instances.by_key.get(key)
            && !instance.is_over(settings.retry_after)
        {
            instance.touch();
            return Some(Arc::clone(instance));
        }
        instances.forget_ended(settings);
        let instance = Arc::new(Instance::new(make(), stop.child_token(), changes.clone()));
        tasks.spawn(run::run(Arc::clone(&instance), Arc::clone(&self.0)));
        let before = instances.by_key.insert(key.clone(), Arc::clone(&instance));
        instances.replaced.extend(before);
        Some(instance)
    }

    /// Leases the instance that `find` returns, as [`Supervisor::instance`] does, when it is ready. One that ends
    /// meanwhile is looked for again. `NotReady::Stopped` when `find` returns none.
    pub async fn lease(
        find: impl Fn() -> Option<Arc<Instance<T>>>,
        patience: Option<Duration>,
    ) -> Result<InstanceLease<T>, NotReady<T::Failure>> {
        while let Some(instance) = find() {
            match instance.lease(patience).await {
                Err(NotReady::Stopped) => {}
                leased => return leased,
            }
        }
        Err(NotReady::Stopped)
    }

    /// All instances that are remembered, the oldest first.
    pub fn instances(&self) -> Vec<Arc<Instance<T>>> {
        let mut instances: Vec<_> = self.0.instances().by_key.values().cloned().collect();
        instances.sort_by_key(|instance| instance.started);
        instances
    }

    /// Ends the instances with these keys, also when they are leased. Their processes are gone when this returns.
    pub async fn remove(&self, keys: &[T::Key]) {
        let removed: Vec<Arc<Instance<T>>> = {
            let mut instances = self.0.instances();
            let removed: Vec<_> = keys.iter().filter_map(|key| instances.by_key.remove(key)).collect();
            instances.replaced.extend(removed.iter().cloned());
            removed
        };
        removed.iter().for_each(|instance| instance.close());
        for instance in &removed {
            instance.wait_until_ended().await;
        }
    }

    /// Changes whenever an instance does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Ends all instances for good, and waits until their processes are gone.
    pub async fn shut_down(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl<T: Supervised> Drop for Supervisor<T> {
    fn drop(&mut self) {
        self.0.stop.cancel();
    }
}

impl<T: Supervised> SupervisorShared<T> {
    /// A slot for the process of this instance; `None` when all are taken and none is freed for it.
    async fn slot(&self, wanted_by: &Instance<T>) -> Option<OwnedSemaphorePermit> {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Some(slot);
        }
        if !self.make_room(wanted_by) {
            return None;
        }
        timeout(SLOT_TIMEOUT, Arc::clone(&self.slots).acquire_owned()).await.ok()?.ok()
    }

    /// Evicts the instance that has been idle for longest, if that is long enough. False when no slot is about to be
    /// freed.
    fn make_room(&self, wanted_by: &Instance<T>) -> bool {
        let instances = self.instances();
        let holding = instances.by_key.values().filter(|other| other.holds_slot());
        let mut idle: Vec<_> = holding
            .filter(|other| other.child().yields_to(wanted_by.child()))
            .filter_map(|other| Some((other.idle_since()?, other)))
            .collect();
        idle.sort_by_key(|(since, _)| *since);
        let after = self.settings.evict_after;
        let evicted = idle.into_iter().find(|(_, other)| other.close_if_idle_for(after).is_ok());
        evicted.inspect(|(_, other)| other.close());
        let all = || instances.by_key.values().chain(&instances.replaced);
        // A process whose start has failed keeps its slot until it is gone, though no instance holds it any more.
        let taken = self.settings.capacity.saturating_sub(self.slots.available_permits());
        let is_dying = taken > all().filter(|other| other.holds_slot()).count();
        is_dying || all().any(|other| other.is_freeing_slot())
    }

    fn instances(&self) -> MutexGuard<'_, Instances<T>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Supervised> Instances<T> {
    /// Forgets instances that are over, where there are many.
    fn forget_ended(&mut self, settings: &SupervisorSettings) {
        if self.by_key.len() >= settings.remembered {
            let over = self.by_key.extract_if(|_, instance| instance.is_over(settings.retry_after));
            self.replaced.extend(over.map(|(_, instance)| instance));
        }
        self.replaced.retain(|instance| instance.phase().is_running());
    }
}
