//! A record in one line, for `logs` and `watch`: its place, its time, its name and what it is about.

use ostler_client::actor_name;
use ostler_types::{
    AgentEvent, ApprovalEvent, BatchEvent, CallEvent, ChildEvent, Event, Message, MessageEvent, Record, Role,
    SessionEvent, StepEvent, ToolCall, TurnEvent, Usage, WorkspaceEvent, in_one_line,
};

use super::formatting::{counted, duration, money, with_reason};

/// Characters of what a record is about.
const MAX_SUMMARY_CHARS: usize = 160;
/// Characters of a name, for the column.
const NAME_COLUMN_CHARS: usize = 22;

/// A record as a line, without its end.
pub fn record_line(record: &Record) -> String {
    let time = record.ts.to_string();
    let time = time.get(11..19).unwrap_or(&time);
    let (seq, name, about) = (record.seq, record.event.name(), event_summary(&record.event));
    format!("{seq:>5}  {time}  {name:<NAME_COLUMN_CHARS$}  {about}").trim_end().to_owned()
}

/// What an event is about, in a few words on one line.
pub fn event_summary(event: &Event) -> String {
    in_one_line(&event_words(event), MAX_SUMMARY_CHARS)
}

fn event_words(event: &Event) -> String {
    match event {
        Event::Session(SessionEvent::Created { session })
        | Event::Session(SessionEvent::Updated { session }) => {
            format!("{} with {} in {}", session.agent, session.model, session.workspace_path)
        }
        Event::Session(SessionEvent::Completed { by }) => format!("closed by {}", actor_name(by)),
        Event::Session(SessionEvent::Failed { error }) | Event::Turn(TurnEvent::Failed { error, .. }) => {
            error.message.clone()
        }
        Event::Session(SessionEvent::Canceled { by, reason })
        | Event::Turn(TurnEvent::Canceled { by, reason }) => {
            with_reason(&format!("by {}", actor_name(by)), reason.as_deref())
        }
        Event::Message(MessageEvent::Added { message, .. }) => message_text(message),
        Event::Message(MessageEvent::Queued { queued, .. }) => message_text(&queued.message),
        Event::Message(MessageEvent::Withdrawn { by, .. }) => format!("by {}", actor_name(by)),
        Event::Turn(TurnEvent::Started { model, .. }) => model.clone(),
        Event::Turn(TurnEvent::Retried { retry_of }) => retry_of.to_string(),
        Event::Turn(TurnEvent::Completed { usage, verified, verification, .. }) => {
            let verified = match (verification, verified) {
                (Some(said), _) => format!(", {said}"),
                (None, Some(true)) => ", verified".to_owned(),
                (None, Some(false)) => ", not verified".to_owned(),
                (None, None) => String::new(),
            };
            usage_text(usage) + &verified
        }
        Event::Step(StepEvent::ModelResolved { resolution }) => {
            format!("{}: {}", resolution.model, resolution.detail)
        }
        Event::Step(StepEvent::ModelWaiting { model, attempt, attempts, wait_ms, error }) => {
            let again =
                format!("retrying {model} in {} (attempt {attempt} of {attempts})", duration(*wait_ms));
            with_reason(&again, Some(&error.message))
        }
        Event::Step(StepEvent::UsageRecorded { model, usage, .. }) => {
            format!("{model}: {}", usage_text(usage))
        }
        Event::Step(StepEvent::ReasoningCompleted { bytes, .. }) => format!("{bytes} bytes"),
        Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => message_text(message),
        Event::Agent(AgentEvent::Updated { .. }) | Event::Batch(BatchEvent::Completed { .. }) => {
            String::new()
        }
        Event::Agent(AgentEvent::ContextCompacted { compaction }) => {
            format!("from about {} to {} tokens", compaction.tokens_before, compaction.tokens_after)
        }
        Event::Child(ChildEvent::Started { session_id, description, .. }) => {
            format!("{description}  {session_id}")
        }
        Event::Child(ChildEvent::Completed { session_id, outcome }) => with_reason(
            &format!("{:?}  {session_id}", outcome.status).to_lowercase(),
            outcome.error.as_deref(),
        ),
        Event::Batch(BatchEvent::Started { .. } | BatchEvent::Halted { .. })
        | Event::Call(_)
        | Event::Approval(_)
        | Event::Workspace(_) => tool_event_words(event),
    }
}

