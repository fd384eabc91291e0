//! The rows that a record becomes. What a compaction does to rows is in `compaction`.
//!
//! Which row a message became must be known when a compaction names the message, also after a restart. The
//! schema has no column for it, so each message that is still shown to the model has a row in `metadata`, under
//! its id. A compaction takes away those that it covers, so there are never more than a context holds.

use jiff::Timestamp;
use ostler_types::{CallEvent, Event, Message, MessageEvent, MessageId, Record, Session, ToolCall};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::Value;

use super::database::{get, put};
use crate::log_id;
use crate::plain_text::{message_text, result_text};
use crate::text::verbose::VerboseFact;

/// Writes rows, inside the transaction that this connection is in.
pub(super) struct RowWriter<'a> {
    pub(super) connection: &'a Connection,
}

/// A row of `messages` before it has its id.
pub(super) struct NewMessageRow<'a> {
    pub(super) role: &'a str,
    pub(super) content: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) tool_call_id: Option<&'a str>,
    pub(super) tool_calls: Option<String>,
    pub(super) tokens: Option<u64>,
    pub(super) timestamp: Timestamp,
    pub(super) summary_of: Option<&'a str>,
}

impl<'a> RowWriter<'a> {
    pub(super) fn new(connection: &'a Connection) -> RowWriter<'a> {
        RowWriter { connection }
    }

    /// Says what session it is.
    pub(super) fn describe(&self, session: &Session) -> Result<(), rusqlite::Error> {
        let parent = session.parent_session_id.map(|id| id.to_string());
        let described = [
            ("log_id", Some(log_id(session))),
            ("created_at", Some(session.created_at.to_string())),
            ("workspace", Some(session.workspace_path.clone())),
            ("agent", Some(session.agent.clone())),
            ("model", Some(session.model.clone())),
            ("mode", Some(session.mode.clone())),
            ("title", session.title.clone()),
            ("parent_id", parent),
        ];
        described.iter().try_for_each(|(key, value)| put(self.connection, key, value.as_deref()))
    }

    /// Adds the session's own instructions, which stand before every message.
    pub(super) fn add_system_prompt(&self, session: &Session) -> Result<Option<i64>, rusqlite::Error> {
        let Some(prompt) = &session.system_prompt else { return Ok(None) };
        let row = NewMessageRow { timestamp: session.created_at, ..NewMessageRow::new("system", prompt) };
        self.insert(&row).map(Some)
    }

    /// Adds the message that a record brings, if it brings one.
    pub(super) fn add_message(&self, record: &Record) -> Result<(), rusqlite::Error> {
        match &record.event {
            Event::Message(MessageEvent::Added { message, .. }) => self.add(message, None),
            Event::Message(MessageEvent::ModelOutputCompleted { message, usage, .. }) => {
                self.add(message, Some(usage.output_tokens).filter(|tokens| *tokens > 0))
            }
            Event::Call(CallEvent::Completed { tool_call, tool_result, message_id, .. }) => {
                let text = result_text(tool_result);
                let row = self.insert(&NewMessageRow {
                    name: Some(&tool_call.name),
                    tool_call_id: Some(&tool_call.id.0),
                    timestamp: record.ts,
                    ..NewMessageRow::new("tool", &text)
                })?;
                self.remember(*message_id, row)
            }
            Event::Session(_)
            | Event::Message(MessageEvent::Queued { .. } | MessageEvent::Withdrawn { .. })
            | Event::Turn(_)
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Call(CallEvent::Started { .. })
            | Event::Approval(_)
            | Event::Workspace(_)
            | Event::Agent(_)
            | Event::Child(_) => Ok(()),
        }
    }

    /// Adds what the verbose stream tells.
    pub(super) fn add_fact(&self, fact: &VerboseFact, at: Timestamp) -> Result<(), rusqlite::Error> {
        let row = fact.message_id.map(|id| self.row_of(id)).transpose()?.flatten();
        let sql = "INSERT INTO events (message_id, event_type, data, timestamp) VALUES (?1, ?2, ?3, ?4)";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.execute(params![row, fact.name(), fact.data().to_string(), seconds(at)])?;
        Ok(())
    }

    /// The row of a message that is still shown to the model.
    pub(super) fn row_of(&self, id: MessageId) -> Result<Option<i64>, rusqlite::Error> {
        Ok(get(self.connection, &message_key(id))?.and_then(|row| row.parse().ok()))
    }

    pub(super) fn remember(&self, id: MessageId, row: i64) -> Result<(), rusqlite::Error> {
        put(self.connection, &message_key(id), Some(&row.to_string()))
    }

    pub(super) fn insert(&self, row: &NewMessageRow<'_>) -> Result<i64, rusqlite::Error> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO messages (role, content, name, tool_call_id, tool_calls, tokens, timestamp, summary_of) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        // More tokens than an INTEGER holds are more than anybody counts.
        let tokens = row.tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
        statement.insert(params![
            row.role,
            row.content,
            row.name,
            row.tool_call_id,
            row.tool_calls,
            tokens,
            seconds(row.timestamp),
            row.summary_of,
        ])
    }

    fn add(&self, message: &Message, tokens: Option<u64>) -> Result<(), rusqlite::Error> {
        let text = message_text(message);
        let row = self.insert(&NewMessageRow {
            tool_calls: tool_calls(message),
            tokens,
            timestamp: message.created_at,
            ..NewMessageRow::new(message.role.as_str(), &text)
        })?;
        self.remember(message.id, row)
    }
}

impl<'a> NewMessageRow<'a> {
    /// A row with nothing but who said what.
    pub(super) fn new(role: &'a str, content: &'a str) -> NewMessageRow<'a> {
        NewMessageRow {
            role,
            content,
            name: None,
            tool_call_id: None,
            tool_calls: None,
            tokens: None,
            timestamp: Timestamp::UNIX_EPOCH,
            summary_of: None,
        }
    }
}

/// A call in the words of the column.
#[derive(Serialize)]
struct ToolCallCell<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a Value,
}

fn tool_calls(message: &Message) -> Option<String> {
    let call = |call: &'_ ToolCall| {
        let call = ToolCallCell { id: &call.id.0, name: &call.name, arguments: &call.input };
        serde_json::to_string(&call).expect("a call is JSON")
    };
    let calls: Vec<String> = message.tool_calls().map(call).collect();
    (!calls.is_empty()).then(|| format!("[{}]", calls.join(",")))
}

fn message_key(id: MessageId) -> String {
    format!("message:{id}")
}

/// A time as these columns hold it.
fn seconds(at: Timestamp) -> f64 {
    at.as_microsecond() as f64 / 1e6
}
