//! A session's description and its conversation, in this wire's words.

use ostler_engine::{Engine, EngineError};
use ostler_types::{Message, Part, Role, Session, SessionId, SessionView, TurnId, TurnStatus};

use super::frames::{RunInfo, RunStatus, SessionMeta, TranscriptMessage, TranscriptRole};
use super::translate::to_wire_tool;
use super::workspace_agents;

/// The longest label, in characters.
const MAX_LABEL_CHARS: usize = 56;
/// Messages that are read at a time.
const PAGE: usize = 200;
/// Bytes of messages that one answer holds, more or less; the oldest are left out beyond it.
const MAX_BYTES: usize = 8 << 20;

/// What there is to say of a session.
pub(super) fn session_meta(session: &Session) -> SessionMeta {
    let agent_id = match session.agent.as_str() {
        "native" => workspace_agents::agent_id_of_prompt(session.system_prompt.as_deref())
            .unwrap_or(workspace_agents::DEFAULT_AGENT),
        other => other,
    };
    SessionMeta {
        key: session.id.uuid(),
        agent_id: agent_id.to_owned(),
        created_at: session.created_at.as_millisecond(),
        updated_at: session.updated_at.as_millisecond(),
        label: session.title.clone(),
    }
}

/// How a session's newest run stands.
pub(super) fn last_run(view: &SessionView) -> Option<RunInfo> {
    let turn = view.turns.last()?;
    let status = match turn.status {
        TurnStatus::Running => RunStatus::Running,
        TurnStatus::Completed => RunStatus::Completed,
        TurnStatus::Failed => RunStatus::Failed,
        TurnStatus::Canceled => RunStatus::Aborted,
    };
    Some(RunInfo { run_id: turn.id.uuid(), status, message: turn.error.clone() })
}

/// The beginning of a message, in a line.
pub(super) fn label(message: &str) -> String {
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_LABEL_CHARS) {
        None => words,
        Some(_) => words.chars().take(MAX_LABEL_CHARS - 1).chain(['…']).collect(),
    }
}

/// The last messages of a session as it stands in `view`, oldest first, those that wait for their turn included.
pub(super) async fn messages(
    engine: &Engine,
    view: &SessionView,
    limit: usize,
) -> Result<Vec<TranscriptMessage>, EngineError> {
    let queue = view.queue.iter().rev();
    let queued = queue.filter_map(|queued| to_transcript_message(&queued.message, Some(queued.turn_id)));
    let mut newest_first: Vec<TranscriptMessage> = queued.take(limit).collect();
    let mut bytes = 0;
    let mut before = Some(view.last_seq + 1);
    while let Some(end) = before.filter(|_| newest_first.len() < limit && bytes < MAX_BYTES) {
        let page = engine.messages(view.session.id, Some(end), PAGE.min(limit)).await?;
        for (message, turn_id) in page.messages.iter().zip(&page.turn_ids).rev() {
            if newest_first.len() < limit && bytes < MAX_BYTES {
                bytes += message.size();
                newest_first.extend(to_transcript_message(message, *turn_id));
            }
        }
        before = page.before;
    }
    newest_first.reverse();
    Ok(newest_first)
}

/// A session's key as an id, for errors.
pub(super) fn not_found(session: SessionId) -> String {
    format!("Session not found: {}", session.uuid())
}

/// A message as this wire writes it; none for what nobody said to anybody here.
fn to_transcript_message(message: &Message, turn_id: Option<TurnId>) -> Option<TranscriptMessage> {
    let role = match message.role {
        Role::System => return None,
        Role::User => TranscriptRole::User,
        Role::Assistant => TranscriptRole::Assistant,
        Role::Tool => TranscriptRole::ToolResult,
    };
    let content = message.text();
    // A message that only asks for calls shows in their results.
    if role == TranscriptRole::Assistant && content.is_empty() {
        return None;
    }
    let tool_name = message.parts.iter().find_map(|part| match part {
        Part::ToolResult { name, .. } => Some(to_wire_tool(name).to_owned()),
        Part::Text { .. }
        | Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::Reasoning { .. }
        | Part::ToolCall { .. } => None,
    });
    let (timestamp, run_id) = (message.created_at.as_millisecond(), turn_id.map(|id| id.uuid()));
    Some(TranscriptMessage { role, content, timestamp, run_id, tool_name })
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_label_is_the_beginning_of_a_message_in_a_line() {
        assert_eq!(label("  Hello,\n my\tname is  Alice. "), "Hello, my name is Alice.");
        let long = "wörd ".repeat(20);
        assert_eq!(label(&long).chars().count(), 56);
        assert!(label(&long).ends_with('…'));
    }
}
