//! The rules of sessions are pure: `types` does no IO, reads no clock, makes no id, spawns and awaits nothing.

use super::TidyFinding;
use super::production;
use super::tree::RepositoryTree;

/// Where the rules are.
const RULES: &str = "crates/types/";
/// The modules of `std` that the rules do not know.
const IMPURE_MODULES: [&str; 6] = ["env", "fs", "net", "process", "thread", "time"];

/// The crate of the rules names nothing that acts or that changes by itself.
pub(super) fn rules_are_pure(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in production::files(tree).filter(|file| file.path.starts_with(RULES)) {
        let tokens = production::tokens(file);
        let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
        for at in 0..names.len() {
            if is_impure(&names[at..]) {
                let text = format!(
                    "names `{}`, but the rules are pure: pass in what they need to know",
                    names[at..names.len().min(at + 4)].concat()
                );
                findings.push(TidyFinding::new(&file.path, tokens[at].1, text));
            }
        }
    }
    findings
}

fn is_impure(names: &[&str]) -> bool {
    match names {
        ["std", ":", ":", "{", listed @ ..] => {
            let mut listed = listed.iter().take_while(|name| **name != ";");
            listed.any(|name| IMPURE_MODULES.contains(name))
        }
        ["std", ":", ":", module, ..] => IMPURE_MODULES.contains(module),
        ["tokio" | "async" | "await" | "SystemTime" | "Instant" | "now_v7" | "new_v4", ..]
        | ["Timestamp" | "Zoned", ":", ":", "now", ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::rules_are_pure;
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn what_acts_or_changes_by_itself_is_found() {
        let found =
            |path: &str, code: &str| rules_are_pure(&RepositoryTree::from_files(&[(path, code)])).len();
        for code in [
            "use std::fs;",
            "use std::{fmt, net::IpAddr};",
            "fn f() { std::time::Instant::now(); }",
            "fn f() { Timestamp::now() }",
            "async fn f() {}",
            "fn f() { Uuid::now_v7() }",
        ] {
            assert!(found("crates/types/src/a.rs", code) > 0, "{code}");
            assert_eq!(found("crates/engine/src/a.rs", code), 0, "{code}");
        }
        for code in ["use std::{collections::BTreeMap, fmt};", "fn f(now: Timestamp) {}"] {
            assert_eq!(found("crates/types/src/a.rs", code), 0, "{code}");
        }
        assert_eq!(found("crates/types/src/a.rs", "#[cfg(test)]\nmod tests { use std::fs; }"), 0);
    }
}
