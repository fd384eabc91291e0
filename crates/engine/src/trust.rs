//! Which workspaces their owner trusts. Until then nothing that lies in a workspace may start a process
//! or change what may be done without asking. Kept in `trust.json`, replaced atomically.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use ostler_workspace_fs::{ReplaceOptions, replace_file};

/// How many workspaces are remembered.
const LIMIT: usize = 10_000;

/// The workspaces that are trusted.
#[derive(Debug)]
pub(crate) struct Trust {
    path: PathBuf,
    /// `None` when the file is there and cannot be read: then nothing is trusted, and it is not
    /// written over.
    trusted: Mutex<Option<BTreeSet<String>>>,
}

impl Trust {
    /// Reads what was remembered.
    pub(crate) fn load(path: PathBuf) -> Trust {
        let trusted = match std::fs::read(&path) {
            Ok(content) => serde_json::from_slice(&content)
                .inspect_err(|error| tracing::warn!(%error, "trust.json is not readable; nothing is trusted"))
                .ok(),
            Err(error) if error.kind() == ErrorKind::NotFound => Some(BTreeSet::new()),
            Err(error) => {
                tracing::warn!(%error, "trust.json cannot be read; nothing is trusted");
                None
            }
        };
        Trust { path, trusted: Mutex::new(trusted) }
    }

    /// Whether this workspace, by its path, is trusted.
    pub(crate) fn is_trusted(&self, workspace: &str) -> bool {
        self.lock().as_ref().is_some_and(|trusted| trusted.contains(workspace))
    }

    /// The workspaces that are trusted, by name.
    pub(crate) fn list(&self) -> Vec<String> {
        self.lock().iter().flatten().cloned().collect()
    }

    /// Trusts a workspace, or no longer. It holds once it is on disk.
    pub(crate) fn set(&self, workspace: &str, wanted: bool) -> Result<()> {
        let mut trusted = self.lock();
        let Some(known) = &*trusted else {
            return Err(Error::other("trust.json cannot be read; mend or remove it"));
        };
        if known.contains(workspace) == wanted {
            return Ok(());
        }
        let mut next = known.clone();
        if wanted {
            next.insert(workspace.to_owned());
        } else {
            next.remove(workspace);
        }
        if next.len() > LIMIT {
            return Err(Error::other("trust.json is full; remove workspaces that are no longer used"));
        }
        replace_file(&self.path, &serde_json::to_vec_pretty(&next)?, ReplaceOptions::STATE)?;
        *trusted = Some(next);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeSet<String>>> {
        self.trusted.lock().expect("no code panics while it holds the workspaces")
    }
}

#[cfg(test)]
mod tests {
    use super::Trust;

    #[test]
    fn trust_is_kept_taken_back_and_never_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trust.json");
        let trust = Trust::load(path.clone());
        assert!(!trust.is_trusted("/w"));
        trust.set("/w", true).unwrap();
        assert!(Trust::load(path.clone()).is_trusted("/w"));
        assert!(!Trust::load(path.clone()).is_trusted("/w/inner"), "a folder in it is another workspace");
        trust.set("/w", false).unwrap();
        assert!(!Trust::load(path.clone()).is_trusted("/w"));
        std::fs::write(&path, "{").unwrap();
        let broken = Trust::load(path.clone());
        assert!(!broken.is_trusted("/w"));
        assert!(broken.set("/w", true).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"{", "what cannot be read is not written over");
    }
}
