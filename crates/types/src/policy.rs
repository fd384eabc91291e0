//! What a session may do by itself, and what it must ask or check.

use std::fmt;

use ostler_command_line::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelPolicy, Subject, ToolCall, ToolKind};

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
    /// Whether commands that are known to only read run without asking, unless their tool is named above.
    pub safe_commands: bool,
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        Self {
            require_for_kinds: vec![ToolKind::Write, ToolKind::Exec, ToolKind::Network],
            require_for_tools: Vec::new(),
            rules: Vec::new(),
            safe_commands: true,
        }
    }
}

impl ApprovalPolicy {
    /// Judges a call, once: by this policy, and by what counts beside it.
    pub fn judge(&self, judged: &JudgedCall<'_>, standing: &PolicyContext) -> Judgement {
        let asks = self.asks(judged);
        let Some(own) = &standing.workspace else {
            return match asks {
                false => Judgement::Unasked,
                true if self.allows_unasked(judged, &standing.rules) => Judgement::AllowedByRule,
                true => Judgement::Asks { because: None },
            };
        };
        // A workspace can have more asked about, and allow what the policy does not name by its tool.
        let stricter = self.merged_with(own);
        let is_named = self.require_for_tools.contains(&judged.call.name);
        let own_rules = if is_named { &[] } else { own.rules.as_slice() };
        let is_allowed = stricter.allows_unasked(judged, standing.rules.iter().chain(own_rules));
        match (asks, is_allowed) {
            (false, false) if stricter.asks(judged) => {
                Judgement::Asks { because: Some("The settings of this workspace ask for it.".to_owned()) }
            }
            (false, true | false) => Judgement::Unasked,
            (true, true) => Judgement::AllowedByRule,
            (true, false) => Judgement::Asks { because: None },
        }
    }

    /// Whether this policy alone has the call wait for an answer.
    pub fn asks(&self, judged: &JudgedCall<'_>) -> bool {
        self.may_ask_about(&judged.call.name, judged.kind) && !self.allows_unasked(judged, &[])
    }

    /// Whether calls of this tool and kind are asked about at all. Any other may run without a question.
    pub fn may_ask_about(&self, tool: &str, kind: ToolKind) -> bool {
        self.require_for_kinds.contains(&kind) || self.require_for_tools.iter().any(|named| named == tool)
    }

    /// A policy that asks for all that either asks for, with the rules of the first.
    fn merged_with(&self, other: &ApprovalPolicy) -> ApprovalPolicy {
        self.clone().tightened(other, &[])
    }

    /// The same with no more rights than another policy gives: what asks there asks here too, and the rules
    /// that were withdrawn there are gone here.
    #[must_use]
    pub fn tightened(mut self, other: &ApprovalPolicy, withdrawn: &[Rule]) -> ApprovalPolicy {
        for kind in &other.require_for_kinds {
            if !self.require_for_kinds.contains(kind) {
                self.require_for_kinds.push(*kind);
            }
        }
        for tool in &other.require_for_tools {
            if !self.require_for_tools.contains(tool) {
                self.require_for_tools.push(tool.clone());
            }
        }
        self.rules.retain(|rule| !withdrawn.contains(rule));
        self.safe_commands &= other.safe_commands;
        self
    }

    /// Whether this call is let through by a rule of this policy or one of these, or because all that it
    /// runs is known to only read. Each command of a line may be covered by another rule.
    fn allows_unasked<'a>(
        &'a self,
        JudgedCall { call, subject, trusted, .. }: &JudgedCall<'_>,
        others: impl IntoIterator<Item = &'a Rule>,
    ) -> bool {
        let rules: Vec<&Rule> = self.rules.iter().chain(others).collect();
        if rules.iter().any(|rule| rule.allows(call, subject)) {
            return true;
        }
        let Subject::CommandLine(command) = subject else { return false };
        if !self.safe_commands || self.require_for_tools.contains(&call.name) {
            return false;
        }
        let of_tool = rules.iter().filter(|rule| rule.tool == call.name && !rule.changes_directory());
        let patterns: Vec<Pattern> = of_tool.flat_map(|rule| &rule.commands).map(Into::into).collect();
        command.is_allowed(&patterns, *trusted)
    }
}

/// A call as a policy judges it.
#[derive(Debug, Clone, Copy)]
pub struct JudgedCall<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// What it touches.
    pub kind: ToolKind,
    /// What it acts on.
    pub subject: &'a Subject,
    /// Whether the workspace is trusted, so that git counts as reading.
    pub trusted: bool,
}

/// What counts beside a session's own policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyContext {
    /// Rules for every session that hold in this workspace.
    pub rules: Vec<Rule>,
    /// What the workspace itself says, if it is trusted.
    pub workspace: Option<ApprovalPolicy>,
    /// Whether the workspace is no longer trusted, although it was when the turn began.
    pub trust_withdrawn: bool,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The session's policy does not ask about it.
    Unasked,
    /// A rule beside the session's policy allows it.
    AllowedByRule,
    /// A person is asked.
    Asks {
        /// Why, when the session's own policy would not.
        because: Option<String>,
    },
}

/// Allows one exact call: the same tool with the same subject. For a command line it also allows its
/// commands, word for word, wherever every command of a line is allowed; never a prefix of the line's text,
/// because a shell would find a way around it.
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
    /// The commands that it allows, as parts of any command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandPattern>,
}

/// The words that a command must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandPattern {
    /// The program and its arguments, word for word.
    pub argv: Vec<String>,
    /// Whether other words may follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

impl CommandPattern {
    /// Refuses a pattern that would let a command through whatever it does, and says why.
    pub fn check(&self) -> Result<(), String> {
        Pattern::from(self).check()
    }
}

impl From<&CommandPattern> for Pattern {
    fn from(pattern: &CommandPattern) -> Pattern {
        Pattern { argv: pattern.argv.clone(), open: pattern.open }
    }
}

impl Rule {
    /// The same rule, in one workspace only.
    #[must_use]
    pub fn in_workspace(self, workspace: &str) -> Rule {
        Rule { workspace: Some(workspace.to_owned()), ..self }
    }

    /// Returns true where its commands ran in another directory: each of them means something else by itself. Such rules
    /// were remembered once; they allow their whole line and nothing else.
    fn changes_directory(&self) -> bool {
        self.commands.iter().any(|pattern| Pattern::from(pattern).runs_in_other_directory())
    }

    /// Whether this call is the one that the rule names.
    pub fn allows(&self, call: &ToolCall, subject: &Subject) -> bool {
        let names = || subject.rule_subject(&call.input) == (self.subject.clone(), self.whole);
        self.tool == call.name && names()
    }
}

/// What it allows, for whoever is to agree: its commands where there are any, which go further than the call's own line.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.commands.is_empty() {
            return write!(f, "{} {}", self.tool, self.subject);
        }
        let commands: Vec<String> = self.commands.iter().map(ToString::to_string).collect();
        f.write_str(&commands.join(", "))
    }
}

/// The words as a shell would need them, and dots where others may follow.
impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |c: char| c.is_alphanumeric() || "_-./=:@%+,".contains(c);
        let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        };
        f.write_str(&self.argv.iter().map(quoted).collect::<Vec<_>>().join(" "))?;
        f.write_str(if self.open { " …" } else { "" })
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
    /// Whether a turn only counts as verified when it leaves no uncommitted change behind.
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
