//! The secrets that a daemon is started with, to be masked in all that is recorded and shown. Keys of providers join
//! them when they are fetched.

use ostler_config::{Config, Environment};
use ostler_types::Secrets;

/// What the environment and the configuration hold: variables that are named like secrets, and what tool servers and
/// agents are given.
pub(crate) fn initial_secrets(config: &Config, environment: &Environment) -> Secrets {
    let secrets = Secrets::default();
    let named = |name: &str| {
        let name = name.to_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"].iter().any(|part| name.contains(part))
    };
    for (name, value) in environment.variables() {
        if let (Some(name), Some(value)) = (name.to_str().filter(|name| named(name)), value.to_str()) {
            secrets.add_named(name, value);
        }
    }
    let servers = config.mcp.values().flat_map(|server| server.env.iter().chain(&server.headers));
    let agents = config.agents.values().flat_map(|agent| &agent.env);
    servers.chain(agents).for_each(|(name, value)| secrets.add_named(name, value));
    let passed =
        config.mcp.values().flat_map(|server| server.pass_env.iter().chain(&server.bearer_token_env));
    for name in passed.chain(config.agents.values().flat_map(|agent| &agent.pass_env)) {
        if let Some(value) = environment.get(name).and_then(|value| value.to_str()) {
            secrets.add_named(name, value);
        }
    }
    secrets
}
