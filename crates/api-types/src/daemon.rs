//! The daemon itself: whether it is there, how it is set up, letting a browser in.

use jiff::Timestamp;
use ostler_types::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A code from the daemon's terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoginBody")]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    /// The code. It is good for one login.
    pub code: String,
}

/// A way in for a browser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginCode {
    /// What to open: the page, with a one-time code behind the `#`.
    pub address: String,
    /// Until when the code can be used.
    pub expires_at: Timestamp,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsView {
    pub providers: Vec<ConfiguredProvider>,
    /// The agents that sessions can have, by name; `/v1/agents` says more.
    pub agents: Vec<String>,
    /// The policy of a session that brings none.
    pub policy: Policy,
    /// The workspaces whose own settings, checks and servers are used.
    pub trusted_workspaces: Vec<String>,
    /// Where everything is kept.
    pub data_dir: String,
    /// Where the configuration is read from; null where there is no place for one.
    pub config_path: Option<String>,
    /// The daemon's version.
    pub version: String,
}

/// The daemon is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Always `ok`.
    pub status: String,
    /// The daemon's version.
    pub version: String,
}
