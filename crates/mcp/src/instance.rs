//! One server in one workspace: how it is, who uses it, and waiting until it is there. What makes it go
//! and stop is in `attend`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, RoleClient};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::Transport;
use crate::connect::Configured;
use crate::handler::Progress;
use crate::listing::Listing;
use crate::status::{ServerState, ServerStatus};
use crate::text::clean;
use ostler_process::Tail;

/// A server in a workspace, from its first start until it is not needed any more.
pub(crate) struct Instance {
    pub(crate) server: Arc<Configured>,
    pub(crate) workspace: PathBuf,
    pub(crate) stderr: Tail,
    /// Ends it.
    pub(crate) stop: CancellationToken,
    /// When it was first started.
    pub(crate) started: Instant,
    usage: Mutex<Usage>,
    state: watch::Sender<Snapshot>,
}

/// What is known of it at a moment.
#[derive(Clone)]
struct Snapshot {
    phase: Phase,
    listing: Listing,
    error: Option<String>,
}

/// How far it is.
#[derive(Clone)]
enum Phase {
    Starting,
    Ready(Live),
    Restarting,
    /// Since when.
    Unavailable(Instant),
    Stopped,
}

/// A server that can be called.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) progress: Progress,
}

/// Who uses it.
struct Usage {
    last: Instant,
    calls: usize,
    /// Set when it is going to be stopped; nobody begins to use it then.
    is_closing: bool,
}

/// A call that keeps its server from being stopped.
pub(crate) struct Use(Arc<Instance>);

/// Why a server cannot be called.
pub(crate) enum NotReady {
    /// It was stopped in the meantime; another one can be started.
    Stopped,
    /// It does not work, for this reason.
    Unavailable(String),
}

impl Instance {
    pub(crate) fn new(server: Arc<Configured>, workspace: PathBuf, stop: CancellationToken) -> Instance {
        let started = Instant::now();
        let usage = Mutex::new(Usage { last: started, calls: 0, is_closing: false });
        let first = Snapshot { phase: Phase::Starting, listing: Listing::default(), error: None };
        let (state, stderr) = (watch::Sender::new(first), Tail::default());
        Instance { server, workspace, stderr, stop, started, usage, state }
    }

    /// Notes that somebody may want it soon.
    pub(crate) fn touch(&self) {
        self.usage().last = Instant::now();
    }

    /// Keeps it from being stopped. None if it is about to be.
    pub(crate) fn begin(self: &Arc<Instance>) -> Option<Use> {
        let mut usage = self.usage();
        if usage.is_closing {
            return None;
        }
        usage.last = Instant::now();
        usage.calls += 1;
        drop(usage);
        Some(Use(Arc::clone(self)))
    }

    /// Lets nobody use it any more, if nobody has for this long. Otherwise says how long to wait.
    pub(crate) fn close_if_unused_for(&self, time: Duration) -> Result<(), Duration> {
        let mut usage = self.usage();
        let unused = usage.last.elapsed();
        if usage.calls > 0 {
            return Err(time.max(Duration::from_millis(100)));
        }
        if unused < time {
            return Err(time - unused);
        }
        usage.is_closing = true;
        Ok(())
    }

    /// Lets nobody use it any more, and ends it; whoever calls it at the moment is told so.
    pub(crate) fn close(&self) {
        self.usage().is_closing = true;
        self.stop.cancel();
    }

    /// Waits until it is over, and its process gone.
    pub(crate) async fn over(&self) {
        let mut state = self.state.subscribe();
        let over = |snapshot: &Snapshot| matches!(snapshot.phase, Phase::Stopped | Phase::Unavailable(_));
        // What attends to it holds it, so the state cannot go away first.
        let _ = state.wait_for(over).await;
    }

    /// When it was last used; none while it is.
    pub(crate) fn last_used(&self) -> Option<Instant> {
        let usage = self.usage();
        (usage.calls == 0 && !usage.is_closing).then_some(usage.last)
    }

    /// Whether it takes one of the places for processes.
    pub(crate) fn has_place(&self) -> bool {
        matches!(self.server.config.transport, Transport::Stdio { .. })
            && matches!(self.state.borrow().phase, Phase::Starting | Phase::Ready(_) | Phase::Restarting)
    }

