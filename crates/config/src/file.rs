//! Reads the text of a configuration file: its values, and the line on which each stands. Finding and opening the
//! file is left to `cli`.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::explain::{ConfigError, explain};
use super::settings::Config;
use super::{check, key_paths};

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct FileLayer {
    /// Each key that it sets, with its value.
    pub(crate) values: Vec<(String, toml::Value)>,
    /// The line of each key, from 1.
    pub(crate) lines: BTreeMap<String, usize>,
}

/// Reads the text of a file.
pub(crate) fn parse(path: &Path, text: &str) -> Result<FileLayer, ConfigError> {
    let spans = DeTable::parse(text).map_err(|error| explained(path, text, None, &error))?;
    let spans = spans.get_ref();
    let config =
        toml::from_str::<Config>(text).map_err(|error| explained(path, text, Some(spans), &error))?;
    let table: toml::Table =
        toml::from_str(text).map_err(|error| explained(path, text, Some(spans), &error))?;
    let mut lines = BTreeMap::new();
    each_key(spans, &mut Vec::new(), &mut |keys, span, _| {
        lines.insert(keys.join("."), line_of(text, span.start));
    });
    // Checked here, since a section without any key leaves nothing behind that could be checked later.
    for (name, provider) in &config.providers {
        if provider.kind(name).is_none() && provider.preset.is_none() {
            let (key, presets) = (format!("providers.{name}"), check::presets());
            let origin = format!("{}:{}", path.display(), lines.get(&key).copied().unwrap_or(1));
            let message = format!("this section needs the key `kind`, or `preset` with one of {presets}");
            return Err(ConfigError::new(origin, Some(key), message));
        }
    }
    for (name, agent) in &config.agents {
        if agent.preset.is_none() && agent.command.is_empty() {
            let (key, presets) = (format!("agents.{name}"), check::agent_presets());
            let origin = format!("{}:{}", path.display(), lines.get(&key).copied().unwrap_or(1));
            let message = format!("this section needs the key `command`, or `preset` with one of {presets}");
            return Err(ConfigError::new(origin, Some(key), message));
        }
    }
    Ok(FileLayer { values: key_paths::leaves(&table), lines })
}

/// Every key that a text names, those of tables included, each with its line.
pub fn keys_of(path: &Path, text: &str) -> Result<Vec<(String, usize)>, ConfigError> {
    let spans = DeTable::parse(text).map_err(|error| explained(path, text, None, &error))?;
    let mut keys = Vec::new();
    each_key(spans.get_ref(), &mut Vec::new(), &mut |key, span, _| {
        keys.push((key.join("."), line_of(text, span.start)));
    });
    Ok(keys)
}

/// The values of a text, alone and unchecked.
pub fn parse_unchecked(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let spans = DeTable::parse(text).map_err(|error| explained(path, text, None, &error))?;
    toml::from_str(text).map_err(|error| explained(path, text, Some(spans.get_ref()), &error))
}

fn explained(path: &Path, text: &str, spans: Option<&DeTable<'_>>, error: &toml::de::Error) -> ConfigError {
    let offset = error.span().map_or(0, |span| span.start);
    let key = spans.and_then(|spans| key_at(spans, offset));
    ConfigError::new(format!("{}:{}", path.display(), line_of(text, offset)), key, explain(error.message()))
}

/// The key whose name or value covers that place: the innermost one.
fn key_at(table: &DeTable<'_>, offset: usize) -> Option<String> {
    let mut found: Option<Vec<String>> = None;
    each_key(table, &mut Vec::new(), &mut |keys, name, value| {
        let covers = (name.start..=name.end).contains(&offset) || value.contains(&offset);
        if covers && found.as_ref().is_none_or(|earlier| earlier.len() <= keys.len()) {
            found = Some(keys.to_vec());
        }
    });
    found.map(|keys| keys.join("."))
}

type TextSpan = std::ops::Range<usize>;

/// Calls back with every key, the place of its name and the place of its value.
fn each_key(
    table: &DeTable<'_>,
    above: &mut Vec<String>,
    visit: &mut impl FnMut(&[String], TextSpan, TextSpan),
) {
    for (name, value) in table {
        above.push(name.get_ref().to_string());
        visit(above, name.span(), value.span());
        if let DeValue::Table(inner) = value.get_ref() {
            each_key(inner, above, visit);
        }
        above.pop();
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
