//! Calls that are allowed in every session: those of the configuration, and those that somebody
//! answered `always` to. The latter are kept in the document `rules.json`.

use std::sync::Arc;

use ostler_documents::{Document, DocumentError, Documents};
use ostler_runner::{AdditionalApprovals, WorkspaceSettings, Workspaces};
use ostler_types::{ApprovalPolicy, PolicyContext, Rule, Session};

use crate::accepted_rules::AcceptedRules;

/// How many rules are remembered.
const MAX_RULES: usize = 10_000;

/// The standing rules of a data directory.
pub(crate) struct RuleStore {
    configured: Vec<Rule>,
    /// While it cannot be read, nothing is allowed by it.
    remembered: Document<Vec<Rule>>,
    /// The rules of workspaces that the owner has seen and trusted.
    accepted: AcceptedRules,
}

impl RuleStore {
    /// Reads what was remembered.
    pub(crate) async fn load(documents: &Arc<dyn Documents>, configured: Vec<Rule>) -> RuleStore {
        let consequence = "every call asks again until it is mended or removed";
        let remembered = Document::load(Arc::clone(documents), "rules.json", consequence).await;
        let accepted = AcceptedRules::load(documents).await;
        RuleStore { configured, remembered, accepted }
    }

    /// What counts for calls of a tool in a session beside its own policy: these rules, and what its workspace says if that
    /// is trusted.
    pub(crate) async fn policy_context(
        &self,
        workspaces: &dyn Workspaces,
        session: &Session,
        tool: &str,
        trusted: bool,
    ) -> PolicyContext {
        let workspace = match trusted {
            true => self.workspace_policy(workspaces, session).await,
            false => None,
        };
        let remembered = self.remembered.get().unwrap_or_default();
        let key = session.workspace_key();
        let here = |of: &String| *of == key;
        let counts = |rule: &&Rule| rule.tool == tool && rule.workspace.as_ref().is_none_or(here);
        let rules = self.configured.iter().chain(remembered.iter()).filter(counts).cloned().collect();
        PolicyContext { rules, workspace, trust_withdrawn: !trusted }
    }

    /// What a trusted workspace says of approvals, with the rules that its owner has accepted; none where it says nothing.
    async fn workspace_policy(
        &self,
        workspaces: &dyn Workspaces,
        session: &Session,
    ) -> Option<ApprovalPolicy> {
        let WorkspaceSettings { asks, rules, .. } = workspaces.settings(session.workspace_path.clone()).await;
        let mut rules = self.accepted.retain_accepted(&session.workspace_key(), rules);
        // Its runner knows the workspace by its path alone.
        rules.retain(|rule| rule.workspace.as_ref().is_none_or(|of| *of == session.workspace_path));
        let says_nothing = rules.is_empty() && asks == AdditionalApprovals::default();
        let AdditionalApprovals { kinds, tools, safe_commands } = asks;
        (!says_nothing).then_some(ApprovalPolicy {
            require_for_kinds: kinds,
            require_for_tools: tools,
            safe_commands,
            rules,
        })
    }

    /// The rules of a workspace that its owner has accepted.
    pub(crate) fn accepted(&self) -> &AcceptedRules {
        &self.accepted
    }

    /// Remembers a rule for ever. It holds once it is on disk.
    pub(crate) async fn add(&self, rule: Rule) -> Result<(), DocumentError> {
        let add = |rules: &mut Vec<Rule>| {
            if !rules.contains(&rule) {
                rules.push(rule.clone());
            }
            if rules.len() > MAX_RULES {
                let message = "rules.json is full; remove rules that are no longer wanted";
                return Err(DocumentError::Storage(message.to_owned()));
            }
            Ok(())
        };
        self.remembered.change(add).await
    }
}
