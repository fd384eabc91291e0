//! What a type cannot say: values that are each possible but do not go together, or not here.

mod agents;

use super::explain::ConfigError;
use super::{Auth, ConfigSource, LoadedConfig, McpSection, ProviderProtocol, ProviderSection};
use crate::tool_server::server_config;

pub(super) use agents::presets as agent_presets;

/// The most steps that a turn may be given.
const MAX_STEPS: u32 = 1000;
/// The most tokens that a workspace may take of a conversation.
const MAX_WORKSPACE_TOKENS: u32 = 200_000;
/// The most rounds of verification that a turn may be given.
const MAX_ROUNDS: u32 = 100;

/// Passes a configuration on if it holds together.
pub(crate) fn check(mut loaded: LoadedConfig) -> Result<LoadedConfig, ConfigError> {
    server(&mut loaded)?;
    check_range(&loaded, "loop.max_steps", loaded.config.turn_loop.max_steps, 1, MAX_STEPS)?;
    check_range(
        &loaded,
        "context.bundle_tokens",
        loaded.config.context.bundle_tokens,
        0,
        MAX_WORKSPACE_TOKENS,
    )?;
    check_range(&loaded, "context.compact_at_percent", loaded.config.context.compact_at_percent, 20, 95)?;
    check_range(&loaded, "verify.max_rounds", loaded.config.verify.max_rounds, 0, MAX_ROUNDS)?;
    gateway(&mut loaded)?;
    models(&loaded)?;
    for (name, each) in &loaded.config.providers {
        provider(&loaded, name, each)?;
    }
    for (name, server) in &loaded.config.mcp {
        check_server(name, server)
            .map_err(|(member, why)| loaded.error(&format!("mcp.{name}.{member}"), why))?;
    }
    for rule in &loaded.config.approval.rules {
        for pattern in &rule.commands {
            pattern.check().map_err(|why| loaded.error("approval.rules", why))?;
        }
    }
    for (name, each) in &loaded.config.agents {
        agents::check(&loaded, name, each)?;
    }
    Ok(loaded)
}

/// Says what is wrong with a server, and with which of its keys.
pub fn check_server(name: &str, server: &McpSection) -> Result<(), (&'static str, String)> {
    if !is_name(name) {
        return Err(("command", NAME_RULE.to_owned()));
    }
    let member = if server.url.is_some() { "url" } else { "command" };
    if server.url.is_some() && !server.command.is_empty() {
        return Err((member, "a server has a `command` or a `url`, not both".to_owned()));
    }
    let variables = server.pass_env.iter().map(|name| ("pass_env", name));
    let mut variables =
        variables.chain(server.bearer_token_env.iter().map(|name| ("bearer_token_env", name)));
    // What stands there may be the secret itself, so it is not repeated.
    if let Some((member, _)) = variables.find(|(_, name)| !is_any_variable(name)) {
        return Err((member, "expected the name of an environment variable, and not its value".to_owned()));
    }
    if server.bearer_token_env.is_some() && server.url.is_none() {
        return Err(("bearer_token_env", "only a server with a `url` is sent a token".to_owned()));
    }
    server_config(name, server).check().map_err(|why| (member, why))
}

/// Whether an environment can have a variable of that name.
fn is_any_variable(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl LoadedConfig {
    /// Where a value came from.
    pub fn source(&self, key: &str) -> &ConfigSource {
        self.sources.get(key).unwrap_or(&ConfigSource::Default)
    }

    fn error(&self, key: &str, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.source(key).to_string(), Some(key.to_owned()), message)
    }
}

fn server(loaded: &mut LoadedConfig) -> Result<(), ConfigError> {
    let listen = loaded.config.server.listen;
    if listen.ip().is_loopback() {
        return Ok(());
    }
    match loaded.config.server.auth {
        Auth::Off => {
            let from = loaded.source("server.listen");
            let message = format!(
                "`off` is for loopback addresses, and the daemon is to listen on {listen} ({from}); \
                 turn it `on`, or listen on 127.0.0.1"
            );
            Err(loaded.error("server.auth", message))
        }
        Auth::On => {
            loaded.warnings.push(format!(
                "the daemon listens on {listen} without encryption: whoever can see that network can read the token"
            ));
            Ok(())
        }
    }
}

fn gateway(loaded: &mut LoadedConfig) -> Result<(), ConfigError> {
    for (key, value, least, most) in loaded.config.gateway.ranges() {
        check_range(loaded, key, value, least, most)?;
    }
    let gateway = &loaded.config.gateway;
    if gateway.workspace.as_ref().is_some_and(|workspace| !workspace.starts_with('/')) {
        return Err(loaded.error("gateway.workspace", "expected an absolute path"));
    }
    let listen = gateway.listen;
    if !gateway.enabled || listen.ip().is_loopback() {
        return Ok(());
    }
    match loaded.config.server.auth {
        Auth::Off => {
            let message = "without a token (`server.auth`) the gateway listens on loopback addresses only";
            Err(loaded.error("gateway.listen", message))
        }
        Auth::On => {
            loaded.warnings.push(format!(
                "the gateway listens on {listen} without encryption: whoever can see that network can read the token"
            ));
            Ok(())
        }
    }
}

fn check_range(
    loaded: &LoadedConfig,
    key: &str,
    value: u32,
    least: u32,
    most: u32,
) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(loaded.error(key, format!("this is {value}, expected a number from {least} to {most}")))
}

