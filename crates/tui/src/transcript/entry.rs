//! What a transcript is made of: what was said, thought, called and checked, each as one thing to look at.

use ostler_types::{CommandResult, FileChange, MessageId, SessionId, ToolCallId, ToolKind, TurnId};
use serde_json::Value;

/// One thing in a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptEntry {
    /// Names it for as long as it is held.
    pub key: u64,
    /// The record that it came with, or the newest before it for text that streams.
    pub seq: u64,
    /// The turn that it belongs to.
    pub turn: Option<TurnId>,
    /// What it is.
    pub kind: EntryKind,
    /// Whether it is folded, once somebody has said so.
    pub folded: Option<bool>,
    /// Counts its changes, so that what was laid out of it can be kept.
    pub revision: u32,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryKind {
    /// What a person said.
    User {
        /// The message.
        id: MessageId,
        /// Its text.
        text: String,
        /// The files that came with it.
        files: Vec<String>,
    },
    /// What the model was told and nobody said.
    SystemMessage {
        /// The message.
        id: MessageId,
        /// Its text.
        text: String,
    },
    /// What the model said.
    Answer(ModelText),
    /// What it thought.
    Thinking(ModelText),
    /// A tool call.
    ToolCall(Box<TranscriptCall>),
    /// A check of the workspace.
    Check {
        /// Which one of the turn, from 1.
        round: u32,
        /// What is run.
        commands: Vec<String>,
        /// How it went, once it has.
        results: Option<Vec<CommandResult>>,
    },
    /// What a turn changed, to be looked at.
    Review {
        /// The call that stands for it.
        id: ToolCallId,
        /// The files.
        files: Vec<FileChange>,
        /// How many more there are.
        more: u64,
    },
    /// A line about what happened.
    Note {
        /// How it is to be taken.
        tone: Tone,
        /// The line.
        text: String,
    },
    /// The end of a turn.
    End {
        /// How it is to be taken.
        tone: Tone,
        /// How it ended, in a line.
        text: String,
        /// What to do next, if there is something.
        hint: Option<String>,
    },
}

/// A part of a message of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelText {
    /// The message.
    pub id: MessageId,
    /// Which of its parts.
    pub part: u32,
    /// The text so far.
    pub text: String,
    /// Whether it is whole.
    pub done: bool,
}

/// A tool call and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptCall {
    /// Its id, unique within its turn.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// What it touches, once that is known.
    pub kind: Option<ToolKind>,
    /// What it is to do; null until that is known.
    pub input: Value,
    /// How it stands.
    pub status: TranscriptCallStatus,
    /// What it prints while it runs.
    pub output: String,
    /// What it answered.
    pub result: Option<String>,
    /// The changes that it made, as path and diff.
    pub diffs: Vec<(String, String)>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// How its program ended, if it ran one.
    pub exit_code: Option<i64>,
    /// The session that it started.
    pub child: Option<SessionId>,
    /// Pictures that belong to its answer.
    pub pictures: Vec<String>,
    /// Whether nothing but its end has been seen of it.
    pub orphan: bool,
}

/// How a call stands. The order is that of time: it never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TranscriptCallStatus {
    /// The model asks for it.
    Proposed,
    /// It waits for an answer.
    Waiting,
    /// It may run.
    Granted,
    /// It runs.
    Running,
    /// It did what was asked.
    Done,
    /// It did not.
    Failed,
}

impl TranscriptCallStatus {
    /// Whether nothing more is to come.
    pub fn is_over(self) -> bool {
        matches!(self, TranscriptCallStatus::Done | TranscriptCallStatus::Failed)
    }
}

/// How a line is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It is only told.
    Plain,
    /// It went well.
    Good,
    /// It needs attention.
    Warn,
    /// It went wrong.
    Bad,
}

impl TranscriptCall {
    /// A call of which only the name is known.
    pub fn new(id: ToolCallId, name: impl Into<String>) -> TranscriptCall {
        TranscriptCall {
            id,
            name: name.into(),
            kind: None,
            input: Value::Null,
            status: TranscriptCallStatus::Proposed,
            output: String::new(),
            result: None,
            diffs: Vec::new(),
            duration_ms: None,
            exit_code: None,
            child: None,
            pictures: Vec::new(),
            orphan: false,
        }
    }

    /// Moves it on; what is over stays as it is.
    pub fn advance(&mut self, status: TranscriptCallStatus) {
        if !self.status.is_over() && status > self.status {
            self.status = status;
        }
    }

