//! How the daemon is set up, for people to look at. There are no secrets in it: of a key only whether there is one.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use ostler_api_types::{ConfiguredProvider, SettingsView};

use super::HttpDoor;

/// What the configuration says that the door itself has no use for.
pub struct ConfigurationInfo {
    /// Where models are found, in the order in which a default is looked for. Asked each time, since a key may come
    /// later.
    pub providers: Box<dyn Fn() -> Vec<ConfiguredProvider> + Send + Sync>,
    /// The configuration file, whether or not there is one.
    pub config_path: Option<PathBuf>,
}

pub(super) async fn show(State(door): State<HttpDoor>) -> Json<SettingsView> {
    let configured = door.configuration.as_ref();
    let config_path = configured.and_then(|configured| configured.config_path.as_ref());
    Json(SettingsView {
        providers: configured.map(|configured| (configured.providers)()).unwrap_or_default(),
        agents: door.context.engine.agents(),
        policy: door.context.settings.policy.clone(),
        trusted_workspaces: door.context.engine.trusted_workspaces(),
        data_dir: door.context.engine.data_dir().display().to_string(),
        config_path: config_path.map(|path| path.display().to_string()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