fn models(loaded: &LoadedConfig) -> Result<(), ConfigError> {
    let models = &loaded.config.models;
    let priced = |price: f64| price.is_finite() && price >= 0.0;
    for (key, price) in [
        ("models.max_input_price", models.max_input_price),
        ("models.max_output_price", models.max_output_price),
    ] {
        if price.is_some_and(|price| !priced(price)) {
            return Err(loaded.error(key, "expected a number of US dollars that is not negative"));
        }
    }
    for (name, facts) in &models.info {
        let fail = |message: &str| Err(loaded.error("models.info", format!("`{name}`: {message}")));
        if !name.split_once(':').is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty()) {
            return fail("expected the full name of a model, such as `ollama:qwen3`");
        }
        if facts.context_window == Some(0) || facts.max_output_tokens == Some(0) {
            return fail("a number of tokens is at least 1");
        }
        let prices = facts.prices.iter();
        let mut prices = prices.flat_map(|prices| {
            [Some(prices.input), Some(prices.output), prices.cached, prices.cache_write].into_iter().flatten()
        });
        if !prices.all(priced) {
            return fail("a price is a number of US dollars that is not negative");
        }
    }
    Ok(())
}

fn provider(loaded: &LoadedConfig, name: &str, provider: &ProviderSection) -> Result<(), ConfigError> {
    let key = |member: &str| format!("providers.{name}.{member}");
    check_name(loaded, &key("kind"), name)?;
    let kind = provider.kind(name);
    // `replay` is the word for what answers from recordings, and may be its name.
    if name == "demo" || (name == "replay" && kind != Some(ProviderProtocol::Replay)) {
        let message = format!("the provider `{name}` is built in; give yours another name");
        return Err(loaded.error(&key("kind"), message));
    }
    if provider.preset.is_some() && provider.preset(name).is_none() {
        let message = format!("there is no such preset, expected one of {}", presets());
        return Err(loaded.error(&key("preset"), message));
    }
    if let Some(url) = &provider.base_url {
        base_url(url).map_err(|message| loaded.error(&key("base_url"), message))?;
    }
    match (kind, &provider.file) {
        (Some(ProviderProtocol::Replay), None) => {
            return Err(
                loaded.error(&key("kind"), "a replay needs the key `file`, a `raw.jsonl` to answer from")
            );
        }
        (Some(ProviderProtocol::Replay), Some(_)) | (_, None) => {}
        (_, Some(_)) => return Err(loaded.error(&key("file"), "only a provider of kind `replay` has a file")),
    }
    key_source(loaded, name, provider)
}

/// What stands where a key is named may be the key itself, so it is never repeated.
fn key_source(loaded: &LoadedConfig, name: &str, provider: &ProviderSection) -> Result<(), ConfigError> {
    let key = |member: &str| format!("providers.{name}.{member}");
    if let [_, second, ..] = provider.key_sources()[..] {
        return Err(loaded.error(
            &key(second),
            "only one of `api_key_env`, `api_key_file`, `api_key_command` can be given",
        ));
    }
    if provider.api_key_env.as_deref().is_some_and(|variable| !is_variable(variable)) {
        let message =
            "expected the name of an environment variable, such as OPENAI_API_KEY, and not the key itself";
        return Err(loaded.error(&key("api_key_env"), message));
    }
    if provider.api_key_file.as_deref().is_some_and(|file| !file.starts_with('/') && !file.starts_with("~/"))
    {
        let message = "expected the path of a file that begins with `/` or `~/`, and not the key itself";
        return Err(loaded.error(&key("api_key_file"), message));
    }
    if provider.api_key_command.as_ref().is_some_and(|command| !names_program(command)) {
        let message = "expected a program and its arguments, such as [\"pass\", \"show\", \"openai\"]; \
                       the program by its name or its full path";
        return Err(loaded.error(&key("api_key_command"), message));
    }
    Ok(())
}

/// Whether a command begins with a program by its name or its full path. One that is found from wherever the
/// daemon was started may be a repository's.
fn names_program(command: &[String]) -> bool {
    let program = command.first().map(String::as_str).unwrap_or_default();
    !program.is_empty() && (!program.contains('/') || program.starts_with('/'))
}

/// The names of the presets, for errors.
pub(super) fn presets() -> String {
    ostler_models::PRESETS.map(|preset| format!("`{}`", preset.name)).join(", ")
}

/// A name stands before the colon of a model's name, and in messages.
fn check_name(loaded: &LoadedConfig, key: &str, name: &str) -> Result<(), ConfigError> {
    if is_name(name) { Ok(()) } else { Err(loaded.error(key, NAME_RULE)) }
}

/// What is told of a name that cannot be one.
const NAME_RULE: &str = "a name has letters, digits, `-` and `_` only";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Whether a provider can lie there.
pub fn is_base_url(url: &str) -> bool {
    base_url(url).is_ok()
}

fn base_url(url: &str) -> Result<(), &'static str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if authority.is_empty() {
        return Err("expected a URL that begins with http:// or https://, such as http://127.0.0.1:11434/v1");
    }
    if authority.contains('@') {
        return Err("a URL must not hold a user or password; name a variable with `api_key_env` instead");
    }
    Ok(())
}

fn is_variable(name: &str) -> bool {
    let word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}
