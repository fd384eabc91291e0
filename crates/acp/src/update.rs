//! What an agent tells in the course of a turn. An update that is not known, or not as the protocol has it, is
//! kept as it came, and is never an error: agents are newer than we are.

use agent_client_protocol::v1::schema::{
    AvailableCommand, ContentChunk, SessionConfigOption, SessionUpdate, ToolCall, ToolCallUpdate,
};
use serde::Deserialize;
use serde_json::Value;

use crate::content::{AcpContentPiece, from_block};
use crate::plain_text::to_plain_line;

/// What an agent tells.
#[derive(Debug, Clone, PartialEq)]
pub enum AcpUpdate {
    /// A piece of its answer.
    Text {
        /// What it says.
        piece: AcpContentPiece,
        /// Which of its messages, where it numbers them.
        message: Option<String>,
    },
    /// A piece of its thinking.
    Thought {
        /// What it thinks.
        text: String,
        /// Which of its messages, where it numbers them.
        message: Option<String>,
    },
    /// A piece of what the user said, told back. Who sent it knows it, and only a replay says something new by it.
    Echo {
        /// What was said.
        piece: AcpContentPiece,
        /// Which message, where the agent numbers them.
        message: Option<String>,
    },
    /// A new call, or a known one told anew.
    Call(Box<ToolCall>),
    /// What is new of a call.
    CallUpdate(Box<ToolCallUpdate>),
    /// What it means to do.
    Plan(agent_client_protocol::v1::schema::Plan),
    /// The commands that it understands.
    Commands(Vec<AvailableCommand>),
    /// The mode that it is in.
    Mode(String),
    /// What can be chosen.
    Options(Vec<SessionConfigOption>),
    /// How full its window is.
    Usage {
        /// Tokens in it.
        used: u64,
        /// Tokens that it holds.
        size: u64,
    },
    /// Something for people to know.
    Notice {
        /// What.
        text: String,
    },
    /// Something that is not known here, as it came.
    Unknown {
        /// What the agent calls it.
        kind: String,
        /// All of it.
        raw: Value,
    },
}

/// How much an update says of the agent itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStateChange {
    /// Nothing, or nothing new.
    Nothing,
    /// How many tokens there are, which changes all the time.
    TokenCounts,
    /// What it offers or plans.
    Description,
}

/// Takes an update apart. None where it does not even say which session it is about.
pub fn from_update(mut params: Value) -> Option<(String, AcpUpdate)> {
    let session = params.get("sessionId")?.as_str()?.to_owned();
    let mut raw = params.get_mut("update").map(Value::take).unwrap_or_default();
    if let Some(update) = text_update(&mut raw) {
        return Some((session, update));
    }
    let kind = raw.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default().to_owned();
    let update = match SessionUpdate::deserialize(&raw) {
        Ok(update) => from_session_update(update).unwrap_or(AcpUpdate::Unknown { kind, raw }),
        Err(_) => AcpUpdate::Unknown { kind, raw },
    };
    Some((session, update))
}

/// A piece of text, which nearly all updates are, without the long way through the protocol's types.
fn text_update(raw: &mut Value) -> Option<AcpUpdate> {
    let is_answer = match raw.get("sessionUpdate")?.as_str()? {
        "agent_message_chunk" => true,
        "agent_thought_chunk" => false,
        _ => return None,
    };
    let message = raw.get("messageId").and_then(Value::as_str).map(str::to_owned);
    let content = raw.get_mut("content")?;
    if content.get("type")?.as_str()? != "text" || !content.get("text")?.is_string() {
        return None;
    }
    let Value::String(text) = content.get_mut("text")?.take() else { return None };
    Some(if is_answer {
        AcpUpdate::Text { piece: AcpContentPiece::Text(text), message }
    } else {
        AcpUpdate::Thought { text, message }
    })
}

fn from_session_update(update: SessionUpdate) -> Option<AcpUpdate> {
    Some(match update {
        SessionUpdate::UserMessageChunk(chunk) => {
            AcpUpdate::Echo { piece: from_block(&chunk.content), message: message(&chunk) }
        }
        SessionUpdate::AgentMessageChunk(chunk) => {
            AcpUpdate::Text { piece: from_block(&chunk.content), message: message(&chunk) }
        }
        SessionUpdate::AgentThoughtChunk(chunk) => match from_block(&chunk.content) {
            AcpContentPiece::Text(text) => AcpUpdate::Thought { text, message: message(&chunk) },
            _ => return None,
        },
        SessionUpdate::ToolCall(call) => AcpUpdate::Call(Box::new(call)),
        SessionUpdate::ToolCallUpdate(update) => AcpUpdate::CallUpdate(Box::new(update)),
        SessionUpdate::Plan(plan) => AcpUpdate::Plan(plan),
        SessionUpdate::AvailableCommandsUpdate(update) => AcpUpdate::Commands(update.available_commands),
        SessionUpdate::CurrentModeUpdate(update) => AcpUpdate::Mode(update.current_mode_id.0.to_string()),
        SessionUpdate::ConfigOptionUpdate(update) => AcpUpdate::Options(update.config_options),
        SessionUpdate::UsageUpdate(usage) => AcpUpdate::Usage { used: usage.used, size: usage.size },
        SessionUpdate::Notice(notice) => {
            let more = notice.description.map(|text| format!(": {text}")).unwrap_or_default();
            AcpUpdate::Notice { text: to_plain_line(&format!("{}{more}", notice.title), 2_000) }
        }
        _ => return None,
    })
}

fn message(chunk: &ContentChunk) -> Option<String> {
    chunk.message_id.as_ref().map(|id| id.0.to_string())
}
