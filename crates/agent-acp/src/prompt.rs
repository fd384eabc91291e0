//! What an agent is sent: the messages that the turn answers, and before them what a session that is new to the
//! agent has to know.

use std::sync::Arc;

use agent_client_protocol::v1::schema::ContentBlock;
use ostler_acp::{AcceptedContent, AcpContentPiece, to_block};
use ostler_agent::TurnContext;
use ostler_types::{Message, MessageId, Part, Role};

use crate::prompts;
use crate::session_opener::AgentMemory;

/// How many bytes of files one prompt carries.
const MAX_FILE_BYTES: usize = 20 << 20;
/// How much of an earlier conversation a new session is told.
const MAX_HISTORY_BYTES: usize = 64 * 1024;
/// How much of one earlier message.
const MAX_MESSAGE_BYTES: usize = 8 * 1024;

/// The prompt that begins a turn.
pub(crate) async fn first_prompt(
    context: &TurnContext,
    memory: &AgentMemory,
    accepts: AcceptedContent,
) -> Vec<ContentBlock> {
    let asked = &context.open_turn.message_ids;
    let messages: Vec<&Arc<Message>> =
        context.history.iter().filter(|message| asked.contains(&message.id)).collect();
    let mut blocks = Vec::new();
    if *memory != AgentMemory::Complete {
        blocks.extend(introduction(context, asked).map(ContentBlock::from));
    }
    blocks.extend(blocks_of(context, messages.into_iter().map(Arc::as_ref), accepts).await);
    if blocks.is_empty() {
        blocks.push(ContentBlock::from(prompts::CONTINUE));
    }
    blocks
}

/// Messages as an agent is sent them.
pub(crate) async fn blocks_of(
    context: &TurnContext,
    messages: impl Iterator<Item = &Message>,
    accepts: AcceptedContent,
) -> Vec<ContentBlock> {
    let mut blocks = Vec::new();
    let mut room = MAX_FILE_BYTES;
    for part in messages.flat_map(|message| &message.parts) {
        let piece = match part {
            Part::Text { text } if text.is_empty() => continue,
            Part::Text { text } => AcpContentPiece::Text(text.clone()),
            Part::Image { reference, mime_type } => {
                let image = |mime_type, bytes| AcpContentPiece::Image { mime_type, bytes };
                file_piece(context, reference, mime_type, &mut room, image).await
            }
            Part::Audio { reference, mime_type } => {
                let audio = |mime_type, bytes| AcpContentPiece::Audio { mime_type, bytes };
                file_piece(context, reference, mime_type, &mut room, audio).await
            }
            Part::File { reference, mime_type } => {
                let name = reference.rsplit('/').next().unwrap_or(reference).to_owned();
                let any = |mime_type, bytes| AcpContentPiece::File { name, mime_type, bytes };
                file_piece(context, reference, mime_type, &mut room, any).await
            }
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => continue,
        };
        blocks.push(to_block(piece, accepts));
    }
    blocks
}

async fn file_piece(
    context: &TurnContext,
    reference: &str,
    mime_type: &str,
    room: &mut usize,
    piece: impl FnOnce(String, Vec<u8>) -> AcpContentPiece,
) -> AcpContentPiece {
    match context.read_file(reference.to_owned()).await {
        Ok(bytes) if bytes.len() <= *room => {
            *room -= bytes.len();
            piece(mime_type.to_owned(), bytes.to_vec())
        }
        Ok(bytes) => AcpContentPiece::Text(prompts::file_too_large(reference, bytes.len())),
        Err(error) => AcpContentPiece::Text(prompts::file_unreadable(reference, &error.to_string())),
    }
}

/// What a session that is new to the agent has to know.
fn introduction(context: &TurnContext, asked: &[MessageId]) -> Option<String> {
    let mut told = Vec::new();
    if let Some(prompt) = context.session.system_prompt.as_ref().filter(|prompt| !prompt.trim().is_empty()) {
        told.push(prompts::instructions(prompt));
    }
    let earlier = context.history.iter().filter(|message| !asked.contains(&message.id));
    let mut lines = Vec::new();
    let mut room = MAX_HISTORY_BYTES;
    for message in earlier.rev() {
        let Some(line) = history_line(message) else { continue };
        if line.len() > room {
            lines.push(prompts::EARLIER_OMITTED.to_owned());
            break;
        }
        room -= line.len();
        lines.push(line);
    }
    if !lines.is_empty() {
        lines.reverse();
        told.push(prompts::history(&lines.join("\n\n")));
    }
    told.push(prompts::MESSAGE_FOLLOWS.to_owned());
    (told.len() > 1).then(|| told.join("\n\n"))
}

fn history_line(message: &Message) -> Option<String> {
    let who = match message.role {
        Role::System => "Note",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool result",
    };
    let mut text = message.text();
    let calls: Vec<String> = message.tool_calls().map(|call| format!("[called {}]", call.name)).collect();
    if text.len() > MAX_MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_MESSAGE_BYTES));
        text.push_str(" […]");
    }
    let said = [text.trim(), &calls.join(" ")].join(" ");
    let said = said.trim();
    (!said.is_empty()).then(|| format!("{who}: {said}"))
}
