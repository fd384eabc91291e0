//! Which workspaces their owner trusts. Until then nothing that lies in a workspace may start a process
//! or change what may be done without asking. Kept in the document `trust.json`.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_documents::{Document, DocumentError, Documents};

/// How many workspaces are remembered.
const MAX_TRUSTED: usize = 10_000;

/// The workspaces that are trusted. While the document cannot be read, none is.
pub(crate) struct TrustStore(Document<BTreeSet<String>>);

impl TrustStore {
    /// Reads what was remembered.
    pub(crate) async fn load(documents: &Arc<dyn Documents>) -> TrustStore {
        TrustStore(Document::load(Arc::clone(documents), "trust.json", "nothing is trusted").await)
    }

    /// Whether this workspace, by its path, is trusted.
    pub(crate) fn is_trusted(&self, workspace: &str) -> bool {
        self.0.get().is_some_and(|trusted| trusted.contains(workspace))
    }

    /// The workspaces that are trusted, by name.
    pub(crate) fn list(&self) -> Vec<String> {
        self.0.get().iter().flat_map(|trusted| trusted.iter().cloned()).collect()
    }

    /// Trusts a workspace, or no longer. It holds once it is on disk.
    pub(crate) async fn set(&self, workspace: &str, wanted: bool) -> Result<(), DocumentError> {
        let set = |trusted: &mut BTreeSet<String>| {
            if wanted {
                trusted.insert(workspace.to_owned());
            } else {
                trusted.remove(workspace);
            }
            if trusted.len() > MAX_TRUSTED {
                let message = "trust.json is full; remove workspaces that are no longer used";
                return Err(DocumentError::Storage(message.to_owned()));
            }
            Ok(())
        };
        self.0.change(set).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostler_documents::{Documents, FileDocuments};

    use super::TrustStore;

    #[tokio::test]
    async fn trust_is_kept_taken_back_and_never_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trust.json");
        let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(dir.path()));
        let trust = TrustStore::load(&documents).await;
        assert!(!trust.is_trusted("/w"));
        trust.set("/w", true).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n  \"/w\"\n]");
        let loaded = TrustStore::load(&documents).await;
        assert!(loaded.is_trusted("/w"));
        assert!(!loaded.is_trusted("/w/inner"), "a folder in it is another workspace");
        trust.set("/w", false).await.unwrap();
        assert!(!TrustStore::load(&documents).await.is_trusted("/w"));
        std::fs::write(&path, "{").unwrap();
        let broken = TrustStore::load(&documents).await;
        assert!(!broken.is_trusted("/w"));
        assert!(broken.set("/w", true).await.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"{", "what cannot be read is not written over");
    }
}
