//! From a section `mcp.NAME` to what `mcp` is told of the server.

use std::time::Duration;

use ostler_mcp::{ServerConfig, Transport};

use crate::{Environment, McpSection};

/// A server as the configuration describes it.
pub fn server_config(name: &str, server: &McpSection) -> ServerConfig {
    let transport = match &server.url {
        Some(url) => Transport::Http { url: url.clone(), headers: server.headers.clone() },
        None => Transport::Stdio { command: server.command.clone(), env: server.env.clone() },
    };
    let mut config = ServerConfig::new(name, transport);
    config.kind = server.kind.unwrap_or(config.kind);
    config.enabled_tools.clone_from(&server.enabled_tools);
    config.disabled_tools.clone_from(&server.disabled_tools);
    config.timeout = server.timeout_seconds.map_or(config.timeout, Duration::from_secs);
    config
}

/// A section of the owner's configuration with what it wants of the daemon's environment. One of a workspace gets
/// nothing from there.
pub fn with_variables(mut server: McpSection, environment: &Environment) -> McpSection {
    let value = |name: &String| environment.get(name)?.to_str().map(str::to_owned);
    let passed: Vec<(String, String)> =
        server.pass_env.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect();
    server.env.extend(passed);
    if let Some(token) = server.bearer_token_env.as_ref().and_then(value) {
        server.headers.insert("Authorization".to_owned(), format!("Bearer {}", token.trim()));
    }
    server
}
