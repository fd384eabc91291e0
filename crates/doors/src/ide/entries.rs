//! A conversation in this wire's words. Each part of a message is an entry of its own, and a call and its result are
//! one; the ids are the same in a history and in what is told as it happens.

use ostler_acp::AGENT_TOOL_PREFIX;
use ostler_engine::{Engine, EngineError};
use ostler_types::{Message, MessageId, Part, Role, SessionView, ToolCall, ToolCallId, TurnId};

use super::frames::{IdeCallStatus, IdeEntry, format_time};

/// Messages that are read at a time.
const PAGE: usize = 200;
/// Bytes of messages in one history, more or less; the oldest are left out beyond it.
const MAX_BYTES: usize = 8 << 20;

/// The conversation of a session as it stands in `view`, with what waits for its turn at the end.
pub(super) async fn history(engine: &Engine, view: &SessionView) -> Result<Vec<IdeEntry>, EngineError> {
    let (mut pages, mut bytes) = (Vec::new(), 0);
    let mut before = Some(view.last_seq + 1);
    while let Some(end) = before.filter(|_| bytes < MAX_BYTES) {
        let page = engine.messages(view.session.id, Some(end), PAGE).await?;
        bytes += page.messages.iter().map(Message::size).sum::<usize>();
        before = page.before;
        pages.push(page);
    }
    let mut entries = Vec::new();
    for page in pages.iter().rev() {
        page.messages
            .iter()
            .zip(&page.turn_ids)
            .for_each(|(message, turn)| append_message(message, *turn, &mut entries));
    }
    view.queue.iter().for_each(|queued| append_message(&queued.message, Some(queued.turn_id), &mut entries));
    Ok(entries)
}

/// Adds what a message says to what was said before.
fn append_message(message: &Message, turn_id: Option<TurnId>, entries: &mut Vec<IdeEntry>) {
    match message.role {
        Role::System => {}
        Role::User => entries.push(user_entry(message)),
        Role::Assistant => entries.extend(assistant_entries(message, turn_id)),
        Role::Tool => {
            for part in &message.parts {
                if let Part::ToolResult { tool_call_id, name, ok, text, .. } = part {
                    let entry = tool_result_entry(
                        turn_id,
                        tool_call_id,
                        name,
                        if *ok { Ok(text) } else { Err(text) },
                    );
                    match entries.iter_mut().rev().find(|known| known.id() == entry.id()) {
                        Some(known) => *known = entry.named_as(known),
                        None => entries.push(entry),
                    }
                }
            }
        }
    }
}

/// What a person said.
pub(super) fn user_entry(message: &Message) -> IdeEntry {
    let entry_id = message.id.to_string();
    IdeEntry::User { entry_id, content: message.text(), timestamp: format_time(message.created_at) }
}

/// What the model said, thought and asked for, in order.
pub(super) fn assistant_entries(message: &Message, turn_id: Option<TurnId>) -> Vec<IdeEntry> {
    let entry = |(part, index): (&Part, u32)| match part {
        Part::Text { text } if !text.is_empty() => Some(IdeEntry::Assistant {
            entry_id: part_id(message.id, index),
            content: text.clone(),
            timestamp: format_time(message.created_at),
        }),
        Part::Reasoning { text, .. } if !text.is_empty() => {
            Some(IdeEntry::Thinking { entry_id: part_id(message.id, index), content: text.clone() })
        }
        Part::ToolCall { call } => Some(IdeEntry::ToolCall {
            entry_id: call_id(turn_id, &call.id),
            tool_call_id: call.id.0.clone(),
            name: call_title(call),
            status: IdeCallStatus::Running,
            result: None,
            error: None,
        }),
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::ToolResult { .. } => None,
    };
    message.parts.iter().zip(0_u32..).filter_map(entry).collect()
}

/// The name of a call: an agent's own title of it, or the tool.
fn call_title(call: &ToolCall) -> String {
    let title = call.input["_title"].as_str().filter(|title| !title.is_empty());
    title.filter(|_| call.name.starts_with(AGENT_TOOL_PREFIX)).unwrap_or(&call.name).to_owned()
}

/// A call that has its result, which is what the tool answered or why it did not.
pub(super) fn tool_result_entry(
    turn_id: Option<TurnId>,
    id: &ToolCallId,
    name: &str,
    result: Result<&String, &String>,
) -> IdeEntry {
    IdeEntry::ToolCall {
        entry_id: call_id(turn_id, id),
        tool_call_id: id.0.clone(),
        name: name.to_owned(),
        status: if result.is_ok() { IdeCallStatus::Complete } else { IdeCallStatus::Error },
        result: result.ok().cloned(),
        error: result.err().cloned(),
    }
}

/// The id of the entry that a part of a message is.
pub(super) fn part_id(message_id: MessageId, part: u32) -> String {
    format!("{message_id}.{part}")
}

/// The id of the entry that a call is. Calls have names of their own only within a turn.
fn call_id(turn_id: Option<TurnId>, id: &ToolCallId) -> String {
    match turn_id {
        Some(turn_id) => format!("{turn_id}.{id}"),
        None => id.to_string(),
    }
}
