//! What a type cannot say: values that are each possible but do not go together, or not here.

use super::explain::ConfigError;
use super::{Auth, Loaded, Provider, Source};

/// The most steps that a turn may be given.
const MOST_STEPS: u32 = 1000;
/// The most rounds of verification that a turn may be given.
const MOST_ROUNDS: u32 = 100;
/// Providers that are built in.
const BUILT_IN: [&str; 2] = ["demo", "replay"];

/// Passes a configuration on if it holds together.
pub(crate) fn check(mut loaded: Loaded) -> Result<Loaded, ConfigError> {
    server(&mut loaded)?;
    within(&loaded, "loop.max_steps", loaded.config.turn_loop.max_steps, 1, MOST_STEPS)?;
    within(&loaded, "verify.max_rounds", loaded.config.verify.max_rounds, 0, MOST_ROUNDS)?;
    if loaded.config.models.default.trim().is_empty() {
        return Err(loaded.error("models.default", "a model is named `provider:model`, such as `demo:demo`"));
    }
    for (name, each) in &loaded.config.providers {
        provider(&loaded, name, each)?;
    }
    for (name, agent) in &loaded.config.agents {
        named(&loaded, &format!("agents.{name}.kind"), name)?;
        if agent.command.is_empty() {
            let key = format!("agents.{name}.command");
            return Err(loaded.error(&key, "the list is empty, expected a program and its arguments"));
        }
    }
    Ok(loaded)
}

impl Loaded {
    /// Where a value came from.
    pub fn source(&self, key: &str) -> &Source {
        self.sources.get(key).unwrap_or(&Source::Default)
    }

    fn error(&self, key: &str, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.source(key).to_string(), Some(key.to_owned()), message)
    }
}

fn server(loaded: &mut Loaded) -> Result<(), ConfigError> {
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

fn within(loaded: &Loaded, key: &str, value: u32, least: u32, most: u32) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(loaded.error(key, format!("this is {value}, expected a number from {least} to {most}")))
}

fn provider(loaded: &Loaded, name: &str, provider: &Provider) -> Result<(), ConfigError> {
    named(loaded, &format!("providers.{name}.kind"), name)?;
    if BUILT_IN.contains(&name) {
        let message = format!("the provider `{name}` is built in; give yours another name");
        return Err(loaded.error(&format!("providers.{name}.kind"), message));
    }
    if let Some(url) = &provider.base_url {
        base_url(url).map_err(|message| loaded.error(&format!("providers.{name}.base_url"), message))?;
    }
    if let Some(variable) = &provider.api_key_env
        && !is_variable(variable)
    {
        // What stands here may be the key itself, so it is not repeated.
        let message =
            "expected the name of an environment variable, such as OPENAI_API_KEY, and not the key itself";
        return Err(loaded.error(&format!("providers.{name}.api_key_env"), message));
    }
    Ok(())
}

/// A name stands before the colon of a model's name, and in messages.
fn named(loaded: &Loaded, key: &str, name: &str) -> Result<(), ConfigError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(plain) {
        return Ok(());
    }
    Err(loaded.error(key, "a name has letters, digits, `-` and `_` only"))
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
