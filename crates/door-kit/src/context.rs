//! What every door works with: the engine, what sessions get where a client does not say, and the room for connections
//! that leave HTTP.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_engine::Engine;
use ostler_runner::ThirdPartyAgents;
use ostler_types::{Policy, ToolKind, ToolSpec};
use tokio::sync::OwnedSemaphorePermit;

use crate::ports::{ChangePreview, ContextMeter, ModelChoices, ToolServers};
use crate::upgraded_connections::UpgradedConnections;

/// What every door works with. Cheap to clone; clones share the room for upgraded connections.
#[derive(Clone)]
pub struct DoorContext {
    /// The engine.
    pub engine: Engine,
    /// What sessions get where a client does not say.
    pub settings: Arc<DoorSettings>,
    upgraded: UpgradedConnections,
}

/// What sessions get when a client does not say.
pub struct DoorSettings {
    /// The policy of a session that brings none.
    pub policy: Policy,
    /// Models that take the place of one that cannot answer, where a session names none.
    pub fallback_models: Vec<String>,
    /// Whether sessions keep the traffic with providers.
    pub raw_log: bool,
    /// Whether sessions keep thinking, times and tokens.
    pub verbose_log: bool,
    /// The directory of sessions that are made at a door where none has to be named.
    pub workspace: PathBuf,
    /// Measures what models are shown.
    pub context_meter: Arc<dyn ContextMeter>,
    /// Tells what calls would change.
    pub previews: Arc<dyn ChangePreview>,
    /// The models that can be chosen.
    pub models: Arc<dyn ModelChoices>,
    /// The tools that the native agent always has.
    pub tools: Vec<(ToolSpec, ToolKind)>,
    /// Those that it has besides, by workspace.
    pub servers: Arc<dyn ToolServers>,
}

impl DoorContext {
    /// The context of doors to this engine.
    pub fn new(engine: Engine, settings: DoorSettings) -> DoorContext {
        DoorContext { engine, settings: Arc::new(settings), upgraded: UpgradedConnections::new() }
    }

    /// The third-party agents.
    pub fn agents(&self) -> &dyn ThirdPartyAgents {
        self.engine.runner().agents()
    }

    /// The third-party agents, if this is one of them.
    pub fn third_party(&self, agent: &str) -> Option<&dyn ThirdPartyAgents> {
        self.agents().named_agents().iter().any(|(known, _)| known == agent).then(|| self.agents())
    }

    /// Room for a connection that leaves HTTP, if there is some.
    pub fn reserve_connection(&self) -> Option<OwnedSemaphorePermit> {
        self.upgraded.places().try_acquire_owned().ok()
    }

    /// Runs such a connection until its end.
    pub fn spawn_connection(&self, connection: impl Future<Output = ()> + Send + 'static) {
        self.upgraded.spawn(connection);
    }

    /// Waits until all upgraded connections have closed.
    pub async fn wait_upgraded_closed(&self) {
        self.upgraded.wait_closed().await;
    }

    /// Waits until all upgraded connections have closed, for a limited time. To be called once the engine has
    /// stopped, which ends them.
    pub async fn close_upgraded(&self) {
        self.upgraded.close().await;
    }
}
