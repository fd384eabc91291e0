//! The rules that the owner accepted when they trusted a workspace. A rule of a workspace holds as long as
//! its settings name it and it is among these: so nobody who can write to the repository widens what runs
//! unasked. Kept in `workspace-rules.json`, replaced atomically.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ostler_types::Rule;
use ostler_workspace_fs::{ReplaceOptions, replace_file};

use super::lock;

/// By workspace.
type Rules = BTreeMap<String, Vec<Rule>>;

/// The rules that were accepted.
pub(super) struct Accepted {
    path: PathBuf,
    /// `None` when the file is there and cannot be read: then none holds, and it is not written over.
    rules: Mutex<Option<Rules>>,
}

impl Accepted {
    /// Reads what was accepted.
    pub(super) fn load(path: PathBuf) -> Accepted {
        let rules = match std::fs::read(&path) {
            Ok(content) => serde_json::from_slice(&content).ok(),
            Err(error) if error.kind() == ErrorKind::NotFound => Some(Rules::new()),
            Err(_) => None,
        };
        if rules.is_none() {
            tracing::warn!("workspace-rules.json cannot be read; no rule of a workspace holds");
        }
        Accepted { path, rules: Mutex::new(rules) }
    }

    /// Those of these rules that were accepted for this workspace.
    pub(super) fn among(&self, workspace: &Path, rules: Vec<Rule>) -> Vec<Rule> {
        let accepted = lock(&self.rules);
        let accepted = accepted.as_ref().and_then(|rules| rules.get(&*workspace.to_string_lossy()));
        rules.into_iter().filter(|rule| accepted.is_some_and(|accepted| accepted.contains(rule))).collect()
    }

    /// Accepts these rules for a workspace, in place of those that were. It holds once it is on disk.
    pub(super) fn set(&self, workspace: &Path, rules: Vec<Rule>) -> Result<()> {
        let mut known = lock(&self.rules);
        let workspace = workspace.to_string_lossy().into_owned();
        let Some(before) = &*known else {
            // Where none can hold, there is none to be taken back.
            let message = "workspace-rules.json cannot be read; mend or remove it";
            return if rules.is_empty() { Ok(()) } else { Err(Error::other(message)) };
        };
        if before.get(&workspace).map_or(&[][..], Vec::as_slice) == rules {
            return Ok(());
        }
        let mut next = before.clone();
        if rules.is_empty() {
            next.remove(&workspace);
        } else {
            next.insert(workspace, rules);
        }
        replace_file(&self.path, &serde_json::to_vec_pretty(&next)?, ReplaceOptions::STATE)?;
        *known = Some(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostler_types::Rule;

    use super::Accepted;

    fn rule(subject: &str) -> Rule {
        let (tool, subject) = ("shell".to_owned(), subject.to_owned());
        Rule { tool, subject, whole: false, workspace: Some("/w".to_owned()), commands: Vec::new() }
    }

    #[test]
    fn only_what_was_accepted_holds_and_only_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workspace-rules.json");
        let accepted = Accepted::load(path.clone());
        accepted.set(Path::new("/w"), vec![rule("make")]).unwrap();
        let accepted = Accepted::load(path.clone());
        let both = || vec![rule("make"), rule("make deploy")];
        assert_eq!(accepted.among(Path::new("/w"), both()), [rule("make")]);
        assert!(accepted.among(Path::new("/w"), vec![rule("make deploy")]).is_empty());
        assert!(accepted.among(Path::new("/v"), both()).is_empty());
        accepted.set(Path::new("/w"), Vec::new()).unwrap();
        assert!(Accepted::load(path.clone()).among(Path::new("/w"), both()).is_empty());
        std::fs::write(&path, "{").unwrap();
        let broken = Accepted::load(path.clone());
        assert!(broken.among(Path::new("/w"), both()).is_empty());
        assert!(broken.set(Path::new("/w"), both()).is_err());
        broken.set(Path::new("/w"), Vec::new()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"{", "what cannot be read is not written over");
    }
}