    /// What it acts on, in a line.
    pub fn subject(&self) -> String {
        let field = |name: &str| self.input.get(name).and_then(Value::as_str);
        let known = ["command", "path", "pattern", "query", "url", "description", "prompt", "name"];
        match known.into_iter().find_map(field) {
            Some(subject) => subject.to_owned(),
            None if self.input.is_null() => String::new(),
            None => match self.input.as_object() {
                Some(members) if members.is_empty() => String::new(),
                _ => self.input.to_string(),
            },
        }
    }
}

impl TranscriptEntry {
    /// Roughly how many bytes it holds.
    pub fn size(&self) -> usize {
        let text = match &self.kind {
            EntryKind::User { text, .. }
            | EntryKind::SystemMessage { text, .. }
            | EntryKind::Note { text, .. } => text.len(),
            EntryKind::Answer(spoken) | EntryKind::Thinking(spoken) => spoken.text.len(),
            EntryKind::ToolCall(call) => {
                let diffs: usize = call.diffs.iter().map(|(path, diff)| path.len() + diff.len()).sum();
                call.output.len() + call.result.as_ref().map_or(0, String::len) + diffs + 512
            }
            EntryKind::Check { results, .. } => {
                results.iter().flatten().map(|result| result.output.len() + result.command.len()).sum()
            }
            EntryKind::Review { files, .. } => {
                files.iter().map(|file| file.diff.as_ref().map_or(0, String::len) + 128).sum()
            }
            EntryKind::End { text, .. } => text.len(),
        };
        text + size_of::<TranscriptEntry>()
    }

    /// Whether it is drawn as one line: by the reader's wish, or as its kind is at first.
    pub fn is_folded(&self) -> bool {
        self.folded.unwrap_or(match &self.kind {
            EntryKind::Thinking(_) | EntryKind::SystemMessage { .. } => true,
            EntryKind::ToolCall(call) => {
                call.status.is_over() && call.diffs.is_empty() && call.status != TranscriptCallStatus::Failed
            }
            EntryKind::Check { results, .. } => {
                results.iter().flatten().all(|result| result.exit_code == Some(0))
            }
            EntryKind::User { .. }
            | EntryKind::Answer(_)
            | EntryKind::Review { .. }
            | EntryKind::Note { .. }
            | EntryKind::End { .. } => false,
        })
    }

    /// Whether there is something to fold.
    pub fn can_fold(&self) -> bool {
        matches!(
            self.kind,
            EntryKind::Thinking(_)
                | EntryKind::SystemMessage { .. }
                | EntryKind::ToolCall(_)
                | EntryKind::Check { .. }
                | EntryKind::Review { .. }
        )
    }

    /// The pictures that are drawn with it.
    pub fn pictures(&self) -> Vec<&str> {
        let all = match &self.kind {
            EntryKind::User { files, .. } => files,
            EntryKind::ToolCall(call) if !self.is_folded() => &call.pictures,
            EntryKind::SystemMessage { .. }
            | EntryKind::Answer(_)
            | EntryKind::Thinking(_)
            | EntryKind::ToolCall(_)
            | EntryKind::Check { .. }
            | EntryKind::Review { .. }
            | EntryKind::Note { .. }
            | EntryKind::End { .. } => return Vec::new(),
        };
        all.iter().map(String::as_str).filter(|file| is_picture(file)).collect()
    }

    /// Its text, as a person would copy it.
    pub fn text(&self) -> String {
        match &self.kind {
            EntryKind::User { text, .. }
            | EntryKind::SystemMessage { text, .. }
            | EntryKind::Note { text, .. }
            | EntryKind::End { text, .. } => text.clone(),
            EntryKind::Answer(spoken) | EntryKind::Thinking(spoken) => spoken.text.clone(),
            EntryKind::ToolCall(call) => {
                let mut text = format!("{} {}", call.name, call.subject());
                for said in call.result.iter().chain(call.diffs.iter().map(|(_, diff)| diff)) {
                    text.push('\n');
                    text.push_str(said);
                }
                text
            }
            EntryKind::Check { commands, results, .. } => {
                let outputs = results.iter().flatten().map(|result| result.output.as_str());
                commands.iter().map(String::as_str).chain(outputs).collect::<Vec<_>>().join("\n")
            }
            EntryKind::Review { files, .. } => {
                files.iter().filter_map(|file| file.diff.as_deref()).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Whether a file is a picture, by its name.
pub(crate) fn is_picture(file: &str) -> bool {
    let ending = file.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(ending.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}
