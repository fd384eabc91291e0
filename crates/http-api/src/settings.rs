//! How the daemon is set up, for people to look at. There are no secrets in it: of a key only whether there is one.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use ostler_types::Policy;
use schemars::JsonSchema;
use serde::Serialize;

use super::HttpDoor;

/// What the configuration says that the door itself has no use for.
pub struct Configured {
    /// Where models are found, in the order in which a default is looked for. Asked each time, since a key may come
    /// later.
    pub providers: Box<dyn Fn() -> Vec<ConfiguredProvider> + Send + Sync>,
    /// The configuration file, whether or not there is one.
    pub config_path: Option<PathBuf>,
}

/// A provider of models.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfiguredProvider {
    /// What comes before the `:` in the names of its models.
    pub name: String,
    /// The protocol that it speaks.
    pub kind: String,
    /// Where its endpoints lie; empty where it has none.
    pub base_url: String,
    /// Whether it has a key; some need none.
    pub has_key: bool,
    /// What it lacks, and what to do about that; null when it can be used.
    pub problem: Option<String>,
}

/// How the daemon is set up.
#[derive(Serialize, JsonSchema)]
pub(super) struct SettingsView {
    providers: Vec<ConfiguredProvider>,
    /// The agents that sessions can have, by name; `/v1/agents` says more.
    agents: Vec<String>,
    /// The policy of a session that brings none.
    policy: Policy,
    /// The workspaces whose own settings, checks and servers are used.
    trusted_workspaces: Vec<String>,
    /// Where everything is kept.
    data_dir: String,
    /// Where the configuration is read from; null where there is no place for one.
    config_path: Option<String>,
    /// The daemon's version.
    version: &'static str,
}

pub(super) async fn show(State(door): State<HttpDoor>) -> Json<SettingsView> {
    let configured = door.configured.as_ref();
    let config_path = configured.and_then(|configured| configured.config_path.as_ref());
    Json(SettingsView {
        providers: configured.map(|configured| (configured.providers)()).unwrap_or_default(),
        agents: door.context.engine.agents(),
        policy: door.context.settings.policy.clone(),
        trusted_workspaces: door.context.engine.trusted_workspaces(),
        data_dir: door.context.engine.data_dir().display().to_string(),
        config_path: config_path.map(|path| path.display().to_string()),
        version: env!("CARGO_PKG_VERSION"),
    })
}