    /// Whether another one is to take its place when it is next needed. One that does not work is left
    /// alone for a while.
    pub(crate) fn is_over(&self, rest: Duration) -> bool {
        match self.state.borrow().phase {
            Phase::Starting | Phase::Ready(_) | Phase::Restarting => self.usage().is_closing,
            Phase::Unavailable(since) => since.elapsed() >= rest,
            Phase::Stopped => true,
        }
    }

    /// Waits until it has been started or has failed, but not beyond that moment.
    pub(crate) async fn settled_by(&self, deadline: Instant) {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|snapshot| !matches!(snapshot.phase, Phase::Starting));
        // One that takes longer goes on by itself.
        let _ = tokio::time::timeout_at(deadline, settled).await;
    }

    /// Waits until it can be called.
    pub(crate) async fn ready(&self, patience: Duration) -> Result<Live, NotReady> {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|snapshot| match &snapshot.phase {
            Phase::Starting | Phase::Restarting => false,
            // One whose connection has just ended is about to be started again.
            Phase::Ready(live) => !live.peer.is_transport_closed(),
            Phase::Unavailable(_) | Phase::Stopped => true,
        });
        let snapshot = match tokio::time::timeout(patience, settled).await {
            Ok(Ok(snapshot)) => snapshot.clone(),
            Ok(Err(_)) | Err(_) => self.state.borrow().clone(),
        };
        match snapshot.phase {
            Phase::Ready(live) => Ok(live),
            Phase::Stopped => Err(NotReady::Stopped),
            Phase::Unavailable(_) => Err(NotReady::Unavailable(snapshot.error.unwrap_or_default())),
            Phase::Starting | Phase::Restarting => {
                let why = snapshot.error.map_or_else(String::new, |error| format!(" Before, {error}."));
                Err(NotReady::Unavailable(format!(
                    "it is still being started after {} s.{why}",
                    patience.as_secs()
                )))
            }
        }
    }

    /// The tools to offer. Those of a server that is being started again stay, so that the list does not
    /// change twice for every hiccup.
    pub(crate) fn listing(&self) -> Listing {
        let snapshot = self.state.borrow();
        match snapshot.phase {
            Phase::Starting | Phase::Ready(_) | Phase::Restarting => snapshot.listing.clone(),
            Phase::Unavailable(_) | Phase::Stopped => Listing::default(),
        }
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let snapshot = self.state.borrow().clone();
        let listing = self.listing();
        let (state, live) = match snapshot.phase {
            Phase::Starting => (ServerState::Starting, None),
            Phase::Ready(live) => (ServerState::Ready, Some(live)),
            Phase::Restarting => (ServerState::Restarting, None),
            Phase::Unavailable(_) => (ServerState::Unavailable, None),
            Phase::Stopped => (ServerState::Stopped, None),
        };
        ServerStatus {
            name: self.server.config.name.clone(),
            workspace: Some(self.workspace.clone()),
            state,
            protocol: live.and_then(|live| Some(live.peer.peer_info()?.protocol_version.to_string())),
            tools: listing.tools.iter().map(|tool| tool.spec.name.clone()).collect(),
            left_out: listing.left_out,
            error: snapshot.error,
            stderr_tail: self.server.config.redact(&clean(&self.stderr.text())),
        }
    }

    pub(crate) fn set_ready(&self, live: Live, listing: Listing) {
        // The time that it took to start is not time in which nobody used it.
        self.touch();
        self.state.send_modify(|snapshot| {
            *snapshot = Snapshot { phase: Phase::Ready(live), listing, error: None };
        });
    }

    pub(crate) fn set_listing(&self, listing: Listing) {
        self.state.send_modify(|snapshot| snapshot.listing = listing);
    }

    pub(crate) fn set_restarting(&self, why: &str) {
        self.fail(Phase::Restarting, why);
    }

    pub(crate) fn set_unavailable(&self, why: &str) {
        self.fail(Phase::Unavailable(Instant::now()), why);
    }

    pub(crate) fn set_stopped(&self) {
        self.usage().is_closing = true;
        self.state.send_modify(|snapshot| snapshot.phase = Phase::Stopped);
    }

    fn fail(&self, phase: Phase, why: &str) {
        let error = Some(self.server.config.redact(why));
        self.state.send_modify(|snapshot| {
            let listing = std::mem::take(&mut snapshot.listing);
            *snapshot = Snapshot { phase, listing, error };
        });
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut usage = self.0.usage();
        usage.calls -= 1;
        usage.last = Instant::now();
    }
}
