//! What a session may do by itself, and what it must ask or check.

use std::collections::BTreeMap;
use std::fmt;

use ostler_command_line::{Circumstances, Pattern, Reading, allowed_with, parse, suggest_with};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Whether this call has to wait for an answer. Git starts programs that a repository's settings name,
    /// so it only counts as reading where the workspace is trusted; any other command counts as reading where
    /// it was proven to.
    pub fn asks(&self, call: &ToolCall, kind: ToolKind, trusted: bool, proof: &ReadProof) -> bool {
        let by_name = self.require_for_tools.contains(&call.name);
        let named = by_name || self.require_for_kinds.contains(&kind);
        named && !self.lets_through(call, trusted, proof, std::iter::empty())
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
    pub fn lets_through<'a>(
        &'a self,
        call: &ToolCall,
        trusted: bool,
        proof: &ReadProof,
        others: impl Iterator<Item = &'a Rule>,
    ) -> bool {
        let rules: Vec<&Rule> = self.rules.iter().chain(others).collect();
        let (subject, whole) = subject(call);
        if rules.iter().any(|rule| rule.names(call, &subject, whole)) {
            return true;
        }
        let Some(line) = shell_line(call) else { return false };
        if !self.safe_commands || self.require_for_tools.contains(&call.name) {
            return false;
        }
        let of_tool = rules.iter().filter(|rule| rule.tool == call.name);
        let patterns: Vec<Pattern> = of_tool.flat_map(|rule| &rule.commands).map(Into::into).collect();
        let reading = parse(line);
        let proven = proof.of(&reading);
        allowed_with(&reading, &patterns, Circumstances { git_is_safe: trusted, proven: &proven })
    }
}

/// Which commands of a shell call were found to read nothing but files of the workspace and public files of
/// the system, by programs of the system. To be found out by somebody with a file system, just before the
/// call is decided on: no record keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ReadProof {
    /// Nobody has looked.
    #[default]
    Missing,
    /// For each command, in the order in which the call's line is read.
    Commands(Vec<bool>),
    /// It was looked at when the call was proposed.
    Earlier,
}

impl ReadProof {
    fn of(&self, reading: &Reading) -> Vec<bool> {
        match self {
            ReadProof::Missing => Vec::new(),
            ReadProof::Commands(proven) => proven.clone(),
            ReadProof::Earlier => vec![true; reading.commands.len()],
        }
    }
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
    /// The rule that allows exactly this call, in any workspace.
    pub fn of(call: &ToolCall) -> Rule {
        Rule::beyond(call, &ReadProof::Earlier)
    }

    /// The same where it is known which commands only read. Each of the others is allowed by the rule.
    pub fn beyond(call: &ToolCall, proof: &ReadProof) -> Rule {
        let (subject, whole) = subject(call);
        let suggested = shell_line(call).and_then(|line| {
            let reading = parse(line);
            let proven = proof.of(&reading);
            suggest_with(&reading, Circumstances { git_is_safe: false, proven: &proven })
        });
        let suggested = suggested.unwrap_or_default();
        let pattern = |Pattern { argv, open }| CommandPattern { argv, open };
        let commands = suggested.into_iter().map(pattern).collect();
        Rule { tool: call.name.clone(), subject, whole, workspace: None, commands }
    }

    /// The same rule, in one workspace only.
    #[must_use]
    pub fn within(self, workspace: &str) -> Rule {
        Rule { workspace: Some(workspace.to_owned()), ..self }
    }

    /// Whether this call is the one that the rule names.
    pub fn allows(&self, call: &ToolCall) -> bool {
        let (subject, whole) = subject(call);
        self.names(call, &subject, whole)
    }

    fn names(&self, call: &ToolCall, subject: &str, whole: bool) -> bool {
        self.tool == call.name && self.subject == subject && self.whole == whole
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

/// What a call acts on, and whether that is its whole input. Only of our own tools is it known which of
/// their fields says what they do; of any other the whole input counts.
fn subject(call: &ToolCall) -> (String, bool) {
    let field = match call.name.as_str() {
        // A directory changes what a command means, so a call with such fields is matched as a whole.
        "shell" => shell_line(call).map(|_| "command"),
        "read_file" | "write_file" | "edit_file" => Some("path"),
        "web_fetch" => Some("url"),
        _ => None,
    };
    match field.and_then(|field| call.input.get(field)).and_then(Value::as_str) {
        Some(subject) => (subject.to_owned(), false),
        None => (sorted(&call.input).to_string(), true),
    }
}

/// The same value with the members of all objects in order, so that equal inputs are equal texts.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let ordered: BTreeMap<&String, Value> =
                members.iter().map(|(name, value)| (name, sorted(value))).collect();
            Value::Object(ordered.into_iter().map(|(name, value)| (name.clone(), value)).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The command line of a call that does nothing but run it in the workspace.
fn shell_line(call: &ToolCall) -> Option<&str> {
    let fields = call.input.as_object().filter(|_| call.name == "shell")?;
    let plain = fields
        .keys()
        .all(|name| matches!(name.as_str(), "command" | "timeout_seconds") || name.starts_with('_'));
    fields.get("command").and_then(|command| command.as_str()).filter(|_| plain)
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
