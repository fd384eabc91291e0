//! Sessions to make views of: a builder of records, and what the views of a folder hold.

use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use ostler_types::{
    AgentEvent, CallEvent, CallName, Compaction, CompactionTrigger, Event, Failure, Message, MessageEvent,
    MessageId, NewSession, Part, Purpose, Record, Role, Session, SessionEvent, SessionId, ToolCall,
    ToolCallId, ToolKind, ToolResult, TurnEvent, TurnId, Usage, create,
};
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::{Value, json};
use uuid::Uuid;

/// Records of a session, a second apart.
pub(crate) struct SessionBuilder {
    pub(crate) records: Vec<Record>,
    /// Every message so far.
    pub(crate) messages: Vec<MessageId>,
    /// Every call that has a result.
    pub(crate) calls: Vec<ToolCallId>,
    pub(crate) session: Session,
    turn: Option<TurnId>,
    ids: u128,
}

impl SessionBuilder {
    pub(crate) fn new() -> SessionBuilder {
        SessionBuilder::from_session(NewSession {
            system_prompt: Some("Be brief.\n".into()),
            ..NewSession::new(session_id(), at(0), "/home/me/space", "test:model")
        })
    }

    pub(crate) fn verbose() -> SessionBuilder {
        SessionBuilder::from_session(NewSession {
            verbose_log: true,
            ..NewSession::new(session_id(), at(0), "/home/me/space", "test:model")
        })
    }

    pub(crate) fn from_session(new: NewSession) -> SessionBuilder {
        let created = create(new).unwrap().remove(0);
        let Event::Session(SessionEvent::Created { session }) = &created else { panic!("{created:?}") };
        let session = session.clone();
        let (records, messages, calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut story = SessionBuilder { records, messages, calls, session, turn: None, ids: 100 };
        story.record(created);
        story
    }

    pub(crate) fn record(&mut self, event: Event) -> &mut SessionBuilder {
        let seq = self.records.len() as u64 + 1;
        let (ts, session_id) = (at(seq as i64), self.session.id);
        self.records.push(Record { seq, ts, session_id, turn_id: self.turn, event });
        self
    }

    pub(crate) fn user(&mut self, text: &str) -> &mut SessionBuilder {
        let message = self.message(Role::User, vec![Part::text(text)]);
        let message_ids = vec![message.id];
        let turn = self.id();
        self.turn = Some(TurnId::new(turn));
        self.record(Event::Message(MessageEvent::Added { message, idempotency_key: None }));
        let model = "test:model".to_owned();
        self.record(Event::Turn(TurnEvent::Started { message_ids, model, purpose: Purpose::default() }))
    }

    /// The model answers; each call is a name and an input.
    pub(crate) fn answer(&mut self, thought: &str, text: &str, calls: &[(&str, Value)]) -> Vec<ToolCall> {
        let calls: Vec<ToolCall> = calls
            .iter()
            .map(|(name, input)| {
                let id = ToolCallId(format!("call_{}", self.id().as_u128()));
                ToolCall { id, name: (*name).to_owned(), input: input.clone() }
            })
            .collect();
        let mut parts = Vec::new();
        if !thought.is_empty() {
            parts.push(Part::Reasoning { text: thought.to_owned(), opaque: None });
        }
        if !text.is_empty() {
            parts.push(Part::text(text));
        }
        parts.extend(calls.iter().map(|call| Part::ToolCall { call: call.clone() }));
        let message = self.message(Role::Assistant, parts);
        let usage = Usage { input_tokens: 120, output_tokens: 34, ..Usage::default() };
        let stop_reason = if calls.is_empty() { "end_turn" } else { "tool_use" }.to_owned();
        self.record(Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, usage }));
        calls
    }

    pub(crate) fn result(&mut self, call: &ToolCall, ok: bool, text: &str) -> &mut SessionBuilder {
        let message_id = MessageId::new(self.id());
        self.messages.push(message_id);
        self.calls.push(call.id.clone());
        let tool_result = if ok {
            let (id, parts) = (call.id.clone(), vec![Part::text(text)]);
            ToolResult { id, ok, parts, error: None, artifacts: Vec::new(), details: None }
        } else {
            ToolResult::failed(call.id.clone(), text)
        };
        let tool_call = CallName { id: call.id.clone(), name: call.name.clone() };
        self.record(Event::Call(CallEvent::Started { tool_call: call.clone(), kind: ToolKind::Read }));
        self.record(Event::Call(CallEvent::Completed { tool_call, tool_result, duration_ms: 12, message_id }))
    }

    pub(crate) fn end_turn(&mut self) -> &mut SessionBuilder {
        let usage = Usage::default();
        let stop_reason = "end_turn".to_owned();
        self.record(Event::Turn(TurnEvent::Completed {
            stop_reason,
            usage,
            verified: None,
            verification: None,
        }));
        self.turn = None;
        self
    }

    pub(crate) fn fail_turn(&mut self, message: &str) -> &mut SessionBuilder {
        let error = Failure { code: "x".into(), message: message.into(), hint: None };
        self.record(Event::Turn(TurnEvent::Failed { error, reason: "error".into() }));
        self.turn = None;
        self
    }

    /// Everything up to a message is summarised, and these calls lose their output.
    pub(crate) fn compact(
        &mut self,
        to: Option<MessageId>,
        summary: &str,
        pruned: Vec<ToolCallId>,
    ) -> &mut SessionBuilder {
        let message = to.map(|_| {
            let parts = vec![Part::text(summary)];
            Message { id: MessageId::new(self.id()), role: Role::User, parts, created_at: at(9) }
        });
        self.messages.extend(message.as_ref().map(|message| message.id));
        let compaction = Compaction {
            from_message_id: self.messages[0],
            to_message_id: to.unwrap_or(self.messages[0]),
            summary_message_id: message.as_ref().map(|message| message.id),
            tokens_before: 1000,
            tokens_after: 100,
            trigger: CompactionTrigger::Asked,
            summary: message,
            pruned,
            first_kept_seq: 1,
        };
        self.record(Event::Agent(AgentEvent::ContextCompacted { compaction }))
    }

    pub(crate) fn set_verbose(&mut self, verbose: bool) -> &mut SessionBuilder {
        self.session.verbose_log = verbose;
        let session = self.session.clone();
        self.record(Event::Session(SessionEvent::Updated { session }))
    }

    /// A session in which most things happen once.
    pub(crate) fn eventful(verbose: bool) -> SessionBuilder {
        let mut story = if verbose { SessionBuilder::verbose() } else { SessionBuilder::new() };
        story.user("Fix `main.rs`, please\n");
        let calls = story.answer(
            "I should look first.",
            "Looking.",
            &[("read_file", json!({"path": "main.rs"})), ("shell", json!({"command": "cargo test"}))],
        );
        story.result(&calls[0], true, "fn main() {\n    println!(\"```\");\n}\n");
        story.result(&calls[1], false, "exit code 1");
        story.answer("", "Done: **one** change.", &[]);
        story.end_turn();
        story.user("Thanks").fail_turn("the provider is gone");
        story
    }

    fn message(&mut self, role: Role, parts: Vec<Part>) -> Message {
        let id = MessageId::new(self.id());
        self.messages.push(id);
        Message { id, role, parts, created_at: at(self.records.len() as i64 + 1) }
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }
}

