//! The http door: the native API, with events over SSE and NDJSON. `docs/http.md` describes it for
//! the people who write clients; the OpenAPI document is made from the same table as the routes.

mod acp;
mod agents;
mod api;
mod approvals;
mod artifacts;
mod attachments;
mod branch;
mod changes;
mod choices;
mod context;
mod create;
mod directories;
mod download;
mod error;
mod events;
mod export;
mod extract;
mod files;
mod frames;
mod guard;
mod import;
mod jsonl;
mod login;
mod messages;
mod multipart;
mod openapi;
mod page;
mod policy;
mod projects;
mod scratch;
mod sessions;
mod settings;
mod trust;
mod undo;
mod upgraded;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{any, get};
use ostler_engine::Engine;
use ostler_types::{Failure, Policy, ToolKind, ToolSpec};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::Access;
use crate::acp::EditorLinks;
use crate::agents::AgentLinks;
use crate::choices::{ChangePreview, ContextGauge, ModelChoices, ToolServers};
use crate::gateway::GatewayDoor;
use crate::ide;
use crate::login::Logins;

pub(crate) use agents::kept_sessions;
pub(crate) use create::{NewSessionBody, check_name, make};
pub(crate) use error::ApiError;
use export::Exports;
pub(crate) use extract::{is_json, read};
use files::FileLists;
pub(crate) use frames::Framing;
pub(crate) use import::records_of;
pub use page::PageFiles;
use scratch::Scratch;
pub use settings::{Configured, ConfiguredProvider};
use upgraded::Upgraded;

/// What the http door is made of.
#[derive(Clone)]
pub struct HttpDoor {
    pub(crate) engine: Engine,
    pub(crate) settings: Arc<HttpSettings>,
    gateway: Option<GatewayDoor>,
    /// The page and who is logged in there, if there is one.
    page: Option<PageFiles>,
    logins: Option<Arc<Logins>>,
    /// The agents of other people, if there are some.
    pub(crate) agents: Option<Arc<dyn AgentLinks>>,
    /// Where sessions have what editors give them, if they have it anywhere.
    pub(crate) editors: Option<Arc<dyn EditorLinks>>,
    exports: Exports,
    /// Lets in one import at a time.
    imports: Arc<Semaphore>,
    scratch: Scratch,
    file_lists: FileLists,
    configured: Option<Arc<Configured>>,
    upgraded: Upgraded,
}

/// What sessions get when a client does not say.
pub struct HttpSettings {
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
    pub gauge: Arc<dyn ContextGauge>,
    /// Tells what calls would change.
    pub previews: Arc<dyn ChangePreview>,
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
        let scratch = Scratch::new(engine.data_dir());
        HttpDoor {
            engine,
            settings: Arc::new(settings),
            gateway: None,
            page: None,
            logins: None,
            agents: None,
            editors: None,
            upgraded: Upgraded::new(),
            exports: Exports::new(),
            imports: Arc::new(Semaphore::new(1)),
            scratch,
            file_lists: FileLists::new(),
            configured: None,
        }
    }

    /// The same door, with the gateway at a path of it.
    #[must_use]
    pub fn with_gateway(self, gateway: GatewayDoor) -> HttpDoor {
        HttpDoor { gateway: Some(gateway), ..self }
    }

    /// The same door, which serves a page and lets in those who are logged in there.
    #[must_use]
    pub fn with_page(self, page: PageFiles, logins: Arc<Logins>) -> HttpDoor {
        HttpDoor { page: Some(page), logins: Some(logins), ..self }
    }

    /// The same door, which tells how the daemon is set up.
    #[must_use]
    pub fn with_configured(self, configured: Configured) -> HttpDoor {
        HttpDoor { configured: Some(Arc::new(configured)), ..self }
    }

    /// The same door, which tells how agents of other people stand.
    #[must_use]
    pub fn with_agents(self, agents: Arc<dyn AgentLinks>) -> HttpDoor {
        HttpDoor { agents: Some(agents), ..self }
    }

    /// The same door, whose editors give sessions what they show and name.
    #[must_use]
    pub fn with_editors(self, editors: Arc<dyn EditorLinks>) -> HttpDoor {
        HttpDoor { editors: Some(editors), ..self }
    }

    /// The whole door, guarded, for one listener.
    pub fn router(&self, access: Access) -> Router {
        let access = access.with_logins(self.logins.clone());
        let lines = Router::new().route("/jsonl", get(jsonl::upgrade)).route("/acp", get(acp::upgrade));
        let lines = lines.with_state(self.clone());
        let mut router = api::api().with(crate::pool::routes()).into_router(self.clone()).merge(lines);
        router = router.merge(Router::new().route(ide::PATH, any(ide::upgrade)).with_state(self.clone()));
        if let Some(gateway) = &self.gateway {
            router = router.merge(gateway.route(access.clone()));
        }
        guard::guarded(router, access, self.page)
    }

    /// Room for a connection that becomes something else than HTTP, if there is some.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.upgraded.places().try_acquire_owned().ok()
    }

    /// Looks after such a connection until its end.
    pub(crate) fn attend(&self, connection: impl Future<Output = ()> + Send + 'static) {
        self.upgraded.spawn(connection);
    }

    /// Returns when no connection is there that became something else than HTTP.
    pub async fn upgraded_left(&self) {
        self.upgraded.left().await;
    }

    /// Returns when the connections have ended that became something else than HTTP. To be called once the
    /// engine has stopped, which ends them.
    pub async fn upgraded_ended(&self) {
        self.upgraded.ended().await;
    }
}

/// What a client of any door is told of an error.
pub(crate) fn failure(error: impl Into<ApiError>) -> Failure {
    error.into().body.error
}

/// The OpenAPI document.
pub fn openapi() -> serde_json::Value {
    api::api().into_document()
}

/// Who a request says it comes from, for the log: the page, or the door and the program. A browser says
/// of which origin a page is, and those of others are turned away before.
pub(crate) fn by(headers: &HeaderMap) -> String {
    if headers.contains_key("origin")
        || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
    {
        return "page".to_owned();
    }
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let program: String = agent.split_whitespace().next().unwrap_or_default().chars().take(64).collect();
    if program.is_empty() { "http".to_owned() } else { format!("http {program}") }
}
