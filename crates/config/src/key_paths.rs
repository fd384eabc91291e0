//! Values by their path: `section.key`, and `providers.NAME.key` for what users name themselves.

/// Every key that a table sets, with its value.
pub(crate) fn leaves(table: &toml::Table) -> Vec<(String, toml::Value)> {
    let mut leaves = Vec::new();
    for (section, value) in table {
        let toml::Value::Table(keys) = value else { continue };
        for (key, value) in keys {
            match value {
                toml::Value::Table(inner) if has_user_names(section) => {
                    leaves.extend(
                        inner.iter().map(|(name, value)| (format!("{section}.{key}.{name}"), value.clone())),
                    );
                }
                value => leaves.push((format!("{section}.{key}"), value.clone())),
            }
        }
    }
    leaves
}

/// Puts a value in its place, and makes the tables above it where they are absent.
pub(crate) fn set(table: &mut toml::Table, path: &str, value: toml::Value) {
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let inner = table.entry(first).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let toml::Value::Table(inner) = inner {
        set(inner, rest, value);
    }
}

/// The value at a path.
pub(crate) fn get<'a>(table: &'a toml::Table, path: &str) -> Option<&'a toml::Value> {
    match path.split_once('.') {
        Some((first, rest)) => get(table.get(first)?.as_table()?, rest),
        None => table.get(path),
    }
}

/// Sections whose tables are named by the user.
fn has_user_names(section: &str) -> bool {
    matches!(section, "providers" | "agents" | "mcp")
}
