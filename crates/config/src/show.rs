//! The configuration as `ostler config show` prints it: key, value, source, and what a reader should
//! know about it. Secrets have no way in: of a key only where it comes from is known here, of the command
//! that prints it only the program is shown, and of an agent's variables only the names.

use serde::Serialize;

use super::{CONFIG_KEYS, Environment, LoadedConfig, key_paths};

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigEntry {
    /// The key.
    pub key: String,
    /// The value; none when it is not set.
    pub value: Option<toml::Value>,
    /// Where it came from.
    pub source: String,
    /// Whether this build acts on it.
    pub works: bool,
    /// Whether the variable that the value names is set where this is asked, where it names one. The
    /// daemon may have been started elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable_set: Option<bool>,
}

impl LoadedConfig {
    /// Every key with its value, the fixed ones first.
    pub fn entries(&self, environment: &Environment) -> Vec<ConfigEntry> {
        let table =
            toml::Table::try_from(&self.config).expect("a configuration that was read can be written");
        let fixed = CONFIG_KEYS.iter().map(|key| ConfigEntry {
            key: key.path.to_owned(),
            value: key_paths::get(&table, key.path).cloned(),
            source: self.source(key.path).to_string(),
            works: key.is_supported,
            variable_set: None,
        });
        let named = key_paths::leaves(&table).into_iter().filter(|(key, _)| key.matches('.').count() == 2);
        fixed.chain(named.map(|(key, value)| self.named_entry(key, value, environment))).collect()
    }

    /// The table as text.
    pub fn table(&self, environment: &Environment) -> String {
        let mut rows = vec![["KEY", "VALUE", "SOURCE"].map(str::to_owned)];
        rows.extend(self.entries(environment).into_iter().map(ConfigEntry::row));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (first, second) = (width(0), width(1).min(VALUE_WIDTH));
        let mut text = String::new();
        for [key, value, source] in rows {
            text.push_str(format!("{key:<first$}  {value:<second$}  {source}").trim_end());
            text.push('\n');
        }
        text
    }

    fn named_entry(&self, key: String, value: toml::Value, environment: &Environment) -> ConfigEntry {
        let (section, rest) = key.split_once('.').unwrap_or((&key, ""));
        let (name, member) = rest.split_once('.').unwrap_or((rest, ""));
        let works = match section {
            "providers" => self.config.providers.contains_key(name),
            "agents" | "mcp" => true,
            _ => false,
        };
        let variable = value.as_str().filter(|_| member == "api_key_env");
        let variable_set = variable.map(|variable| environment.get(variable).is_some());
        let value = match value {
            toml::Value::Table(choices) if section == "agents" && member == "settings" => choices.into(),
            toml::Value::Table(variables) => variables.keys().cloned().collect::<Vec<String>>().into(),
            // People put secrets in arguments.
            toml::Value::Array(command)
                if (member == "api_key_command"
                    || matches!(section, "agents" | "mcp") && member == "command")
                    && command.len() > 1 =>
            {
                vec![command[0].clone(), toml::Value::from("…")].into()
            }
            shown => shown,
        };
        ConfigEntry { source: self.source(&key).to_string(), value: Some(value), works, variable_set, key }
    }
}

/// Values longer than this push their source to the right instead of everybody's.
const VALUE_WIDTH: usize = 44;

impl ConfigEntry {
    fn row(self) -> [String; 3] {
        let mut source = self.source;
        match self.variable_set {
            Some(true) => source.push_str(" (set in this shell)"),
            Some(false) => source.push_str(" (not set in this shell)"),
            None => {}
        }
        if !self.works {
            source.push_str(" (no effect yet)");
        }
        [self.key, self.value.map_or("(not set)".to_owned(), |value| value.to_string()), source]
    }
}
