//! The gateway door: sessions and chat over an authenticated WebSocket. `docs/protocols/gateway.md` describes it for
//! the people who write clients; the JSON Schema of its frames is made from the types that are sent.
//!
//! It has a port of its own, where any path will do, and a place on the http door. Who may come in is decided by the
//! Host, the Origin and the first frame, which must show the token.

mod admission;
mod dry_run;
mod follower;
mod frames;
mod methods;
mod params;
mod socket;
mod text_cursor;
mod transcript;
mod translate;
mod workspace_agents;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use ostler_door_kit::{ConnectionSlots, ListenerAccess, ModelChoices, Routes};
use ostler_engine::Engine;
use ostler_types::Policy;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use dry_run::{DryRunOutcome, dry_run};

/// Where the gateway is on the listeners that it shares with the other doors.
pub(crate) const PATH: &str = "/gateway";
/// Who asks, in the log.
const CALLER: &str = "gateway";
/// How long sockets have to end when the daemon stops.
const GRACE: Duration = Duration::from_secs(5);

/// The gateway. Cheap to clone.
#[derive(Clone)]
pub struct GatewayDoor {
    state: Arc<GatewayState>,
}

/// What sessions made here get.
pub struct GatewaySettings {
    /// The directory that they work in; its `AGENTS.md` describes the agents.
    pub workspace: PathBuf,
    /// What they may do by themselves.
    pub policy: Policy,
    /// Models that take the place of one that cannot answer.
    pub fallback_models: Vec<String>,
    /// Whether they keep the traffic with providers.
    pub raw_log: bool,
    /// Whether they keep thinking, times and tokens.
    pub verbose_log: bool,
    /// The models that can be chosen.
    pub models: Arc<dyn ModelChoices>,
}

/// How much clients may ask of the gateway.
#[derive(Debug, Clone, Copy)]
pub struct GatewayLimits {
    /// Bytes of one frame that a client sends.
    pub max_frame_bytes: usize,
    /// Sockets at the same time.
    pub max_sockets: usize,
    /// Sockets that have not shown the token yet; beyond that the oldest of them is closed.
    pub max_unauthenticated: usize,
    /// How long a socket may take to show it.
    pub auth_timeout: Duration,
    /// How often a silent client is asked whether it is there.
    pub ping_every: Duration,
}

impl Default for GatewayLimits {
    fn default() -> GatewayLimits {
        GatewayLimits {
            max_frame_bytes: 1 << 20,
            max_sockets: 16_384,
            max_unauthenticated: 64,
            auth_timeout: Duration::from_secs(10),
            ping_every: Duration::from_secs(30),
        }
    }
}

/// What every socket can reach.
struct GatewayState {
    engine: Engine,
    settings: GatewaySettings,
    limits: GatewayLimits,
    started: Instant,
    /// Room for sockets that have shown the token, and for those that have not.
    sockets: Arc<Semaphore>,
    unauthenticated: ConnectionSlots,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl GatewayDoor {
    /// A door to this engine.
    pub fn new(engine: Engine, settings: GatewaySettings, limits: GatewayLimits) -> GatewayDoor {
        let tasks = TaskTracker::new();
        let door = GatewayState {
            engine,
            settings,
            limits,
            started: Instant::now(),
            sockets: Arc::new(Semaphore::new(limits.max_sockets)),
            unauthenticated: ConnectionSlots::new(limits.max_unauthenticated),
            tasks,
            stop: CancellationToken::new(),
        };
        GatewayDoor { state: Arc::new(door) }
    }

    /// The whole door, for a listener of its own.
    pub fn router(&self, access: ListenerAccess) -> Router {
        let door = Arc::clone(&self.state);
        Router::new().fallback(move |request: Request| {
            let (door, access) = (Arc::clone(&door), access.clone());
            async move { admission::handle_on_own_port(door, access, request).await }
        })
    }

    /// The door on a listener that it shares, whose guard has looked at the Host and the Origin.
    pub(crate) fn routes(&self, access: &ListenerAccess) -> Routes {
        let (door, access) = (Arc::clone(&self.state), access.clone());
        let answer = move |request: Request| {
            let (door, access) = (Arc::clone(&door), access.clone());
            async move { admission::handle_on_http_door(door, access, request).await }
        };
        Routes::new(Router::new().route(PATH, axum::routing::any(answer)))
    }

    /// How many sockets there are.
    pub fn sockets(&self) -> usize {
        self.state.limits.max_sockets - self.state.sockets.available_permits()
    }

    /// Tells every client that the daemon stops, and returns when they are gone. Comes after the engine has
    /// stopped, so that they have seen how their runs ended.
    pub async fn close(&self) {
        self.state.stop.cancel();
        self.state.tasks.close();
        if tokio::time::timeout(GRACE, self.state.tasks.wait()).await.is_err() {
            tracing::warn!("some sockets of the gateway did not end in time");
        }
    }
}

/// The JSON Schema of every frame.
pub fn schema() -> serde_json::Value {
    frames::schema()
}