/// What is about tools, and about what they have changed.
fn tool_event_words(event: &Event) -> String {
    match event {
        Event::Batch(BatchEvent::Started { tool_calls, parallel }) => {
            format!(
                "{}{}",
                counted(tool_calls.len() as u64, "call"),
                if *parallel { ", in parallel" } else { "" }
            )
        }
        Event::Batch(BatchEvent::Halted { tool_call_id }) => tool_call_id.to_string(),
        Event::Call(CallEvent::Started { tool_call, .. }) => call(tool_call),
        Event::Call(CallEvent::Completed { tool_call, tool_result, duration_ms, .. }) => {
            let outcome = if tool_result.ok { "ok" } else { "failed" };
            format!("{}: {outcome} ({})", tool_call.name, duration(*duration_ms))
        }
        Event::Approval(ApprovalEvent::Requested { tool_call, summary, .. }) => {
            format!("{} {}: {summary}", tool_call.id, tool_call.name)
        }
        Event::Approval(ApprovalEvent::Granted { tool, by, reason, .. })
        | Event::Approval(ApprovalEvent::Denied { tool, by, reason, .. }) => {
            with_reason(&format!("{tool} by {}", actor_name(by)), reason.as_deref())
        }
        Event::Workspace(WorkspaceEvent::CheckpointCreated { files, .. }) => counted(*files, "file"),
        Event::Workspace(WorkspaceEvent::CheckpointFailed { reason, .. }) => reason.clone(),
        Event::Workspace(WorkspaceEvent::PatchReviewRequested { files, more, .. }) => {
            counted(files.len() as u64 + more, "file")
        }
        Event::Workspace(WorkspaceEvent::VerificationStarted { commands, .. }) => commands.join("; "),
        Event::Workspace(WorkspaceEvent::VerificationCompleted { ok: true, .. }) => "ok".to_owned(),
        Event::Workspace(WorkspaceEvent::VerificationCompleted { results, .. }) => {
            let failed = results.iter().find(|result| result.exit_code != Some(0));
            failed.map_or_else(|| "failed".to_owned(), |failed| format!("failed: {}", failed.command))
        }
        _ => String::new(),
    }
}

fn message_text(message: &Message) -> String {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
        Role::System => "system",
        Role::Tool => "tool",
    };
    let calls: Vec<String> = message.tool_calls().map(call).collect();
    let text = message.text();
    match (text.trim(), calls.is_empty()) {
        ("", false) => format!("{who} calls {}", calls.join(", ")),
        (text, _) => format!("{who}: {text}"),
    }
}

/// What a call acts on, in a line: of the tools of the daemon the argument that says it, of any other the whole input.
pub(super) fn subject(call: &ToolCall) -> String {
    let argument = match call.name.as_str() {
        "shell" if call.input.get("cwd").is_none() => Some("command"),
        "read_file" | "write_file" | "edit_file" => Some("path"),
        "web_fetch" => Some("url"),
        _ => None,
    };
    let text = argument.and_then(|name| call.input.get(name)).and_then(serde_json::Value::as_str);
    text.map_or_else(|| call.input.to_string(), str::to_owned)
}

fn call(call: &ToolCall) -> String {
    format!("{}  {}", call.name, subject(call))
}

fn usage_text(usage: &Usage) -> String {
    let tokens = format!("{} tokens in, {} out", usage.input_tokens, usage.output_tokens);
    usage
        .cost_usd
        .filter(|cost| cost.nanos() > 0)
        .map_or(tokens.clone(), |cost| format!("{tokens}, {}", money(cost)))
}

#[cfg(test)]
mod tests {
    use ostler_types::Record;
    use serde_json::json;

    use super::record_line;

    fn line(name: &str, data: &serde_json::Value) -> String {
        let record = json!({"seq": 7, "ts": "2026-03-02T09:15:09.8Z", "session_id": "sess_019cadd4669a7e89847f69d1b85501d3",
            "turn_id": null, "type": name, "data": data});
        record_line(&serde_json::from_value::<Record>(record).unwrap())
    }

    #[test]
    fn every_event_has_a_line() {
        let log = include_str!("../../../../testdata/logs/v1-every-event/events.ndjson");
        for text in log.lines() {
            let line = record_line(&serde_json::from_str::<Record>(text).unwrap());
            assert!(!line.contains('\n') && line.split_whitespace().count() >= 3, "{line}");
        }
    }

    #[test]
    fn a_record_is_one_line_whatever_stands_in_it() {
        assert_eq!(
            line("turn_canceled", &json!({"by": "http", "reason": "enough\n\u{1b}[2Jof it"})),
            "    7  09:15:09  turn_canceled           by an HTTP client: enough ⏎ of it"
        );
        assert_eq!(line("tool_batch_completed", &json!({})), "    7  09:15:09  tool_batch_completed");
        let usage = json!({"input_tokens": 3, "output_tokens": 4, "cost_usd": 0.25});
        let completed = json!({"stop_reason": "end", "usage": usage, "verified": true});
        assert!(line("turn_completed", &completed).ends_with("3 tokens in, 4 out, $0.25, verified"));
    }
}
