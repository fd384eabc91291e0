//! Reading a conversation back from the log: whole for an agent, in pages for a client.

use std::ops::Range;
use std::sync::Arc;

use ostler_eventlog::{Line, Log, LogError};
use ostler_types::{Message, SessionId};
use serde::Serialize;

/// Bytes read from a log at a time.
const PAGE_BYTES: usize = 1 << 20;
/// Records that are looked through for a page of messages, at first.
const STRIDE: u64 = 32;
/// Bytes of messages in one page, more or less.
const MAX_PAGE: usize = 4 << 20;

/// Some messages of a session, oldest first.
#[derive(Debug, Clone, Serialize)]
pub struct MessagePage {
    /// The messages.
    pub messages: Vec<Message>,
    /// Where the page before this one ends; `None` when there is none.
    pub before: Option<u64>,
}

/// The whole conversation, in order.
pub(crate) async fn conversation(log: &dyn Log, id: SessionId) -> Result<Vec<Arc<Message>>, LogError> {
    let mut messages = Vec::new();
    each_line(log, id, 1..u64::MAX, |line| {
        messages.extend(message(line)?.map(Arc::new));
        Ok(())
    })
    .await?;
    Ok(messages)
}

/// Hands records to `take` in order, reading a page at a time: those there are of `seqs`.
pub(crate) async fn each_line(
    log: &dyn Log,
    id: SessionId,
    seqs: Range<u64>,
    mut take: impl FnMut(&Line) -> Result<(), LogError> + Send,
) -> Result<(), LogError> {
    let mut from = seqs.start;
    while from < seqs.end {
        let lines = log.read(id, from, PAGE_BYTES).await?;
        let Some(last) = lines.last() else { break };
        from = last.seq + 1;
        lines.iter().filter(|line| line.seq < seqs.end).try_for_each(&mut take)?;
    }
    Ok(())
}

/// The last `limit` messages before record `before`, found from the end of the log.
pub(crate) async fn page(
    log: &dyn Log,
    id: SessionId,
    before: u64,
    limit: usize,
) -> Result<MessagePage, LogError> {
    let mut found: Vec<(u64, Message)> = Vec::new();
    let (mut end, mut stride) = (before, STRIDE);
    while end > 1 && found.len() <= limit && size(&found) <= MAX_PAGE {
        let start = end.saturating_sub(stride).max(1);
        let mut earlier = Vec::new();
        each_line(log, id, start..end, |line| {
            earlier.extend(message(line)?.map(|message| (line.seq, message)));
            Ok(())
        })
        .await?;
        earlier.append(&mut found);
        found = earlier;
        (end, stride) = (start, stride * 2);
    }
    let mut surplus = found.len().saturating_sub(limit);
    while surplus + 1 < found.len() && size(&found[surplus..]) > MAX_PAGE {
        surplus += 1;
    }
    let more = surplus > 0 || end > 1;
    let messages = found.split_off(surplus);
    let before = if more { messages.first().map(|(seq, _)| *seq) } else { None };
    Ok(MessagePage { messages: messages.into_iter().map(|(_, message)| message).collect(), before })
}

fn size(messages: &[(u64, Message)]) -> usize {
    messages.iter().map(|(_, message)| message.size()).sum()
}

/// The message that a record adds to the conversation, if it adds one.
fn message(line: &Line) -> Result<Option<Message>, LogError> {
    if !matches!(line.name(), "message_added" | "model_output_completed" | "tool_call_completed") {
        return Ok(None);
    }
    let record = line.record().map_err(|error| LogError::Io(format!("record {}: {error}", line.seq)))?;
    Ok(record.event.message(record.ts))
}
