//! A record in one line, for `logs` and `watch`: its place, its time, its name and what it is about.

use ostler_types::{Event, Message, Record, Role, Rule, ToolCall, Usage};

use super::clean::in_one_line;
use super::words::{duration, money, with_reason};

/// Characters of what a record is about.
const ABOUT: usize = 160;
/// Characters of a name, for the column.
const NAME: usize = 22;

/// A record as a line, without its end.
pub fn record_line(record: &Record) -> String {
    let time = record.ts.to_string();
    let time = time.get(11..19).unwrap_or(&time);
    let (seq, name, about) = (record.seq, record.event.name(), about(&record.event));
    format!("{seq:>5}  {time}  {name:<NAME$}  {about}").trim_end().to_owned()
}

/// What an event is about, in a few words on one line.
pub fn about(event: &Event) -> String {
    in_one_line(&words(event), ABOUT)
}

fn words(event: &Event) -> String {
    match event {
        Event::SessionCreated { session } | Event::SessionUpdated { session } => {
            format!("{} with {} in {}", session.agent, session.model, session.workspace_path)
        }
        Event::SessionCompleted { by } => format!("closed by {by}"),
        Event::SessionFailed { error } | Event::TurnFailed { error, .. } => error.message.clone(),
        Event::SessionCanceled { by, reason } | Event::TurnCanceled { by, reason } => {
            with_reason(&format!("by {by}"), reason.as_deref())
        }
        Event::MessageAdded { message, .. } => said(message),
        Event::MessageQueued { queued, .. } => said(&queued.message),
        Event::MessageWithdrawn { by, .. } => format!("by {by}"),
        Event::TurnStarted { model, .. } => model.clone(),
        Event::TurnRetried { retry_of } => retry_of.to_string(),
        Event::TurnCompleted { usage, verified, verification, .. } => {
            let verified = match (verification, verified) {
                (Some(said), _) => format!(", {said}"),
                (None, Some(true)) => ", verified".to_owned(),
                (None, Some(false)) => ", not verified".to_owned(),
                (None, None) => String::new(),
            };
            spent(usage) + &verified
        }
        Event::ModelResolved { resolution } => format!("{}: {}", resolution.model, resolution.detail),
        Event::ModelWaiting { model, attempt, attempts, wait_ms, error } => {
            let again = format!("{model} again in {} ({attempt} of {attempts})", duration(*wait_ms));
            with_reason(&again, Some(&error.message))
        }
        Event::UsageRecorded { model, usage, .. } => format!("{model}: {}", spent(usage)),
        Event::ReasoningCompleted { bytes, .. } => format!("{bytes} bytes"),
        Event::ModelOutputCompleted { message, .. } => said(message),
        Event::AgentUpdated { .. } | Event::ToolBatchCompleted {} => String::new(),
        Event::ContextCompacted { compaction } => {
            format!("from about {} to {} tokens", compaction.tokens_before, compaction.tokens_after)
        }
        Event::SubagentStarted { session_id, description, .. } => format!("{description}  {session_id}"),
        Event::SubagentCompleted { session_id, outcome } => with_reason(
            &format!("{:?}  {session_id}", outcome.status).to_lowercase(),
            outcome.error.as_deref(),
        ),
        Event::ToolBatchStarted { .. }
        | Event::ToolBatchHalted { .. }
        | Event::ToolCallStarted { .. }
        | Event::ToolCallCompleted { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalGranted { .. }
        | Event::ApprovalDenied { .. }
        | Event::CheckpointCreated { .. }
        | Event::CheckpointFailed { .. }
        | Event::PatchReviewRequested { .. }
        | Event::VerificationStarted { .. }
        | Event::VerificationCompleted { .. } => of_tools(event),
    }
}

/// What is about tools, and about what they have changed.
fn of_tools(event: &Event) -> String {
    match event {
        Event::ToolBatchStarted { tool_calls, parallel } => {
            format!("{} calls{}", tool_calls.len(), if *parallel { ", side by side" } else { "" })
        }
        Event::ToolBatchHalted { tool_call_id } => tool_call_id.to_string(),
        Event::ToolCallStarted { tool_call, .. } => call(tool_call),
        Event::ToolCallCompleted { tool_call, tool_result, duration_ms, .. } => {
            let outcome = if tool_result.ok { "ok" } else { "failed" };
            format!("{}: {outcome} ({})", tool_call.name, duration(*duration_ms))
        }
        Event::ApprovalRequested { tool_call, summary, .. } => {
            format!("{} {}: {summary}", tool_call.id, tool_call.name)
        }
        Event::ApprovalGranted { tool, by, reason, .. } | Event::ApprovalDenied { tool, by, reason, .. } => {
            with_reason(&format!("{tool} by {by}"), reason.as_deref())
        }
        Event::CheckpointCreated { files, .. } => format!("{files} files"),
        Event::CheckpointFailed { reason, .. } => reason.clone(),
        Event::PatchReviewRequested { files, more, .. } => format!("{} files", files.len() as u64 + more),
        Event::VerificationStarted { commands, .. } => commands.join("; "),
        Event::VerificationCompleted { ok: true, .. } => "ok".to_owned(),
        Event::VerificationCompleted { results, .. } => {
            let failed = results.iter().find(|result| result.exit_code != Some(0));
            failed.map_or_else(|| "failed".to_owned(), |failed| format!("failed: {}", failed.command))
        }
        _ => String::new(),
    }
}

fn said(message: &Message) -> String {
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

fn call(call: &ToolCall) -> String {
    format!("{}  {}", call.name, Rule::of(call).subject)
}

fn spent(usage: &Usage) -> String {
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
            "    7  09:15:09  turn_canceled           by http: enough ⏎ of it"
        );
        assert_eq!(line("tool_batch_completed", &json!({})), "    7  09:15:09  tool_batch_completed");
        let usage = json!({"input_tokens": 3, "output_tokens": 4, "cost_usd": 0.25});
        let completed = json!({"stop_reason": "end", "usage": usage, "verified": true});
        assert!(line("turn_completed", &completed).ends_with("3 tokens in, 4 out, $0.25, verified"));
    }
}
