//! The rules that the owner accepted when they trusted a workspace. A rule of a workspace holds as long as
//! its settings name it and it is among these: so nobody who can write to the repository widens what runs
//! unasked. Kept in the document `workspace-rules.json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostler_documents::{Document, DocumentError, Documents};
use ostler_types::Rule;

use crate::engine::Engine;

/// By what workspaces are known by.
type RulesByWorkspace = BTreeMap<String, Vec<Rule>>;

/// The rules that were accepted. While the document cannot be read, none holds.
pub(crate) struct AcceptedRules(Document<RulesByWorkspace>);

impl AcceptedRules {
    /// Reads what was accepted.
    pub(crate) async fn load(documents: &Arc<dyn Documents>) -> AcceptedRules {
        AcceptedRules(
            Document::load(Arc::clone(documents), "workspace-rules.json", "no rule of a workspace holds")
                .await,
        )
    }

    /// Those of these rules that were accepted for this workspace.
    pub(crate) fn retain_accepted(&self, workspace: &str, rules: Vec<Rule>) -> Vec<Rule> {
        let accepted = self.0.get();
        let accepted = accepted.as_ref().and_then(|rules| rules.get(workspace));
        rules.into_iter().filter(|rule| accepted.is_some_and(|accepted| accepted.contains(rule))).collect()
    }

    /// Accepts these rules for a workspace, in place of those that were. It holds once it is on disk.
    pub(crate) async fn set(&self, workspace: &str, rules: Vec<Rule>) -> Result<(), DocumentError> {
        let set = |known: &mut RulesByWorkspace| {
            if rules.is_empty() {
                known.remove(workspace);
            } else {
                known.insert(workspace.to_owned(), rules.clone());
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

impl Engine {
    /// Accepts these rules of a workspace, named by its key, in place of those that were. They hold once they are on disk.
    pub async fn accept_rules(&self, workspace: &str, rules: Vec<Rule>) -> Result<(), DocumentError> {
        self.shared.rules.accepted().set(workspace, rules).await
    }

    /// Those of these rules that were accepted for a workspace, named by its key.
    pub fn accepted_rules(&self, workspace: &str, rules: Vec<Rule>) -> Vec<Rule> {
        self.shared.rules.accepted().retain_accepted(workspace, rules)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostler_documents::{Documents, FileDocuments};
    use ostler_types::Rule;

    use super::AcceptedRules;

    fn rule(subject: &str) -> Rule {
        let (tool, subject) = ("shell".to_owned(), subject.to_owned());
        Rule { tool, subject, whole: false, workspace: Some("/w".to_owned()), commands: Vec::new() }
    }

    #[tokio::test]
    async fn only_what_was_accepted_holds_and_only_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workspace-rules.json");
        let load = async || {
            let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(dir.path()));
            AcceptedRules::load(&documents).await
        };
        let accepted = load().await;
        accepted.set("/w", vec![rule("make")]).await.unwrap();
        let accepted = load().await;
        let both = || vec![rule("make"), rule("make deploy")];
        assert_eq!(accepted.retain_accepted("/w", both()), [rule("make")]);
        assert!(accepted.retain_accepted("/w", vec![rule("make deploy")]).is_empty());
        assert!(accepted.retain_accepted("/v", both()).is_empty());
        accepted.set("/w", Vec::new()).await.unwrap();
        assert!(load().await.retain_accepted("/w", both()).is_empty());
        std::fs::write(&path, "{").unwrap();
        let broken = load().await;
        assert!(broken.retain_accepted("/w", both()).is_empty());
        assert!(broken.set("/w", both()).await.is_err());
        broken.set("/w", Vec::new()).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"{", "what cannot be read is not written over");
    }
}
