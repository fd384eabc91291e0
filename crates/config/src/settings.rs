//! What can be configured: sections, keys, their types and defaults. Says nothing about where a
//! value comes from.

mod agents;
mod context;
mod gateway;
mod models;
mod providers;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use ostler_types::{ApprovalPolicy, PatchReview, Policy, ToolKind, VerifyPolicy};
use serde::{Deserialize, Serialize};

pub use agents::{AgentConfinement, AgentKind, AgentSection};
pub use context::Context;
pub use gateway::GatewaySection;
pub use models::{ModelFacts, ModelsSection};
pub use providers::{ProviderProtocol, ProviderSection};

/// Everything that can be configured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The daemon's own door.
    pub server: ServerSection,
    /// Which model a session has that names none.
    pub models: ModelsSection,
    /// Where models are found, by name.
    pub providers: BTreeMap<String, ProviderSection>,
    /// Other people's agents, by name.
    pub agents: BTreeMap<String, AgentSection>,
    /// Which calls wait for an answer.
    pub approval: ApprovalPolicy,
    /// What is checked after a turn that changed the workspace.
    pub verify: VerifyPolicy,
    /// Whether a person reviews a turn's diff.
    pub patch_review: PatchReview,
    /// What is written beside each log.
    pub logging: LoggingSection,
    /// The native agent's loop.
    #[serde(rename = "loop")]
    pub turn_loop: LoopSection,
    /// What a model is told of a workspace, and when a conversation is made shorter.
    pub context: Context,
    /// How tools are confined.
    pub sandbox: SandboxSection,
    /// What may be fetched from the web.
    pub web: WebSection,
    /// Servers that offer tools, by name.
    pub mcp: BTreeMap<String, McpSection>,
    /// The gateway door.
    pub gateway: GatewaySection,
    /// The file that all this was read from, if there is one.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

impl Config {
    /// The policy of a session that brings none of its own.
    pub fn policy(&self) -> Policy {
        Policy {
            approval: self.approval.clone(),
            verify: self.verify.clone(),
            patch_review: self.patch_review.clone(),
            model: self.models.policy(),
        }
    }
}

/// The daemon's own door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSection {
    /// Where it listens.
    #[serde(with = "address")]
    pub listen: SocketAddr,
    /// Whether requests need the token.
    pub auth: Auth,
}

impl Default for ServerSection {
    fn default() -> ServerSection {
        ServerSection { listen: loopback(8787), auth: Auth::On }
    }
}

/// Whether requests need the token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// They do.
    #[default]
    On,
    /// They do not. Host and Origin are checked all the same.
    Off,
}

/// What is written beside each log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoggingSection {
    /// Which streams.
    pub streams: Vec<LogStream>,
}

impl Default for LoggingSection {
    fn default() -> LoggingSection {
        LoggingSection { streams: vec![LogStream::Context] }
    }
}

/// A stream beside the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    /// The conversation, for people and for queries.
    Context,
    /// Everything that happened, for people.
    Verbose,
    /// Requests and answers of the providers.
    Raw,
}

/// The native agent's loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopSection {
    /// How many steps a turn may have.
    pub max_steps: u32,
}

impl Default for LoopSection {
    fn default() -> LoopSection {
        LoopSection { max_steps: 10 }
    }
}

/// How tools are confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSection {
    /// Whether they are.
    pub mode: SandboxMode,
    /// Whether they may use the network.
    pub network: bool,
    /// Directories beside the workspace that they may change.
    pub writable: Vec<String>,
    /// What they see of the home directory.
    pub home: HomeAccess,
    /// Places that they may read though these would be hidden.
    pub readable: Vec<String>,
}

/// What confined programs see of the home directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HomeAccess {
    /// Toolchains and the caches of package managers.
    #[default]
    Hidden,
    /// All of it but the usual places of keys and tokens.
    Readable,
}

/// Whether tools are confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// They are.
    #[default]
    On,
    /// They are, by bubblewrap or not at all.
    Bubblewrap,
    /// They are, by Landlock or not at all.
    Landlock,
    /// They are not.
    Off,
}

/// What may be fetched from the web.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSection {
    /// Whether there is a tool for it.
    pub fetch: bool,
}

/// A server that offers tools, by the Model Context Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpSection {
    /// The program and its arguments, for a server that speaks on stdin and stdout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Variables that it is given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables that it is given as the daemon has them, such as its key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// The address, for a server that speaks HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers that it is sent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The variable of the daemon's environment that holds the token that it is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env: Option<String>,
    /// What its tools touch; `exec` for a program and `network` for an address when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The only tools to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_tools: Option<Vec<String>>,
    /// Tools not to use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_tools: Vec<String>,
    /// How long a call may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Addresses as text, with an error that says what one looks like.
mod address {
    use std::net::SocketAddr;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(address: &SocketAddr, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(address)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| {
            let expected = "expected an address and a port, such as 127.0.0.1:8787";
            serde::de::Error::custom(format!("`{text}` is not an address, {expected}"))
        })
    }
}
