//! Calls that are allowed in every session: those of the configuration, and those that somebody
//! answered `always` to. The latter are kept in the document `rules.json`.

use std::sync::Arc;

use ostler_documents::{Document, DocumentError, Documents};
use ostler_types::{ApprovalPolicy, ReadProof, Rule, Session, ToolCall, ToolKind};

use crate::config::WorkspaceApproval;

/// How many rules are remembered.
const LIMIT: usize = 10_000;

/// How a call stands beyond its session's own policy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Whether a rule lets it through.
    pub(crate) is_allowed: bool,
    /// Why somebody is asked although the session's policy would not.
    pub(crate) asked_because: Option<String>,
}

/// The standing rules of a data directory.
pub(crate) struct Rules {
    configured: Vec<Rule>,
    /// What trusted workspaces say themselves.
    workspaces: Option<WorkspaceApproval>,
    /// While it cannot be read, nothing is allowed by it.
    remembered: Document<Vec<Rule>>,
}

impl Rules {
    /// Reads what was remembered.
    pub(crate) async fn load(documents: &Arc<dyn Documents>, configured: Vec<Rule>) -> Rules {
        let consequence = "every call asks again until it is mended or removed";
        let remembered = Document::load(Arc::clone(documents), "rules.json", consequence).await;
        Rules { configured, workspaces: None, remembered }
    }

    /// The same, hearing what trusted workspaces say.
    pub(crate) fn with_workspaces(self, workspaces: Option<WorkspaceApproval>) -> Rules {
        Rules { workspaces, ..self }
    }

    /// How a call of a session stands by these rules, and by those of its workspace if that is trusted.
    pub(crate) async fn stands(
        &self,
        session: &Session,
        call: (&ToolCall, ToolKind),
        trusted: bool,
        proof: &ReadProof,
    ) -> Standing {
        let own = match &self.workspaces {
            Some(find) if trusted => find(session.workspace_path.clone()).await,
            Some(_) | None => None,
        };
        self.judge((&session.policy.approval, own.as_ref()), call, &session.workspace_path, (trusted, proof))
    }

    /// A workspace can have more asked about, and allow what the policy does not name by its tool.
    fn judge(
        &self,
        (policy, own): (&ApprovalPolicy, Option<&ApprovalPolicy>),
        (call, kind): (&ToolCall, ToolKind),
        workspace: &str,
        (trusted, proof): (bool, &ReadProof),
    ) -> Standing {
        let Some(own) = own else {
            let is_allowed = self.allow(policy, call, workspace, (trusted, proof), &[]);
            return Standing { is_allowed, asked_because: None };
        };
        let is_named = policy.require_for_tools.contains(&call.name);
        let (stricter, rules) = (stricter(policy, own), if is_named { &[] } else { own.rules.as_slice() });
        let is_allowed = self.allow(&stricter, call, workspace, (trusted, proof), rules);
        let asks_by = |policy: &ApprovalPolicy| policy.asks(call, kind, trusted, proof);
        let asks = !is_allowed && asks_by(&stricter) && !asks_by(policy);
        let asked_because = asks.then(|| "The settings of this workspace ask for it.".to_owned());
        Standing { is_allowed, asked_because }
    }

    /// Whether the rules, with those of this policy and these, let this call through in this workspace.
    fn allow(
        &self,
        policy: &ApprovalPolicy,
        call: &ToolCall,
        workspace: &str,
        (trusted, proof): (bool, &ReadProof),
        more: &[Rule],
    ) -> bool {
        let remembered = self.remembered.get().unwrap_or_default();
        let here = |rule: &&Rule| rule.workspace.as_ref().is_none_or(|of| of == workspace);
        let standing = self.configured.iter().chain(remembered.iter()).chain(more).filter(here);
        policy.lets_through(call, trusted, proof, standing)
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

/// A policy that asks for all that either asks for, with the rules of the first.
fn stricter(policy: &ApprovalPolicy, own: &ApprovalPolicy) -> ApprovalPolicy {
    let mut policy = policy.clone();
    policy.require_for_kinds.extend(&own.require_for_kinds);
    policy.require_for_tools.extend(own.require_for_tools.iter().cloned());
    policy.safe_commands &= own.safe_commands;
    policy
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use ostler_documents::{Documents, FileDocuments};
    use ostler_types::{ApprovalPolicy, ReadProof, Rule, ToolCall, ToolCallId, ToolKind};
    use serde_json::json;

    use super::Rules;

    fn call(name: &str, input: serde_json::Value) -> ToolCall {
        ToolCall { id: ToolCallId("c".to_owned()), name: name.to_owned(), input }
    }

    #[tokio::test]
    async fn a_workspace_has_more_asked_about_and_its_rules_yield_to_what_the_policy_names() {
        let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(Path::new("/nonexistent")));
        let rules = Rules::load(&documents, Vec::new()).await;
        let read = call("read_file", json!({"path": "a"}));
        let make = call("shell", json!({"command": "make"}));
        let own = ApprovalPolicy {
            require_for_kinds: vec![ToolKind::Read],
            rules: vec![Rule::of(&make).within("/w")],
            ..ApprovalPolicy::default()
        };
        let proof = ReadProof::Commands(vec![true]);
        let judge = |policy: &ApprovalPolicy, call: &ToolCall, kind, workspace: &str| {
            let judged = rules.judge((policy, Some(&own)), (call, kind), workspace, (true, &proof));
            (judged.is_allowed, judged.asked_because.is_some())
        };
        let policy = ApprovalPolicy::default();
        assert_eq!(judge(&policy, &read, ToolKind::Read, "/w"), (false, true));
        assert_eq!(judge(&policy, &make, ToolKind::Exec, "/w"), (true, false));
        assert_eq!(judge(&policy, &make, ToolKind::Exec, "/other"), (false, false), "the policy asks");
        let answered = ApprovalPolicy { rules: vec![Rule::of(&read)], ..ApprovalPolicy::default() };
        assert_eq!(judge(&answered, &read, ToolKind::Read, "/w"), (true, false), "it was answered before");
        let named =
            ApprovalPolicy { require_for_tools: vec!["shell".to_owned()], ..ApprovalPolicy::default() };
        assert_eq!(judge(&named, &make, ToolKind::Exec, "/w"), (false, false));
        let list = call("shell", json!({"command": "ls"}));
        assert_eq!(judge(&policy, &list, ToolKind::Exec, "/w"), (true, false));
        let own = ApprovalPolicy { safe_commands: false, ..own.clone() };
        let judged = rules.judge((&policy, Some(&own)), (&list, ToolKind::Exec), "/w", (true, &proof));
        assert!(!judged.is_allowed && judged.asked_because.is_some());
    }
}
