//! Reading a conversation back from the log: whole for an agent, in pages for a client.

use std::ops::Range;

use ostler_eventlog::{Log, LogError, LogLine};
use ostler_types::{Conversation, EventName, Message, Record, SessionId, TurnId};
use serde::Serialize;

/// Bytes read from a log at a time.
pub(crate) const PAGE_BYTES: usize = 1 << 20;
/// Records that are looked through for a page of messages, at first.
const FIRST_SCAN_RECORDS: u64 = 32;
/// Bytes of messages in one page, more or less.
const MAX_PAGE: usize = 4 << 20;

/// Sessions that are listed at a time.
const PAGE_SESSIONS: usize = 10_000;

/// Some messages of a session, oldest first.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryPage {
    /// The messages.
    pub messages: Vec<Message>,
    /// The turn that each belongs to, if it belongs to one, in the same order.
    pub turn_ids: Vec<Option<TurnId>>,
    /// Where the page before this one ends; `None` when there is none.
    pub before: Option<u64>,
}

/// The conversation as a model is shown it, in order. `from` is where the log begins to hold all of it.
pub(crate) async fn conversation(log: &dyn Log, id: SessionId, from: u64) -> Result<Conversation, LogError> {
    let mut conversation = Conversation::default();
    each_line(log, id, from..u64::MAX, |line| {
        if adds_message(line) || line.name() == Some(EventName::ContextCompacted) {
            conversation.apply(&parse_record(line)?);
        }
        Ok(())
    })
    .await?;
    Ok(conversation)
}

/// Every session that the log has.
pub(crate) async fn all_sessions(log: &dyn Log) -> Result<Vec<SessionId>, LogError> {
    let mut all: Vec<SessionId> = Vec::new();
    loop {
        let page = log.sessions(all.last().copied(), PAGE_SESSIONS).await?;
        let is_last = page.len() < PAGE_SESSIONS;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// Hands records to `take` in order, reading a page at a time: those there are of `seqs`.
pub(crate) async fn each_line(
    log: &dyn Log,
    id: SessionId,
    seqs: Range<u64>,
    mut take: impl FnMut(&LogLine) -> Result<(), LogError> + Send,
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
) -> Result<HistoryPage, LogError> {
    let mut found: Vec<FoundMessage> = Vec::new();
    let (mut end, mut stride) = (before, FIRST_SCAN_RECORDS);
    while end > 1 && found.len() <= limit && total_size(&found) <= MAX_PAGE {
        let start = end.saturating_sub(stride).max(1);
        let mut earlier = Vec::new();
        each_line(log, id, start..end, |line| {
            earlier.extend(find_message(line)?);
            Ok(())
        })
        .await?;
        earlier.append(&mut found);
        found = earlier;
        (end, stride) = (start, stride * 2);
    }
    let mut surplus = found.len().saturating_sub(limit);
    while surplus + 1 < found.len() && total_size(&found[surplus..]) > MAX_PAGE {
        surplus += 1;
    }
    let more = surplus > 0 || end > 1;
    let messages = found.split_off(surplus);
    let before = if more { messages.first().map(|found| found.seq) } else { None };
    let turn_ids = messages.iter().map(|found| found.turn_id).collect();
    Ok(HistoryPage { messages: messages.into_iter().map(|found| found.message).collect(), turn_ids, before })
}

/// A message and where it was found.
struct FoundMessage {
    seq: u64,
    turn_id: Option<TurnId>,
    message: Message,
}

fn total_size(messages: &[FoundMessage]) -> usize {
    messages.iter().map(|found| found.message.size()).sum()
}

/// The message that a record adds to the conversation, if it adds one.
fn find_message(line: &LogLine) -> Result<Option<FoundMessage>, LogError> {
    if !adds_message(line) {
        return Ok(None);
    }
    let Record { seq, ts, turn_id, event, .. } = parse_record(line)?;
    Ok(event.message(ts).map(|message| FoundMessage { seq, turn_id, message }))
}

/// Whether a record adds a message to the conversation.
fn adds_message(line: &LogLine) -> bool {
    matches!(
        line.name(),
        Some(EventName::MessageAdded | EventName::ModelOutputCompleted | EventName::ToolCallCompleted)
    )
}

fn parse_record(line: &LogLine) -> Result<Record, LogError> {
    line.record().map_err(|error| LogError::Io(format!("record {}: {error}", line.seq)))
}
