//! An agent in one workspace: how far its process is, who uses it, and waiting until it is there. What makes it
//! go and stop is in `attend`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_process::Tail;
use ostler_types::Failure;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::link::Link;
use crate::status::{AgentStatus, ProcessState};

/// An agent in a workspace, from its first start until it is not needed any more.
pub(crate) struct Instance {
    pub(crate) workspace: PathBuf,
    pub(crate) stderr: Tail,
    /// Ends it.
    pub(crate) stop: CancellationToken,
    /// Somebody stopped using it.
    pub(crate) freed: Notify,
    usage: Mutex<Usage>,
    phase: watch::Sender<Phase>,
    changes: watch::Sender<u64>,
}

/// How far it is.
#[derive(Clone)]
pub(crate) enum Phase {
    Starting,
    Ready(Arc<Link>),
    Restarting(Failure),
    Unavailable(Failure),
    Stopped,
}

struct Usage {
    last: Instant,
    users: usize,
    /// Nobody begins to use it any more.
    is_closing: bool,
}

/// A process that is used; dropping it lets it rest.
pub(crate) struct Held {
    pub(crate) instance: Arc<Instance>,
    pub(crate) link: Arc<Link>,
    _using: Using,
}

/// Keeps an instance from being stopped.
pub(crate) struct Using(Arc<Instance>);

impl Instance {
    pub(crate) fn new(workspace: PathBuf, stop: CancellationToken, changes: watch::Sender<u64>) -> Instance {
        let usage = Usage { last: Instant::now(), users: 0, is_closing: false };
        let (phase, freed, stderr) = (watch::Sender::new(Phase::Starting), Notify::new(), Tail::default());
        Instance { workspace, stderr, stop, freed, usage: Mutex::new(usage), phase, changes }
    }

    /// Keeps it from being stopped. None if it is about to be, or is over.
    pub(crate) fn begin(self: &Arc<Instance>) -> Option<Using> {
        let is_over = matches!(*self.phase.borrow(), Phase::Unavailable(_) | Phase::Stopped);
        let mut usage = self.usage();
        if usage.is_closing || is_over {
            return None;
        }
        usage.users += 1;
        drop(usage);
        Some(Using(Arc::clone(self)))
    }

    /// Waits until its process is there.
    pub(crate) async fn ready(self: &Arc<Instance>, using: Using) -> Result<Held, Option<Failure>> {
        let mut phase = self.phase.subscribe();
        let settled = phase.wait_for(|phase| match phase {
            Phase::Starting | Phase::Restarting(_) => false,
            Phase::Ready(_) | Phase::Unavailable(_) | Phase::Stopped => true,
        });
        let settled = settled.await.map(|phase| phase.clone());
        match settled {
            Ok(Phase::Ready(link)) => Ok(Held { instance: Arc::clone(self), link, _using: using }),
            Ok(Phase::Unavailable(failure)) => Err(Some(failure)),
            Ok(Phase::Stopped | Phase::Starting | Phase::Restarting(_)) | Err(_) => Err(None),
        }
    }

    /// Lets nobody use it any more; it is stopped when nobody does.
    pub(crate) fn retire(&self) {
        self.usage().is_closing = true;
        self.freed.notify_one();
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.usage().is_closing
    }

    /// Whether nobody uses it and it may be stopped now; otherwise how long to wait before asking again.
    pub(crate) fn close_if_unused_for(&self, time: Duration) -> Result<(), Duration> {
        let mut usage = self.usage();
        if usage.users > 0 {
            return Err(time.max(Duration::from_secs(1)));
        }
        let unused = usage.last.elapsed();
        if !usage.is_closing && unused < time {
            return Err(time - unused);
        }
        usage.is_closing = true;
        Ok(())
    }

    /// Since when nobody uses it; none while somebody does.
    pub(crate) fn unused_since(&self) -> Option<Instant> {
        let usage = self.usage();
        (usage.users == 0).then_some(usage.last)
    }

    pub(crate) fn set(&self, phase: Phase) {
        self.phase.send_replace(phase);
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Unavailable(_) | Phase::Stopped) || self.is_retired()
    }

    pub(crate) fn status(&self, agent: &str) -> AgentStatus {
        let (state, error) = match self.phase.borrow().clone() {
            Phase::Starting => (ProcessState::Starting, None),
            Phase::Ready(_) => (ProcessState::Connected, None),
            Phase::Restarting(why) => (ProcessState::Reconnecting, Some(why)),
            Phase::Unavailable(why) => (ProcessState::Disconnected, Some(why)),
            Phase::Stopped => (ProcessState::Disconnected, None),
        };
        let (agent, workspace) = (agent.to_owned(), self.workspace.clone());
        AgentStatus { agent, workspace, state, error, stderr_tail: self.stderr.last(4_000) }
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        let mut usage = self.0.usage();
        usage.users -= 1;
        usage.last = Instant::now();
        drop(usage);
        self.0.freed.notify_one();
    }
}
