//! A session from another program's transcript: turns that answer messages, as if they had happened here.
//!
//! Such a file tells what tools said, and not what they were asked. Each result is given a call with nothing in it,
//! because a result without a call is one that no model accepts.

use std::io::BufRead;

use jiff::Timestamp;
use ostler_types::{
    BatchEvent, CallEvent, CallName, Event, Message, MessageEvent, MessageId, NewRecord, Part, Purpose, Role,
    ToolCall, ToolCallId, ToolResult, TurnEvent, TurnId, Usage,
};
use serde_json::json;
use uuid::Uuid;

use super::ImportError;
use super::imported_lines::ImportedLines;
use crate::text::transcript::{TranscriptLine, TranscriptSpeaker};

/// Reads the records that follow the creation of a session. `model` is who is said to have answered, and `next_id`
/// makes the ids.
pub fn read_transcript(
    input: impl BufRead,
    model: &str,
    next_id: &mut dyn FnMut() -> Uuid,
) -> Result<Vec<NewRecord>, ImportError> {
    let mut lines = ImportedLines::new(input);
    let mut telling =
        TranscriptImport { model, next_id, records: Vec::new(), turn: None, pending_answer: None };
    while let Some(line) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        let line: TranscriptLine = serde_json::from_str(&line)
            .map_err(|error| lines.damaged(format!("it is not a line of a transcript ({error})")))?;
        let at = Timestamp::from_millisecond(line.timestamp)
            .map_err(|_| lines.damaged("its timestamp is no time in milliseconds"))?;
        telling.add_line(line, at);
    }
    telling.end_turn();
    Ok(telling.records)
}

/// A transcript on its way to records.
struct TranscriptImport<'a> {
    model: &'a str,
    next_id: &'a mut dyn FnMut() -> Uuid,
    records: Vec<NewRecord>,
    turn: Option<ImportedTurn>,
    /// The answer read last, until it is known which results follow it.
    pending_answer: Option<PendingAnswer>,
}

struct ImportedTurn {
    id: TurnId,
    answered: bool,
    last: Timestamp,
}

struct PendingAnswer {
    text: String,
    at: Timestamp,
    results: Vec<(String, String, Timestamp)>,
}

impl TranscriptImport<'_> {
    fn add_line(&mut self, line: TranscriptLine, at: Timestamp) {
        match line.role {
            TranscriptSpeaker::User if line.content.is_empty() => {}
            TranscriptSpeaker::User => self.add_prompt(line.content, at),
            TranscriptSpeaker::Assistant => {
                self.record_answer();
                self.pending_answer = Some(PendingAnswer { text: line.content, at, results: Vec::new() });
            }
            TranscriptSpeaker::ToolResult => {
                let name = line.tool_name.unwrap_or_else(|| "tool".to_owned());
                let said = self.pending_answer.get_or_insert_with(|| PendingAnswer {
                    text: String::new(),
                    at,
                    results: Vec::new(),
                });
                said.results.push((name, line.content, at));
            }
        }
    }

    fn add_prompt(&mut self, text: String, at: Timestamp) {
        self.record_answer();
        if self.turn.as_ref().is_some_and(|turn| turn.answered) {
            self.end_turn();
        }
        let message = self.message(Role::User, vec![Part::text(text)], at);
        let id = message.id;
        let begins = self.turn.is_none();
        if begins {
            self.turn = Some(ImportedTurn { id: TurnId::new((self.next_id)()), answered: false, last: at });
        }
        self.record(at, Event::Message(MessageEvent::Added { message, idempotency_key: None }));
        if begins {
            self.start_turn(vec![id], at);
        }
    }

    /// Records the answer that was read last, with its calls and their results.
    fn record_answer(&mut self) {
        let Some(PendingAnswer { text, at, results }) = self.pending_answer.take() else { return };
        if text.is_empty() && results.is_empty() {
            return;
        }
        if self.turn.is_none() {
            self.turn = Some(ImportedTurn { id: TurnId::new((self.next_id)()), answered: false, last: at });
            self.start_turn(Vec::new(), at);
        }
        let calls: Vec<ToolCall> = results
            .iter()
            .map(|(name, ..)| {
                let id = ToolCallId(format!("call_{}", (self.next_id)().simple()));
                ToolCall { id, name: name.clone(), input: json!({}) }
            })
            .collect();
        let text = (!text.is_empty()).then(|| Part::text(text));
        let parts = text.into_iter().chain(calls.iter().map(|call| Part::ToolCall { call: call.clone() }));
        let message = self.message(Role::Assistant, parts.collect(), at);
        let stop_reason = if calls.is_empty() { "end_turn" } else { "tool_use" }.to_owned();
        self.record(
            at,
            Event::Message(MessageEvent::ModelOutputCompleted {
                message,
                stop_reason,
                usage: Usage::default(),
            }),
        );
        if !calls.is_empty() {
            let tool_calls = calls.iter().map(|call| call.id.clone()).collect();
            self.record(at, Event::Batch(BatchEvent::Started { tool_calls, parallel: false }));
            for (call, (_, text, at)) in calls.into_iter().zip(results) {
                self.record_result(call, text, at);
            }
            self.record_last(Event::Batch(BatchEvent::Completed {}));
        }
        self.turn.iter_mut().for_each(|turn| turn.answered = true);
    }

    fn record_result(&mut self, call: ToolCall, text: String, at: Timestamp) {
        let parts = vec![Part::text(text)];
        let tool_result = ToolResult {
            id: call.id.clone(),
            ok: true,
            parts,
            error: None,
            artifacts: Vec::new(),
            details: None,
        };
        let message_id = MessageId::new((self.next_id)());
        let tool_call = CallName { id: call.id, name: call.name };
        self.record(
            at,
            Event::Call(CallEvent::Completed { tool_call, tool_result, duration_ms: 0, message_id }),
        );
    }

    fn start_turn(&mut self, message_ids: Vec<MessageId>, at: Timestamp) {
        let model = self.model.to_owned();
        self.record(at, Event::Turn(TurnEvent::Started { message_ids, model, purpose: Purpose::default() }));
    }

    fn end_turn(&mut self) {
        self.record_answer();
        self.record_last(Event::Turn(TurnEvent::Completed {
            stop_reason: "end_turn".to_owned(),
            usage: Usage::default(),
            verified: None,
            verification: None,
        }));
        self.turn = None;
    }

    fn message(&mut self, role: Role, parts: Vec<Part>, at: Timestamp) -> Message {
        Message { id: MessageId::new((self.next_id)()), role, parts, created_at: at }
    }

    /// Records what the turn comes to, when the last thing in it has happened.
    fn record_last(&mut self, event: Event) {
        if let Some(turn) = &self.turn {
            self.record(turn.last, event);
        }
    }

    fn record(&mut self, ts: Timestamp, event: Event) {
        let turn_id = self.turn.as_mut().map(|turn| {
            turn.last = ts;
            turn.id
        });
        self.records.push(NewRecord { ts, turn_id, event });
    }
}
