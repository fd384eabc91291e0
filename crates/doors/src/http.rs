//! The http door: the native API, with events over SSE and NDJSON. `docs/http.md` describes it for
//! the people who write clients; the OpenAPI document is made from the same table as the routes.

mod api;
mod approvals;
mod artifacts;
mod attachments;
mod choices;
mod download;
mod error;
mod events;
mod extract;
mod frames;
mod guard;
mod messages;
mod multipart;
mod openapi;
mod policy;
mod sessions;
mod trust;
mod undo;
mod usage;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use ostler_engine::Engine;
use ostler_types::{Policy, ToolKind, ToolSpec};

use crate::access::Access;
use crate::choices::{ModelChoices, ToolServers};

/// What the http door is made of.
#[derive(Clone)]
pub struct HttpDoor {
    engine: Engine,
    settings: Arc<HttpSettings>,
}

/// What sessions get when a client does not say.
pub struct HttpSettings {
    /// The policy of a session that brings none.
    pub policy: Policy,
    /// Models that take the place of one that cannot answer, where a session names none.
    pub fallback_models: Vec<String>,
    /// Whether sessions keep the traffic with providers.
    pub raw_log: bool,
    /// The models that can be chosen.
    pub models: Arc<dyn ModelChoices>,
    /// The tools that the native agent always has.
    pub tools: Vec<(ToolSpec, ToolKind)>,
    /// Those that it has besides, by workspace.
    pub servers: Arc<dyn ToolServers>,
}

impl HttpDoor {
    /// A door to this engine.
    pub fn new(engine: Engine, settings: HttpSettings) -> HttpDoor {
        HttpDoor { engine, settings: Arc::new(settings) }
    }

    /// The whole door, guarded, for one listener.
    pub fn router(&self, access: Access) -> Router {
        guard::guarded(api::api().into_router(self.clone()), access)
    }
}

/// The OpenAPI document.
pub fn openapi() -> serde_json::Value {
    api::api().into_document()
}

/// Who a request says it comes from, for the log: the door, and the program.
fn by(headers: &HeaderMap) -> String {
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let program: String = agent.split_whitespace().next().unwrap_or_default().chars().take(64).collect();
    if program.is_empty() { "http".to_owned() } else { format!("http {program}") }
}