pub(crate) fn session_id() -> SessionId {
    // 2026-03-04 05:06:07.089 UTC, as a UUIDv7.
    SessionId::new(Uuid::from_u128(1_772_600_767_089 << 80 | 7 << 76 | 0b10 << 62 | 0xabcdef))
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-03-04T05:06:07.089Z".parse().unwrap();
    start + SignedDuration::from_secs(seconds)
}

/// All rows of all tables and all text files of a folder.
#[derive(Debug, PartialEq)]
pub(crate) struct ViewContents {
    pub(crate) tables: Vec<(String, Vec<Vec<Cell>>)>,
    pub(crate) texts: Vec<(&'static str, Option<String>)>,
}

/// What the views of a folder hold; they must not be open.
pub(crate) fn view_contents(dir: &Path) -> ViewContents {
    let connection = Connection::open(dir.join("session.db")).unwrap();
    let tables = ["schema_version", "messages", "metadata", "events", "sqlite_sequence"];
    let tables = tables.iter().map(|name| ((*name).to_owned(), rows(&connection, name))).collect();
    let texts = ["context.md", "transcript.jsonl", "verbose.md"];
    let texts = texts.map(|name| (name, fs::read_to_string(dir.join(name)).ok())).to_vec();
    ViewContents { tables, texts }
}

fn rows(connection: &Connection, table: &str) -> Vec<Vec<Cell>> {
    // What is written where and when is no part of what a view says.
    let only = if table == "metadata" { " WHERE key <> 'written_in_boot'" } else { "" };
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}{only} ORDER BY 1")).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
    statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

/// One cell of the database.
pub(crate) fn cell(dir: &Path, sql: &str) -> Cell {
    let connection = Connection::open(dir.join("session.db")).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// One column of the database, as text.
pub(crate) fn column(dir: &Path, sql: &str) -> Vec<String> {
    let connection = Connection::open(dir.join("session.db")).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let text = |row: &rusqlite::Row<'_>| {
        Ok(match row.get::<_, Cell>(0)? {
            Cell::Null => "NULL".to_owned(),
            Cell::Integer(number) => number.to_string(),
            Cell::Real(number) => number.to_string(),
            Cell::Text(text) => text,
            Cell::Blob(_) => panic!("no blobs here"),
        })
    };
    statement.query_map([], text).unwrap().collect::<Result<_, _>>().unwrap()
}
