//! The conversation as a model is shown it: the fold of the log's messages and compactions.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentEvent, Event, Message, MessageId, Part, Record, ToolCallId, results};

/// Why a conversation was made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// It would have taken too much of the model's window.
    Threshold,
    /// The provider said that it was too long.
    Overflow,
    /// Somebody asked for it.
    Asked,
}

/// How a conversation was made shorter. Nothing leaves the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// The first message that it touches.
    pub from_message_id: MessageId,
    /// The last message that it touches. With a summary, this and all before it are no longer shown.
    pub to_message_id: MessageId,
    /// The message that takes the place of the range; none when only output was left out.
    pub summary_message_id: Option<MessageId>,
    /// Roughly how many tokens the conversation had.
    pub tokens_before: u64,
    /// Roughly how many it has now.
    pub tokens_after: u64,
    /// Why it was done.
    pub trigger: CompactionTrigger,
    /// The message itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Message>,
    /// The calls whose output is left out from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<ToolCallId>,
    /// The record from which on the log holds all that is still shown beside the summary.
    #[serde(default)]
    pub first_kept_seq: u64,
}

/// A compaction before it is recorded: what an agent knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCompaction {
    /// The first message that it touches.
    pub from_message_id: MessageId,
    /// The last message that it touches.
    pub to_message_id: MessageId,
    /// Roughly how many tokens the conversation had.
    pub tokens_before: u64,
    /// Roughly how many it has now.
    pub tokens_after: u64,
    /// Why it was done.
    pub trigger: CompactionTrigger,
    /// The message that takes the place of the range; none when only output was left out.
    pub summary: Option<Message>,
    /// The calls whose output is left out from now on.
    pub pruned: Vec<ToolCallId>,
}

impl NewCompaction {
    /// What is recorded of it.
    pub(crate) fn into_compaction(self, first_kept_seq: u64) -> Compaction {
        Compaction {
            from_message_id: self.from_message_id,
            to_message_id: self.to_message_id,
            summary_message_id: self.summary.as_ref().map(|summary| summary.id),
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
            trigger: self.trigger,
            summary: self.summary,
            pruned: self.pruned,
            first_kept_seq,
        }
    }
}

/// What is shown of a conversation, each message with the record that brought it.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Vec<(u64, Arc<Message>)>,
}

impl Conversation {
    /// Folds one more record. The records may begin at the `first_kept_seq` of the newest summary.
    pub fn apply(&mut self, record: &Record) {
        if let Event::Agent(AgentEvent::ContextCompacted { compaction }) = &record.event {
            let Compaction { to_message_id, summary, pruned, .. } = compaction;
            self.compact(record.seq, *to_message_id, summary.as_ref(), pruned);
        } else if let Some(message) = record.event.message(record.ts) {
            self.messages.push((record.seq, Arc::new(message)));
        }
    }

    /// Makes it shorter: the summary, recorded as `seq`, takes the place of all messages up to `to`.
    pub fn compact(&mut self, seq: u64, to: MessageId, summary: Option<&Message>, pruned: &[ToolCallId]) {
        if let Some(summary) = summary {
            let last = self.messages.iter().position(|(_, message)| message.id == to);
            self.messages.drain(..last.map_or(0, |last| last + 1));
            self.messages.insert(0, (seq, Arc::new(summary.clone())));
        }
        if !pruned.is_empty() {
            for (_, message) in &mut self.messages {
                prune(message, pruned);
            }
        }
    }

    /// Adds a message that has just been recorded.
    pub fn push(&mut self, seq: u64, message: Arc<Message>) {
        self.messages.push((seq, message));
    }

    /// The messages, in order.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.messages.iter().map(|(_, message)| Arc::clone(message)).collect()
    }

    /// The record from which on the log holds what follows a message; 1 when it is not known.
    pub fn seq_after(&self, id: MessageId) -> u64 {
        match self.messages.iter().position(|(_, message)| message.id == id) {
            Some(index) => {
                let rest = &self.messages[index + 1..];
                rest.iter().map(|(seq, _)| *seq).min().unwrap_or(self.messages[index].0 + 1)
            }
            None => 1,
        }
    }
}

/// Leaves out the output of these calls.
fn prune(message: &mut Arc<Message>, calls: &[ToolCallId]) {
    let named = |part: &Part| {
        matches!(part, Part::ToolResult { tool_call_id, text, .. }
            if text != results::PRUNED && calls.contains(tool_call_id))
    };
    if !message.parts.iter().any(named) {
        return;
    }
    for part in &mut Arc::make_mut(message).parts {
        if named(part)
            && let Part::ToolResult { text, images, .. } = part
        {
            results::PRUNED.clone_into(text);
            images.clear();
        }
    }
}
