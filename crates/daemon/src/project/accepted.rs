//! The rules that the owner accepted when they trusted a workspace. A rule of a workspace holds as long as
//! its settings name it and it is among these: so nobody who can write to the repository widens what runs
//! unasked. Kept in the document `workspace-rules.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ostler_documents::{Document, DocumentError, Documents};
use ostler_types::Rule;

/// By workspace.
type Rules = BTreeMap<String, Vec<Rule>>;

/// The rules that were accepted. While the document cannot be read, none holds.
pub(super) struct Accepted(Document<Rules>);

impl Accepted {
    /// Reads what was accepted.
    pub(super) async fn load(documents: Arc<dyn Documents>) -> Accepted {
        Accepted(Document::load(documents, "workspace-rules.json", "no rule of a workspace holds").await)
    }

    /// Those of these rules that were accepted for this workspace.
    pub(super) fn among(&self, workspace: &Path, rules: Vec<Rule>) -> Vec<Rule> {
        let accepted = self.0.get();
        let accepted = accepted.as_ref().and_then(|rules| rules.get(&*workspace.to_string_lossy()));
        rules.into_iter().filter(|rule| accepted.is_some_and(|accepted| accepted.contains(rule))).collect()
    }

    /// Accepts these rules for a workspace, in place of those that were. It holds once it is on disk.
    pub(super) async fn set(&self, workspace: &Path, rules: Vec<Rule>) -> Result<(), DocumentError> {
        let set = |known: &mut Rules| {
            let workspace = workspace.to_string_lossy().into_owned();
            if rules.is_empty() {
                known.remove(&workspace);
            } else {
                known.insert(workspace, rules.clone());
            }
            Ok(())
        };
        match self.0.change(set).await {
            // Where none can hold, there is none to be taken back.
            Err(DocumentError::Unreadable { .. }) if rules.is_empty() => Ok(()),
            set => set,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use ostler_documents::FileDocuments;
    use ostler_types::Rule;

    use super::Accepted;

    fn rule(subject: &str) -> Rule {
        let (tool, subject) = ("shell".to_owned(), subject.to_owned());
        Rule { tool, subject, whole: false, workspace: Some("/w".to_owned()), commands: Vec::new() }
    }

    #[tokio::test]
    async fn only_what_was_accepted_holds_and_only_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workspace-rules.json");
        let load = async || Accepted::load(Arc::new(FileDocuments::new(dir.path()))).await;
        let accepted = load().await;
        accepted.set(Path::new("/w"), vec![rule("make")]).await.unwrap();
        let accepted = load().await;
        let both = || vec![rule("make"), rule("make deploy")];
        assert_eq!(accepted.among(Path::new("/w"), both()), [rule("make")]);
        assert!(accepted.among(Path::new("/w"), vec![rule("make deploy")]).is_empty());
        assert!(accepted.among(Path::new("/v"), both()).is_empty());
        accepted.set(Path::new("/w"), Vec::new()).await.unwrap();
        assert!(load().await.among(Path::new("/w"), both()).is_empty());
        std::fs::write(&path, "{").unwrap();
        let broken = load().await;
        assert!(broken.among(Path::new("/w"), both()).is_empty());
        assert!(broken.set(Path::new("/w"), both()).await.is_err());
        broken.set(Path::new("/w"), Vec::new()).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"{", "what cannot be read is not written over");
    }
}
