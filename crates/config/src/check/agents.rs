//! Whether a section `agents.NAME` holds together.

use super::{ConfigError, LoadedConfig, check_name, names_program};
use crate::{AgentConfinement, AgentSection};

/// Names that mean something else wherever an agent is named.
const RESERVED_NAMES: [&str; 2] = ["native", "ostler"];

/// Passes on a section that holds together.
pub(super) fn check(loaded: &LoadedConfig, name: &str, agent: &AgentSection) -> Result<(), ConfigError> {
    let key = |member: &str| format!("agents.{name}.{member}");
    let set = |member: &str| loaded.sources.contains_key(&key(member));
    let first = ["preset", "command", "kind"].into_iter().find(|member| set(member)).unwrap_or("preset");
    check_name(loaded, &key(first), name)?;
    if RESERVED_NAMES.contains(&name) {
        let message = format!("`{name}` is the agent of this daemon; give yours another name");
        return Err(loaded.error(&key(first), message));
    }
    if agent.preset.is_some() && agent.preset().is_none() {
        let message = format!("there is no such preset, expected one of {}", presets());
        return Err(loaded.error(&key("preset"), message));
    }
    if (agent.preset.is_none() || set("command")) && !names_program(&agent.command) {
        let message = "expected a program and its arguments, such as [\"gemini\", \"--acp\"]; the program by its name \
                       or its full path";
        return Err(loaded.error(&key("command"), message));
    }
    for (member, paths) in [("writable", &agent.writable), ("readable", &agent.readable)] {
        if paths.iter().any(|path| !path.starts_with('/') && !path.starts_with("~/")) {
            return Err(loaded.error(&key(member), "expected absolute paths, or such as begin with `~/`"));
        }
    }
    if agent.network.is_some() && agent.sandbox == AgentConfinement::Off {
        let message = "an agent with `sandbox = \"off\"` cannot be kept from the network";
        return Err(loaded.error(&key("network"), message));
    }
    let unknown = agent.mcp_servers.iter().find(|server| !loaded.config.mcp.contains_key(*server));
    if let Some(server) = unknown {
        return Err(loaded.error(&key("mcp_servers"), format!("there is no section `mcp.{server}`")));
    }
    Ok(())
}

/// The names of the presets, for errors.
pub(crate) fn presets() -> String {
    let names = ostler_agent_acp::presets().iter().map(|preset| format!("`{}`", preset.name));
    names.collect::<Vec<_>>().join(", ")
}
