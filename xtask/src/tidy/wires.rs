//! The foreign wires in `crates/doors` are independent: none names another, and none can see the native API. What two
//! of them need is in `door-kit`.

use std::collections::BTreeSet;

use super::TidyFinding;
use super::crates::used;
use super::production::{self, block_end};
use super::tree::RepositoryTree;

const WIRES: &str = "crates/doors/src/";
const ROOT: &str = "crates/doors/src/lib.rs";
/// The crates that must not see the native API, nor the types of its bodies.
const FOREIGN: [&str; 2] = ["crates/doors/Cargo.toml", "crates/door-kit/Cargo.toml"];
const NATIVE: [&str; 2] = ["http-api", "api-types"];

/// A wire names no other one.
pub(super) fn wires_independent(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let files = || production::files(tree).filter_map(|file| Some((file, wire_of(&file.path)?)));
    let wires: BTreeSet<&str> = files().map(|(_, wire)| wire).collect();
    let mut findings = Vec::new();
    for (file, own) in files() {
        let tokens = production::tokens(file);
        let names: Vec<&str> = tokens.iter().map(|(name, _)| name.as_str()).collect();
        for at in named_siblings(&names) {
            if names[at] != own && wires.contains(names[at]) {
                let text = format!("the wire `{own}` names the wire `{}`; share it in `door-kit`", names[at]);
                findings.push(TidyFinding::new(&file.path, tokens[at].1, text));
            }
        }
    }
    findings
}

/// Neither the foreign wires nor what they share depend on the native API, but for tests.
pub(super) fn native_api_unseen(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let manifests = FOREIGN.iter().filter_map(|path| tree.file(path));
    let sees = manifests
        .filter(|file| used(file).is_ok_and(|used| used.iter().any(|name| NATIVE.contains(&name.as_str()))));
    let text = "depends on the native API; move what both need to `door-kit`";
    sees.map(|file| TidyFinding::new(&file.path, 1, text)).collect()
}

/// The wire that a file is part of; none for the root of the crate.
fn wire_of(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(WIRES).filter(|_| path != ROOT)?;
    rest.split('/').next().map(|first| first.strip_suffix(".rs").unwrap_or(first))
}

/// Where tokens name something in the root of the crate. Every `super` is taken to lead there, since no wire has a
/// module with the name of another wire.
fn named_siblings(tokens: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        match &tokens[at..] {
            ["crate" | "super" | "ostler_doors", ":", ":", "{", ..] => {
                found.extend(at + 4..block_end(tokens, at + 3));
            }
            ["crate" | "super" | "ostler_doors", ":", ":", ..] if at + 3 < tokens.len() => found.push(at + 3),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{native_api_unseen, wires_independent};
    use crate::tidy::tree::RepositoryTree;

    #[test]
    fn a_wire_names_no_other() {
        let found = |code: &str| {
            let code = format!("//! x\n{code}\n");
            let files = [
                ("crates/doors/src/lib.rs", "//! x\nuse crate::{gateway, pool};\n"),
                ("crates/doors/src/gateway.rs", "//! x\n"),
                ("crates/doors/src/pool/agent_methods.rs", &code),
            ];
            wires_independent(&RepositoryTree::from_files(&files)).len()
        };
        for code in [
            "use crate::gateway::PATH;",
            "use crate::{gateway::PATH, pool::Call};",
            "use super::super::gateway;",
            "fn f() { crate::gateway::schema(); }",
        ] {
            assert_eq!(found(code), 1, "{code}");
        }
        for code in ["use crate::pool::Call;", "use super::envelope::Call;", "// crate::gateway", ""] {
            assert_eq!(found(code), 0, "{code}");
        }
    }

    #[test]
    fn foreign_wires_do_not_depend_on_the_native_api() {
        let found = |path: &str, section: &str| {
            let manifest =
                format!("[package]\nname = \"x\"\n[{section}]\nostler-http-api.workspace = true\n");
            native_api_unseen(&RepositoryTree::from_files(&[(path, &manifest)])).len()
        };
        assert_eq!(found("crates/doors/Cargo.toml", "dependencies"), 1);
        assert_eq!(found("crates/door-kit/Cargo.toml", "dependencies"), 1);
        assert_eq!(found("crates/doors/Cargo.toml", "dev-dependencies"), 0);
        assert_eq!(found("crates/cli/Cargo.toml", "dependencies"), 0);
    }
}
