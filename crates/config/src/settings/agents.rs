//! The sections `agents.NAME`: agents that others wrote, each a program that is run as a child process.

use std::collections::BTreeMap;

use ostler_agent_acp::AgentPreset;
use serde::{Deserialize, Serialize};

/// Someone else's agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSection {
    /// The agent that is known by this name, whose command and variables are taken where none are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The protocol that it speaks.
    pub kind: AgentKind,
    /// The program and its arguments; the preset's when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Variables that it is given with these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables that it is given as the daemon has them, besides those of the preset.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// What new sessions choose of its settings, such as its `model` and its `mode`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The tool servers of the section `mcp` that it is told of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// Whether its process is confined.
    pub sandbox: AgentConfinement,
    /// Directories and files beside the workspace and its own state that it may change when it is confined; `~/` is the
    /// home directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Places in the home directory, and others that are hidden, that it may read when it is confined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<String>,
    /// Whether it has the network when it is confined. It does where nothing is said, since it has to reach its
    /// provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}

impl AgentSection {
    /// The preset that it is like, if there is one of that name.
    pub fn preset(&self) -> Option<&'static AgentPreset> {
        self.preset.as_deref().and_then(AgentPreset::find)
    }
}

/// The protocols that agents speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// The Agent Client Protocol, on the child's stdin and stdout.
    #[default]
    Acp,
}

/// Whether an agent's process is confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentConfinement {
    /// It writes nothing but the workspace, its own login and state, and what is named; it sees nothing of the home
    /// directory but these and what it is installed in. It has the network unless that is taken away.
    #[default]
    On,
    /// The same, also where only Landlock confines: there it can write the settings of git, agents and editors in the
    /// workspace, which are restored only when it has ended.
    Landlock,
    /// It has the rights of the daemon's user, and so has what a repository makes it run.
    Off,
}
