//! What a session may do by itself, and what it must ask or check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelPolicy, ToolCall, ToolKind};

/// The policies of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Which calls wait for an answer.
    #[serde(deserialize_with = "crate::object")]
    pub approval: ApprovalPolicy,
    /// What is checked after a turn that changed the workspace.
    #[serde(deserialize_with = "crate::object")]
    pub verify: VerifyPolicy,
    /// Whether a person reviews the turn's diff.
    #[serde(deserialize_with = "crate::object")]
    pub patch_review: PatchReview,
    /// How the session comes by a model when nobody names one.
    #[serde(deserialize_with = "crate::object")]
    pub model: ModelPolicy,
}

/// Which tool calls wait for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalPolicy {
    /// Kinds that always ask.
    pub require_for_kinds: Vec<ToolKind>,
    /// Tools that always ask, whatever their kind.
    pub require_for_tools: Vec<String>,
    /// Calls that are allowed without asking.
    pub rules: Vec<Rule>,
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        Self {
            require_for_kinds: vec![ToolKind::Write, ToolKind::Exec, ToolKind::Network],
            require_for_tools: Vec::new(),
            rules: Vec::new(),
        }
    }
}

impl ApprovalPolicy {
    /// Whether this call has to wait for an answer.
    pub fn asks(&self, call: &ToolCall, kind: ToolKind) -> bool {
        let named = self.require_for_tools.contains(&call.name) || self.require_for_kinds.contains(&kind);
        named && !self.rules.iter().any(|rule| rule.allows(call))
    }
}

/// Allows one exact call: the same tool with the same subject. Never a prefix or a pattern, because
/// a shell would find a way around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The tool's name.
    pub tool: String,
    /// What it acts on: the command, the path, or else the whole input as JSON.
    pub subject: String,
    /// Whether the subject is the whole input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The workspace in which it holds; in any, when absent. The same words mean something else elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl Rule {
    /// The rule that allows exactly this call, in any workspace.
    pub fn of(call: &ToolCall) -> Rule {
        let field = |name: &str| call.input.get(name).and_then(|v| v.as_str());
        // A directory changes what a command means, so a call with a `cwd` is matched as a whole.
        let plain = call.input.get("cwd").is_none();
        let named: Vec<&str> = ["command", "path", "url"].into_iter().filter_map(field).collect();
        let (subject, whole) = match named[..] {
            [subject] if plain => (subject.to_owned(), false),
            _ => (call.input.to_string(), true),
        };
        Rule { tool: call.name.clone(), subject, whole, workspace: None }
    }

    /// The same rule, in one workspace only.
    #[must_use]
    pub fn within(self, workspace: &str) -> Rule {
        Rule { workspace: Some(workspace.to_owned()), ..self }
    }

    /// Whether this call is the one that the rule names.
    pub fn allows(&self, call: &ToolCall) -> bool {
        let exact = Rule::of(call);
        self.tool == exact.tool && self.subject == exact.subject && self.whole == exact.whole
    }
}

/// How long an answer to an approval holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call only.
    #[default]
    Once,
    /// Every such call of this session.
    Session,
    /// Every such call of every session.
    Always,
}

/// What runs after a turn that changed the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VerifyPolicy {
    /// Whether verification runs by itself.
    pub auto: bool,
    /// The commands, run in order in the workspace. None means that there is nothing to verify with.
    pub commands: Vec<String>,
    /// Whether the workspace must have no uncommitted change first.
    pub require_clean: bool,
    /// How often a failure goes back to the model.
    pub max_rounds: u32,
}

impl Default for VerifyPolicy {
    fn default() -> Self {
        Self { auto: true, commands: Vec::new(), require_clean: false, max_rounds: 3 }
    }
}

/// Whether a person reviews a turn's diff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PatchReview {
    /// The mode.
    pub mode: PatchReviewMode,
}

/// The modes of patch review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchReviewMode {
    /// No review.
    #[default]
    Off,
    /// A person is asked.
    Request,
    /// Accepted by itself, but shown.
    Auto,
}
