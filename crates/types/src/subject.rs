//! What a tool call acts on: what a remembered rule names, and what the policy judges. Only the tool knows it, so the tool
//! says it; a command line is read once, by the tool, and judged as it was read.

use std::collections::BTreeMap;

use ostler_command_line::{DecisionContext, ParsedLine, Pattern, allowed_with, suggest_with};
use serde_json::Value;

use crate::{CommandPattern, Rule, Secrets, ToolCall};

/// What a tool call acts on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Subject {
    /// A command line that runs in the workspace, and nothing else.
    CommandLine(Box<CommandLine>),
    /// One argument that says it all: a path, an address.
    Argument(String),
    /// The whole input. Also of calls of which nobody knows better, such as those of third-party agents.
    #[default]
    Input,
}

/// A command line as it was read, and which of its commands were found to read nothing but files of the workspace and
/// public files of the system, by programs of the system. To be found out by somebody with a file system, just before the
/// call is judged: no record keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    line: String,
    reading: ParsedLine,
    only_reads: Vec<bool>,
}

impl CommandLine {
    /// A line, its reading, and for each command of that whether it only reads; those that are not told of are not known to.
    pub fn new(line: String, reading: ParsedLine, only_reads: Vec<bool>) -> CommandLine {
        CommandLine { line, reading, only_reads }
    }

    /// Whether each of its commands is allowed by a pattern, or only reads. Git starts programs that a repository's settings
    /// name, so that it only counts as reading where that is safe.
    pub(crate) fn is_allowed(&self, patterns: &[Pattern], git_is_safe: bool) -> bool {
        allowed_with(&self.reading, patterns, DecisionContext { git_is_safe, proven: &self.only_reads })
    }

    /// The patterns for a rule: one for each command that does not only read.
    fn patterns(&self) -> Vec<CommandPattern> {
        let circumstances = DecisionContext { git_is_safe: false, proven: &self.only_reads };
        let suggested = suggest_with(&self.reading, circumstances).unwrap_or_default();
        suggested.into_iter().map(|Pattern { argv, open }| CommandPattern { argv, open }).collect()
    }
}

impl Subject {
    /// Hides secrets, since rules are recorded and shown. What cannot be hidden in its reading counts by its whole input,
    /// in which it is hidden.
    pub fn mask(&mut self, secrets: &Secrets) {
        let text = match self {
            Subject::CommandLine(command) => &command.line,
            Subject::Argument(text) => text,
            Subject::Input => return,
        };
        if secrets.mask(text) != text.as_str() {
            *self = Subject::Input;
        }
    }

    /// The same as a rule names it, and whether that is the whole input.
    pub(crate) fn rule_subject(&self, input: &Value) -> (String, bool) {
        match self {
            Subject::CommandLine(command) => (command.line.clone(), false),
            Subject::Argument(text) => (text.clone(), false),
            Subject::Input => (with_sorted_members(input).to_string(), true),
        }
    }
}

impl Rule {
    /// The rule that allows exactly this call, in any workspace. Of a command line it allows each command that does not
    /// only read.
    pub fn for_call(call: &ToolCall, subject: &Subject) -> Rule {
        let (name, whole) = subject.rule_subject(&call.input);
        let commands = match subject {
            Subject::CommandLine(command) => command.patterns(),
            Subject::Argument(_) | Subject::Input => Vec::new(),
        };
        Rule { tool: call.name.clone(), subject: name, whole, workspace: None, commands }
    }
}

/// The same value with the members of all objects in order, so that equal inputs are equal texts.
fn with_sorted_members(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let ordered: BTreeMap<&String, Value> =
                members.iter().map(|(name, value)| (name, with_sorted_members(value))).collect();
            Value::Object(ordered.into_iter().map(|(name, value)| (name.clone(), value)).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(with_sorted_members).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
