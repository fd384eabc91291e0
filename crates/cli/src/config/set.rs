//! Changes one setting in the text of a configuration file; comments, order and everything else stay as they are. A
//! change is only passed on if the whole file is valid with it.

use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use ostler_config::{ConfigError, ConfigInputs, Environment, FileText, LoadedConfig};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// The text with a setting. The value is read as TOML where that fits the setting, else as a string or, separated by
/// commas, as a list of strings.
pub(crate) fn with_setting(path: &Path, text: &str, key: &str, value: &str) -> anyhow::Result<String> {
    let document = parse(path, text)?;
    let mut refused = None;
    for candidate in candidates(value) {
        let mut changed = document.clone();
        set(&mut changed, key, candidate)?;
        let changed = changed.to_string();
        match validate(path, &changed) {
            Ok(_) => return Ok(changed),
            // The first candidate is what the value looks like, so its error says most.
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.map_or_else(|| anyhow!("`{value}` is not a value"), anyhow::Error::from))
}

/// The text without a setting; none when it has none.
pub(crate) fn without_setting(path: &Path, text: &str, key: &str) -> anyhow::Result<Option<String>> {
    let mut document = parse(path, text)?;
    let (sections, name) = split(key)?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for section in sections {
        let Some(inner) = table.get_mut(section).and_then(Item::as_table_like_mut) else { return Ok(None) };
        table = inner;
    }
    if table.remove(name).is_none() {
        return Ok(None);
    }
    let changed = document.to_string();
    validate(path, &changed)?;
    Ok(Some(changed))
}

/// Reads a text as a daemon would read the file, without the environment.
pub(crate) fn validate(path: &Path, text: &str) -> Result<LoadedConfig, ConfigError> {
    let file = FileText { path: path.to_owned(), text: text.to_owned() };
    ostler_config::load(ConfigInputs {
        file: Some(&file),
        environment: &Environment::from_pairs(&[]),
        flags: &[],
    })
}

fn parse(path: &Path, text: &str) -> anyhow::Result<DocumentMut> {
    // The error of the reader names the line and what was expected.
    validate(path, text).context("the file is not valid as it is; `ostler config edit` opens it")?;
    text.parse().with_context(|| format!("{} is not TOML", path.display()))
}

/// The values that a text may stand for, the most likely one first.
fn candidates(text: &str) -> Vec<Value> {
    let literal = text.parse::<Value>().ok();
    let list: Array = text.split(',').map(str::trim).filter(|element| !element.is_empty()).collect();
    literal.into_iter().chain([Value::from(text), Value::Array(list)]).collect()
}

fn set(document: &mut DocumentMut, key: &str, value: Value) -> anyhow::Result<()> {
    let (sections, name) = split(key)?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for section in sections {
        let inner = table.entry(section).or_insert_with(|| {
            let mut made = Table::new();
            // A table that only holds others needs no line of its own.
            made.set_implicit(true);
            Item::Table(made)
        });
        table = inner.as_table_like_mut().with_context(|| format!("`{section}` is not a section"))?;
    }
    match table.get_mut(name).and_then(Item::as_value_mut) {
        // What stands around the old value, such as a comment behind it, stays.
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => _ = table.insert(name, Item::Value(value)),
    }
    Ok(())
}

fn split(key: &str) -> anyhow::Result<(Vec<&str>, &str)> {
    let mut parts: Vec<&str> = key.split('.').collect();
    ensure!(
        parts.len() > 1 && parts.iter().all(|part| !part.is_empty()),
        "`{key}` is not a setting; `ostler config show` lists all settings"
    );
    let name = parts.pop().unwrap_or_default();
    Ok((parts, name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{with_setting, without_setting};

    const FILE: &str =
        "# Mine.\n[models]\ndefault = \"demo:demo\" # for now\n\n# The port.\n[server]\nauth = \"on\"\n";

    fn set(text: &str, key: &str, value: &str) -> Result<String, String> {
        with_setting(Path::new("config.toml"), text, key, value).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let changed = set(FILE, "models.default", "openai:gpt-5.5").unwrap();
        assert_eq!(changed, FILE.replace("demo:demo", "openai:gpt-5.5"));
        let added = set(FILE, "models.fallback", "a:b, c:d").unwrap();
        assert_eq!(added, FILE.replace("# for now\n", "# for now\nfallback = [\"a:b\", \"c:d\"]\n"));
        let section = set(FILE, "loop.max_steps", "20").unwrap();
        assert_eq!(section, format!("{FILE}\n[loop]\nmax_steps = 20\n"));
        let provider = set("", "providers.local.base_url", "http://127.0.0.1:9/v1");
        assert!(provider.is_err(), "a provider without a kind is not valid");
    }

    #[test]
    fn what_is_not_valid_is_refused_and_says_why() {
        assert!(set(FILE, "loop.max_steps", "many").unwrap_err().contains("loop.max_steps"));
        assert!(set(FILE, "models.defualt", "a:b").unwrap_err().contains("default"), "a near name is named");
        assert!(set(FILE, "server", "x").unwrap_err().contains("is not a setting"));
        assert!(set("nonsense = [", "models.default", "a:b").unwrap_err().contains("not valid as it is"));
    }

    #[test]
    fn a_setting_is_taken_out() {
        let path = Path::new("config.toml");
        let without = without_setting(path, FILE, "models.default").unwrap().unwrap();
        assert!(!without.contains("demo:demo") && without.contains("# The port.\n[server]"), "{without}");
        assert_eq!(without_setting(path, FILE, "loop.max_steps").unwrap(), None);
    }
}
