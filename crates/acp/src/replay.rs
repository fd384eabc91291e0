//! What an agent tells of a session that it kept, put together: pieces become messages, updates become calls as
//! they ended. What is recorded of it is left to others.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{ToolCall, ToolCallUpdate};

use crate::content::AcpContentPiece;
use crate::update::AcpUpdate;

/// How much of a replay is kept, in bytes and in things said.
const MAX_BYTES_AND_ITEMS: (usize, usize) = (64 << 20, 100_000);
/// What one update of a call counts for.
const CALL_BYTES: usize = 1024;

/// What was said in a session before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionReplay {
    items: Vec<ReplayedItem>,
    /// Which message the last thing said is of, where the agent numbers them.
    message: Option<String>,
    /// Where each call stands among what was said.
    calls: HashMap<String, usize>,
    bytes: usize,
    is_cut: bool,
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplayedItem {
    /// By the user: one message.
    User(Vec<AcpContentPiece>),
    /// By the agent, as it comes in an answer.
    Answer(AcpContentPiece),
    /// By the agent to itself.
    Thought(String),
    /// A call, with all that was told of it.
    Call(Box<ToolCall>),
}

impl SessionReplay {
    /// Takes the next update.
    pub fn add_update(&mut self, update: &AcpUpdate) {
        match update {
            AcpUpdate::Echo { piece, message } if self.has_room(piece_bytes(piece)) => {
                self.user(piece, message)
            }
            AcpUpdate::Text { piece, message } if self.has_room(piece_bytes(piece)) => {
                self.answer(piece, message)
            }
            AcpUpdate::Thought { text, message } if self.has_room(text.len()) => self.thought(text, message),
            AcpUpdate::Call(call) if self.has_room(CALL_BYTES) => self.call((**call).clone().into()),
            AcpUpdate::CallUpdate(update) if self.has_room(CALL_BYTES) => self.call((**update).clone()),
            AcpUpdate::Echo { .. }
            | AcpUpdate::Text { .. }
            | AcpUpdate::Thought { .. }
            | AcpUpdate::Call(_)
            | AcpUpdate::CallUpdate(_) => self.is_cut = true,
            AcpUpdate::Plan(_)
            | AcpUpdate::Commands(_)
            | AcpUpdate::Mode(_)
            | AcpUpdate::Options(_)
            | AcpUpdate::Usage { .. }
            | AcpUpdate::Notice { .. }
            | AcpUpdate::Unknown { .. } => {}
        }
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.bytes <= MAX_BYTES_AND_ITEMS.0 && self.items.len() < MAX_BYTES_AND_ITEMS.1
    }

    /// What was said, in order, and whether it was too much to be kept as a whole.
    pub fn finish(self) -> (Vec<ReplayedItem>, bool) {
        (self.items, self.is_cut)
    }

    fn user(&mut self, piece: &AcpContentPiece, message: &Option<String>) {
        let goes_on = self.message == *message;
        self.message.clone_from(message);
        match (self.items.last_mut(), piece) {
            (Some(ReplayedItem::User(pieces)), piece) if goes_on => match (pieces.last_mut(), piece) {
                (Some(AcpContentPiece::Text(said)), AcpContentPiece::Text(text)) => said.push_str(text),
                _ => pieces.push(piece.clone()),
            },
            _ => self.items.push(ReplayedItem::User(vec![piece.clone()])),
        }
    }

    fn answer(&mut self, piece: &AcpContentPiece, message: &Option<String>) {
        let goes_on = self.message == *message;
        self.message.clone_from(message);
        match (self.items.last_mut(), piece) {
            (Some(ReplayedItem::Answer(AcpContentPiece::Text(said))), AcpContentPiece::Text(text))
                if goes_on =>
            {
                said.push_str(text)
            }
            _ => self.items.push(ReplayedItem::Answer(piece.clone())),
        }
    }

    fn thought(&mut self, text: &str, message: &Option<String>) {
        let goes_on = self.message == *message;
        self.message.clone_from(message);
        match self.items.last_mut() {
            Some(ReplayedItem::Thought(said)) if goes_on => said.push_str(text),
            _ => self.items.push(ReplayedItem::Thought(text.to_owned())),
        }
    }

    fn call(&mut self, update: ToolCallUpdate) {
        let id = update.tool_call_id.0.to_string();
        if let Some(ReplayedItem::Call(call)) = self.calls.get(&id).and_then(|at| self.items.get_mut(*at)) {
            call.update(update.fields);
            return;
        }
        let title = update.fields.title.clone().unwrap_or_default();
        let mut call = ToolCall::new(update.tool_call_id.clone(), title);
        call.update(update.fields);
        self.calls.insert(id, self.items.len());
        self.items.push(ReplayedItem::Call(Box::new(call)));
    }
}

fn piece_bytes(piece: &AcpContentPiece) -> usize {
    match piece {
        AcpContentPiece::Text(text) => text.len(),
        AcpContentPiece::Image { bytes, .. }
        | AcpContentPiece::Audio { bytes, .. }
        | AcpContentPiece::File { bytes, .. } => bytes.len(),
        AcpContentPiece::Link { name, uri } => name.len() + uri.len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ReplayedItem, SessionReplay};
    use crate::content::AcpContentPiece;
    use crate::update::from_update;

    fn replay(updates: &[Value]) -> Vec<ReplayedItem> {
        let mut replay = SessionReplay::default();
        for update in updates {
            let (_, update) = from_update(json!({"sessionId": "s", "update": update})).unwrap();
            replay.add_update(&update);
        }
        replay.finish().0
    }

    fn text(kind: &str, words: &str) -> Value {
        json!({"sessionUpdate": kind, "content": {"type": "text", "text": words}})
    }

    #[test]
    fn pieces_become_messages_and_updates_one_call() {
        let said = replay(&[
            text("user_message_chunk", "do "),
            text("user_message_chunk", "it"),
            text("agent_thought_chunk", "hm"),
            text("agent_message_chunk", "I "),
            text("agent_message_chunk", "will"),
            json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "A", "status": "pending"}),
            text("agent_message_chunk", "Done"),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed"}),
            json!({"sessionUpdate": "from_the_future"}),
        ]);
        let answer = |words: &str| ReplayedItem::Answer(AcpContentPiece::Text(words.to_owned()));
        assert_eq!(said[0], ReplayedItem::User(vec![AcpContentPiece::Text("do it".to_owned())]));
        assert_eq!(said[1], ReplayedItem::Thought("hm".to_owned()));
        assert_eq!((&said[2], &said[4]), (&answer("I will"), &answer("Done")));
        let ReplayedItem::Call(call) = &said[3] else { panic!("{said:?}") };
        assert_eq!(crate::has_ended(call), Some(true));
        assert_eq!(said.len(), 5);
    }
}
