//! `transcript.jsonl`: the conversation for programs that want nothing but what was said, a message a line.
//!
//! Only those who speak are in it. Instructions (messages of role `system`, summaries) are left out, because the
//! format has no word for them.

use ostler_types::{CallEvent, Event, Message, MessageEvent, Record, Role};
use serde::{Deserialize, Serialize};

use crate::plain_text::{message_text, result_text};

/// Adds the line of a record that says something.
pub(crate) fn write(record: &Record, lines: &mut String) {
    let line = match &record.event {
        Event::Message(MessageEvent::Added { message, .. })
        | Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
            spoken(message).map(|role| TranscriptLine {
                role,
                content: message_text(message),
                timestamp: message.created_at.as_millisecond(),
                run_id: None,
                tool_name: None,
            })
        }
        Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => Some(TranscriptLine {
            role: TranscriptSpeaker::ToolResult,
            content: result_text(tool_result),
            timestamp: record.ts.as_millisecond(),
            run_id: None,
            tool_name: Some(tool_call.name.clone()),
        }),
        Event::Session(_)
        | Event::Message(MessageEvent::Queued { .. } | MessageEvent::Withdrawn { .. })
        | Event::Turn(_)
        | Event::Step(_)
        | Event::Batch(_)
        | Event::Call(CallEvent::Started { .. })
        | Event::Approval(_)
        | Event::Workspace(_)
        | Event::Agent(_)
        | Event::Child(_) => None,
    };
    if let Some(mut line) = line {
        line.run_id = record.turn_id.map(|turn| turn.uuid().hyphenated().to_string());
        lines.push_str(&serde_json::to_string(&line).expect("a line holds nothing that JSON cannot"));
        lines.push('\n');
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TranscriptLine {
    pub(crate) role: TranscriptSpeaker,
    pub(crate) content: String,
    /// Milliseconds since 1970.
    pub(crate) timestamp: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_name: Option<String>,
}

/// Who speaks, in the words of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TranscriptSpeaker {
    User,
    Assistant,
    ToolResult,
}

fn spoken(message: &Message) -> Option<TranscriptSpeaker> {
    match message.role {
        Role::User => Some(TranscriptSpeaker::User),
        Role::Assistant => Some(TranscriptSpeaker::Assistant),
        Role::Tool => Some(TranscriptSpeaker::ToolResult),
        Role::System => None,
    }
}
