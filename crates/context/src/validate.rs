//! Whether a conversation may be sent to a model: every provider refuses calls without results, results
//! without calls, and messages without content. It repairs nothing; it says what is wrong and where.

use std::collections::HashSet;
use std::sync::Arc;

use ostler_types::{Message, Part, Role, ToolCallId};

/// Why a conversation may not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {index} of the conversation: {kind}")]
pub struct ConversationViolation {
    /// Which message, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub kind: ConversationViolationKind,
}

/// What can be wrong with a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversationViolationKind {
    /// It holds nothing that a model could read.
    #[error("it is empty")]
    Empty,
    /// The first message is a model's or a tool's.
    #[error("a conversation begins with its user or with instructions, not with this one")]
    BadBeginning,
    /// Its id was used before.
    #[error("its id was used before")]
    RepeatedMessageId,
    /// A call's id was used before.
    #[error("the tool call id {0} was used before")]
    RepeatedCallId(ToolCallId),
    /// A result without a call right before it.
    #[error("the result of {0} does not follow a message that makes this call")]
    StrayResult(ToolCallId),
    /// A second result for a call.
    #[error("the call {0} has a result already")]
    RepeatedResult(ToolCallId),
    /// The calls before it lack a result.
    #[error("the call {0} has no result before this message")]
    MissingResult(ToolCallId),
    /// A part that nobody in this role can say.
    #[error("a {0} message cannot hold this kind of part")]
    MisplacedPart(&'static str),
}

/// Checks a conversation as it would be sent: it begins with a user or system message, ids are used once,
/// the results of a message's calls follow it before anything else does, and no message is empty.
pub fn validate(messages: &[Arc<Message>]) -> Result<(), ConversationViolation> {
    let mut check = ConversationCheck::default();
    for (index, message) in messages.iter().enumerate() {
        check.message(index == 0, message).map_err(|kind| ConversationViolation { index, kind })?;
    }
    let unanswered = check.open.first().cloned().map(ConversationViolationKind::MissingResult);
    unanswered.map_or(Ok(()), |kind| Err(ConversationViolation { index: messages.len(), kind }))
}

/// What has been seen so far.
#[derive(Default)]
struct ConversationCheck<'a> {
    message_ids: HashSet<ostler_types::MessageId>,
    call_ids: HashSet<&'a ToolCallId>,
    /// Calls of the last message that made any, which have no result yet.
    open: Vec<ToolCallId>,
    /// All calls of that message.
    batch: HashSet<&'a ToolCallId>,
}

impl<'a> ConversationCheck<'a> {
    fn message(&mut self, is_first: bool, message: &'a Message) -> Result<(), ConversationViolationKind> {
        if is_first && matches!(message.role, Role::Assistant | Role::Tool) {
            return Err(ConversationViolationKind::BadBeginning);
        }
        if !self.message_ids.insert(message.id) {
            return Err(ConversationViolationKind::RepeatedMessageId);
        }
        if message.parts.iter().all(is_blank) {
            return Err(ConversationViolationKind::Empty);
        }
        if message.role != Role::Tool {
            if let Some(call) = self.open.first() {
                return Err(ConversationViolationKind::MissingResult(call.clone()));
            }
            self.batch.clear();
        }
        message.parts.iter().try_for_each(|part| self.part(message.role, part))
    }

    fn part(&mut self, role: Role, part: &'a Part) -> Result<(), ConversationViolationKind> {
        let misplaced = Err(ConversationViolationKind::MisplacedPart(role.as_str()));
        match (part, role) {
            (Part::ToolCall { call }, Role::Assistant) => self.call(&call.id),
            (Part::ToolResult { tool_call_id, .. }, Role::Tool) => self.result(tool_call_id),
            (Part::ToolCall { .. }, Role::System | Role::User | Role::Tool)
            | (Part::ToolResult { .. }, Role::System | Role::User | Role::Assistant)
            | (Part::Reasoning { .. }, Role::System | Role::User | Role::Tool)
            | (Part::Text { .. } | Part::Image { .. } | Part::Audio { .. } | Part::File { .. }, Role::Tool) => {
                misplaced
            }
            (Part::Reasoning { .. }, Role::Assistant)
            | (
                Part::Text { .. } | Part::Image { .. } | Part::Audio { .. } | Part::File { .. },
                Role::System | Role::User | Role::Assistant,
            ) => Ok(()),
        }
    }

    fn call(&mut self, id: &'a ToolCallId) -> Result<(), ConversationViolationKind> {
        if !self.call_ids.insert(id) {
            return Err(ConversationViolationKind::RepeatedCallId(id.clone()));
        }
        self.open.push(id.clone());
        self.batch.insert(id);
        Ok(())
    }

    fn result(&mut self, id: &ToolCallId) -> Result<(), ConversationViolationKind> {
        if !self.batch.contains(id) {
            return Err(ConversationViolationKind::StrayResult(id.clone()));
        }
        let Some(at) = self.open.iter().position(|open| open == id) else {
            return Err(ConversationViolationKind::RepeatedResult(id.clone()));
        };
        self.open.remove(at);
        Ok(())
    }
}

fn is_blank(part: &Part) -> bool {
    match part {
        Part::Text { text } | Part::Reasoning { text, opaque: None } => text.trim().is_empty(),
        Part::Reasoning { opaque: Some(_), .. }
        | Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => false,
    }
}
