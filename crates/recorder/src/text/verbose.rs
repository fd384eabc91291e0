//! What the verbose stream knows beyond the conversation: thinking, times, tokens. The same facts become rows of
//! `events` and text of `verbose.md`.

use std::fmt::Write;

use jiff::Timestamp;
use ostler_types::{
    CallEvent, Event, MessageEvent, MessageId, Part, Record, StepEvent, TurnEvent, Usage, WorkspaceEvent,
    printable,
};
use serde_json::{Map, Value, json};

use super::{day_and_time, time_of_day};

/// Something that a record tells beside what was said.
#[derive(Debug, PartialEq)]
pub(crate) struct VerboseFact {
    /// The message that it is about, if one.
    pub(crate) message_id: Option<MessageId>,
    kind: VerboseFactKind,
}

#[derive(Debug, PartialEq)]
enum VerboseFactKind {
    Thinking(String),
    Timing { operation: String, duration_ms: u64, details: Map<String, Value> },
    Tokens(Usage),
}

/// The facts of a record. `turn_started` is when the turn that it belongs to began.
pub(crate) fn facts(record: &Record, turn_started: Option<Timestamp>) -> Vec<VerboseFact> {
    match &record.event {
        Event::Message(MessageEvent::ModelOutputCompleted { message, usage, .. }) => {
            let about = |kind| VerboseFact { message_id: Some(message.id), kind };
            let thoughts = message
                .parts
                .iter()
                .filter_map(|part| if let Part::Reasoning { text, .. } = part { Some(text) } else { None });
            let thoughts =
                thoughts.filter(|text| !text.is_empty()).map(|text| VerboseFactKind::Thinking(text.clone()));
            thoughts
                .chain((*usage != Usage::default()).then_some(VerboseFactKind::Tokens(*usage)))
                .map(about)
                .collect()
        }
        Event::Step(StepEvent::UsageRecorded { message_id: None, usage, .. }) => {
            vec![VerboseFact { message_id: None, kind: VerboseFactKind::Tokens(*usage) }]
        }
        Event::Call(CallEvent::Completed { tool_call, tool_result, duration_ms, message_id }) => {
            let details = json!({"tool_call_id": tool_call.id, "ok": tool_result.ok});
            vec![timing(Some(*message_id), &tool_call.name, *duration_ms, details)]
        }
        Event::Workspace(WorkspaceEvent::VerificationCompleted { round, results, .. }) => {
            let one = |result: &ostler_types::CommandResult| {
                let details =
                    json!({"round": round, "command": result.command, "exit_code": result.exit_code});
                timing(None, "verify", result.duration_ms, details)
            };
            results.iter().map(one).collect()
        }
        Event::Step(StepEvent::ModelWaiting { model, attempt, wait_ms, .. }) => {
            vec![timing(None, "model_wait", *wait_ms, json!({"model": model, "attempt": attempt}))]
        }
        Event::Turn(TurnEvent::Completed { .. }) => turn_facts(record, turn_started, "completed"),
        Event::Turn(TurnEvent::Failed { .. }) => turn_facts(record, turn_started, "failed"),
        Event::Turn(TurnEvent::Canceled { .. }) => turn_facts(record, turn_started, "canceled"),
        Event::Session(_)
        | Event::Message(_)
        | Event::Turn(TurnEvent::Started { .. } | TurnEvent::Retried { .. })
        | Event::Step(
            StepEvent::ModelResolved { .. }
            | StepEvent::UsageRecorded { .. }
            | StepEvent::ReasoningCompleted { .. },
        )
        | Event::Batch(_)
        | Event::Call(CallEvent::Started { .. })
        | Event::Approval(_)
        | Event::Workspace(
            WorkspaceEvent::CheckpointCreated { .. }
            | WorkspaceEvent::CheckpointFailed { .. }
            | WorkspaceEvent::PatchReviewRequested { .. }
            | WorkspaceEvent::VerificationStarted { .. },
        )
        | Event::Agent(_)
        | Event::Child(_) => Vec::new(),
    }
}

impl VerboseFact {
    /// What the column `event_type` says.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            VerboseFactKind::Thinking(_) => "thinking",
            VerboseFactKind::Timing { .. } => "timing",
            VerboseFactKind::Tokens(_) => "token_usage",
        }
    }

    /// What the column `data` holds.
    pub(crate) fn data(&self) -> Value {
        match &self.kind {
            VerboseFactKind::Thinking(content) => json!({"content": content}),
            VerboseFactKind::Timing { operation, duration_ms, details } => {
                let mut data = Map::new();
                data.insert("operation".to_owned(), json!(operation));
                data.insert("duration_ms".to_owned(), json!(duration_ms));
                data.extend(details.clone());
                Value::Object(data)
            }
            VerboseFactKind::Tokens(usage) => {
                let total = usage.input_tokens.saturating_add(usage.output_tokens);
                json!({
                    "prompt_tokens": usage.input_tokens,
                    "completion_tokens": usage.output_tokens,
                    "total_tokens": total,
                })
            }
        }
    }

    /// Adds it to the page.
    pub(crate) fn write(&self, at: Timestamp, page: &mut String) {
        let at = time_of_day(at);
        let written = match &self.kind {
            VerboseFactKind::Thinking(content) => {
                write!(page, "### Thinking [{at}]\n\n{}\n\n", printable(content.trim_end()))
            }
            VerboseFactKind::Timing { operation, duration_ms, details } => {
                let details: Vec<String> =
                    details.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
                let (operation, details) = (printable(operation), details.join(", "));
                write!(page, "**{operation}** [{at}]: {duration_ms}.0ms ({})\n\n", printable(&details))
            }
            VerboseFactKind::Tokens(usage) => {
                let (prompt, completion) = (usage.input_tokens, usage.output_tokens);
                let total = prompt.saturating_add(completion);
                write!(page, "**Tokens** [{at}]: prompt={prompt}, completion={completion}, total={total}\n\n")
            }
        };
        written.expect("writing to a string cannot fail");
    }
}

/// What the page begins with.
pub(crate) fn head(at: Timestamp) -> String {
    format!("# Verbose Log\n\nStarted: {}\n\n---\n\n", day_and_time(at))
}

fn turn_facts(record: &Record, started: Option<Timestamp>, outcome: &str) -> Vec<VerboseFact> {
    let Some(started) = started else { return Vec::new() };
    let taken = record.ts.as_millisecond().saturating_sub(started.as_millisecond());
    let details = json!({"turn_id": record.turn_id, "outcome": outcome});
    vec![timing(None, "turn", u64::try_from(taken).unwrap_or(0), details)]
}

fn timing(message_id: Option<MessageId>, operation: &str, duration_ms: u64, details: Value) -> VerboseFact {
    let details = if let Value::Object(details) = details { details } else { Map::new() };
    VerboseFact {
        message_id,
        kind: VerboseFactKind::Timing { operation: operation.to_owned(), duration_ms, details },
    }
}

fn plain(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
