//! The configuration as a value: built-in defaults, then the text of the file, then the environment, then flags,
//! each stronger than the one before. Every value remembers where it came from.
//!
//! This crate opens no file and reads no environment: `cli` passes both in, and so does an embedder. Nothing of a
//! workspace is merged in: whoever can write to a repository must not choose where keys are sent or which programs
//! run. The few keys that a trusted workspace may set are read elsewhere, with [`parse_unchecked`].

mod check;
mod environment;
mod explain;
mod file;
mod key_paths;
mod keys;
mod settings;
mod show;
mod tool_server;

use std::collections::BTreeMap;
use std::path::PathBuf;

use keys::ConfigValueForm;

pub use check::{check_server, is_base_url};
pub use environment::Environment;
pub use explain::ConfigError;
pub use file::{keys_of, parse_unchecked};
pub use keys::{CONFIG_KEYS, ConfigKey};
pub use settings::{
    AgentConfinement, AgentKind, AgentSection, Auth, Config, Context, GatewaySection, HomeAccess, LogStream,
    LoggingSection, LoopSection, McpSection, ModelFacts, ModelsSection, ProviderProtocol, ProviderSection,
    SandboxMode, SandboxSection, ServerSection, WebSection,
};
pub use show::ConfigEntry;
pub use tool_server::{server_config, with_variables};

/// What the layers are read from.
#[derive(Debug, Clone, Copy)]
pub struct ConfigInputs<'a> {
    /// The file, if there is one.
    pub file: Option<&'a FileText>,
    /// The environment.
    pub environment: &'a Environment,
    /// The flags that set a key.
    pub flags: &'a [ConfigFlag],
}

/// A configuration file that somebody else has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Where it lies, for errors and for [`Config::file`].
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
}

/// A flag that sets a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFlag {
    /// The flag, with its dashes.
    pub name: &'static str,
    /// The key.
    pub key: &'static str,
    /// The value as it was typed.
    pub value: String,
}

/// A configuration that is ready to be used.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    /// The values.
    pub config: Config,
    /// Where each value that is not a default came from, by key.
    pub sources: BTreeMap<String, ConfigSource>,
    /// The file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// What looks wrong and harms nothing.
    pub warnings: Vec<String>,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigSource {
    /// It is built in.
    Default,
    /// The file.
    File {
        /// Where it lies.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag.
    Flag(&'static str),
}

impl std::fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConfigSource::Default => f.write_str("default"),
            ConfigSource::File { path, line } => write!(f, "{}:{line}", path.display()),
            ConfigSource::Variable(name) => write!(f, "${name}"),
            ConfigSource::Flag(name) => f.write_str(name),
        }
    }
}

/// Reads all layers and checks what they come to.
pub fn load(inputs: ConfigInputs<'_>) -> Result<LoadedConfig, ConfigError> {
    let mut layers = ConfigLayers::default();
    if let Some(FileText { path, text }) = inputs.file {
        let layer = file::parse(path, text)?;
        for (key, value) in layer.values {
            let line = layer.lines.get(&key).copied().unwrap_or(1);
            layers.put(&key, value, ConfigSource::File { path: path.clone(), line });
        }
    }
    let path = inputs.file.map(|file| file.path.clone());
    for key in &CONFIG_KEYS {
        let Some(name) = key.variable() else { continue };
        let Some(value) = inputs.environment.get(&name) else { continue };
        let text = value.to_str().ok_or_else(|| ConfigError::new(&name, None, "the value is not UTF-8"))?;
        layers.put(key.path, from_text(key, text, &name)?, ConfigSource::Variable(name));
    }
    for flag in inputs.flags {
        let key =
            CONFIG_KEYS.iter().find(|key| key.path == flag.key).expect("a flag names a key of the table");
        layers.put(key.path, from_text(key, &flag.value, flag.name)?, ConfigSource::Flag(flag.name));
    }
    let loaded = layers.finish(path, warnings(inputs.environment))?;
    check::check(loaded)
}

/// What has been read so far.
#[derive(Debug, Default)]
struct ConfigLayers {
    table: toml::Table,
    sources: BTreeMap<String, ConfigSource>,
}

impl ConfigLayers {
    fn put(&mut self, key: &str, value: toml::Value, source: ConfigSource) {
        key_paths::set(&mut self.table, key, value);
        self.sources.insert(key.to_owned(), source);
    }

    fn finish(self, file: Option<PathBuf>, warnings: Vec<String>) -> Result<LoadedConfig, ConfigError> {
        let config: Config = self.table.try_into().map_err(|error: toml::de::Error| {
            ConfigError::new("configuration", None, explain::explain(error.message()))
        })?;
        let config = Config { file: file.clone(), ..config };
        Ok(LoadedConfig { config, sources: self.sources, file, warnings })
    }
}

/// Reads a value that came as text, and makes sure that the key can have it.
fn from_text(key: &ConfigKey, text: &str, origin: &str) -> Result<toml::Value, ConfigError> {
    let fail = |message: String| ConfigError::new(origin, Some(key.path.to_owned()), message);
    let value = match key.form {
        ConfigValueForm::Text | ConfigValueForm::FileOnly => toml::Value::String(text.to_owned()),
        ConfigValueForm::Number => {
            let number = text.trim().parse::<i64>();
            toml::Value::Integer(number.map_err(|_| fail(format!("`{text}` is not a whole number")))?)
        }
        ConfigValueForm::Decimal => {
            let number = text.trim().parse::<f64>();
            toml::Value::Float(number.map_err(|_| fail(format!("`{text}` is not a number")))?)
        }
        ConfigValueForm::Switch => {
            let switch = text.trim().parse::<bool>();
            toml::Value::Boolean(switch.map_err(|_| fail(format!("`{text}` is neither `true` nor `false`")))?)
        }
        ConfigValueForm::List => {
            let elements = text.split(',').map(str::trim).filter(|element| !element.is_empty());
            toml::Value::Array(elements.map(|element| toml::Value::String(element.to_owned())).collect())
        }
    };
    let mut alone = toml::Table::new();
    key_paths::set(&mut alone, key.path, value.clone());
    match alone.try_into::<Config>() {
        Ok(_) => Ok(value),
        Err(error) => Err(fail(explain::explain(error.message()))),
    }
}

/// Variables that look like ours and mean nothing.
fn warnings(environment: &Environment) -> Vec<String> {
    let known: Vec<String> = CONFIG_KEYS
        .iter()
        .filter_map(ConfigKey::variable)
        .chain(keys::OTHER_VARIABLES.map(str::to_owned))
        .collect();
    let unknown =
        environment.names_with(keys::PREFIX).filter(|name| !known.iter().any(|known| known == name));
    unknown
        .map(|name| {
            // All begin alike, which says nothing about how near they are.
            let own = |name| str::strip_prefix(name, keys::PREFIX).unwrap_or(name);
            let meant = explain::closest(own(name), known.iter().map(|known| own(known)));
            let meant =
                meant.map(|meant| format!("; did you mean {}{meant}?", keys::PREFIX)).unwrap_or_default();
            format!("the environment variable {name} means nothing to ostler{meant}")
        })
        .collect()
}
