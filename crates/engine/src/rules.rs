//! Calls that are allowed in every session: those of the configuration, and those that somebody
//! answered `always` to. The latter are kept in the document `rules.json`.

use std::sync::Arc;

use ostler_documents::{Document, DocumentError, Documents};
use ostler_runner::Workspaces;
use ostler_types::{Rule, Session, Standing};

/// How many rules are remembered.
const LIMIT: usize = 10_000;

/// The standing rules of a data directory.
pub(crate) struct Rules {
    configured: Vec<Rule>,
    /// While it cannot be read, nothing is allowed by it.
    remembered: Document<Vec<Rule>>,
}

impl Rules {
    /// Reads what was remembered.
    pub(crate) async fn load(documents: &Arc<dyn Documents>, configured: Vec<Rule>) -> Rules {
        let consequence = "every call asks again until it is mended or removed";
        let remembered = Document::load(Arc::clone(documents), "rules.json", consequence).await;
        Rules { configured, remembered }
    }

    /// What counts for calls of a tool in a session beside its own policy: these rules, and what its workspace says if that
    /// is trusted.
    pub(crate) async fn standing(
        &self,
        workspaces: &dyn Workspaces,
        session: &Session,
        tool: &str,
        trusted: bool,
    ) -> Standing {
        let workspace = match trusted {
            true => workspaces.approval(session.workspace_path.clone()).await,
            false => None,
        };
        let remembered = self.remembered.get().unwrap_or_default();
        let key = session.workspace_key();
        let here = |of: &String| *of == key;
        let counts = |rule: &&Rule| rule.tool == tool && rule.workspace.as_ref().is_none_or(here);
        let rules = self.configured.iter().chain(remembered.iter()).filter(counts).cloned().collect();
        let workspace = workspace.map(|mut own| {
            // Its runner knows the workspace by its path alone.
            own.rules.retain(|rule| rule.workspace.as_ref().is_none_or(|of| *of == session.workspace_path));
            own
        });
        Standing { rules, workspace, trust_withdrawn: !trusted }
    }

    /// Remembers a rule for ever. It holds once it is on disk.
    pub(crate) async fn add(&self, rule: Rule) -> Result<(), DocumentError> {
        let add = |rules: &mut Vec<Rule>| {
            if !rules.contains(&rule) {
                rules.push(rule.clone());
            }
            if rules.len() > LIMIT {
                let message = "rules.json is full; remove rules that are no longer wanted";
                return Err(DocumentError::Storage(message.to_owned()));
            }
            Ok(())
        };
        self.remembered.change(add).await
    }
}
