//! Waking a session: its state from the snapshot and the records after it, and what it was writing.

use std::sync::Arc;

use ostler_eventlog::{Log, LogError};
use ostler_types::{Delta, DeltaKind, Message, MessageId, OpenTurn, SessionId, State, splice};

use crate::engine::EngineShared;
use crate::history;
use crate::hub::partial_message;

/// A session's state as it was read.
pub(crate) struct WokenState {
    pub(crate) state: State,
    /// Up to which record the snapshot on disk goes; 0 when there is none.
    pub(crate) snapshot_seq: u64,
    /// The chain of the newest record.
    pub(crate) chain: Option<String>,
}

/// What is said of a log that is not the one of its snapshot.
const SNAPSHOT_MISMATCH: &str =
    "it is not the record that the snapshot knows: records before it were lost or replaced";

/// The fold of a session's log, from its snapshot where there is one to be trusted.
pub(crate) async fn read_state(shared: &Arc<EngineShared>, id: SessionId) -> Result<WokenState, LogError> {
    // Asked before the log is read: the log of a session that is awake may grow meanwhile, and the index with it.
    let indexed = shared.index.position(id).await.unwrap_or_default();
    match read_from_log(&*shared.log, id).await {
        Ok(woken) if woken.state.last_seq < indexed => Err(truncated_log(id, woken.state.last_seq, indexed)),
        Err(LogError::NotFound) if indexed > 0 && shared.log.has_session(id).await? => {
            Err(truncated_log(id, 0, indexed))
        }
        read => read,
    }
}

/// The same by the log alone.
pub(crate) async fn read_from_log(log: &dyn Log, id: SessionId) -> Result<WokenState, LogError> {
    // Before the end of the log is looked at, for the same reason.
    let snapshot = log.snapshot(id).await?.and_then(|content| ostler_recorder::decode_snapshot(&content));
    let snapshot = snapshot.filter(|snapshot| snapshot.state.session.id == id);
    let last_seq = log.last_seq(id).await?;
    let (mut state, known_chain) = snapshot.map(|it| (it.state, it.chain)).unzip();
    let snapshot_seq = state.as_ref().map_or(0, |state: &State| state.last_seq);
    if snapshot_seq > last_seq {
        return Err(truncated_log(id, last_seq, snapshot_seq));
    }
    if last_seq == 0 {
        return Err(LogError::NotFound);
    }
    let mut chain = None;
    history::each_line(log, id, snapshot_seq.max(1)..u64::MAX, |line| {
        let unreadable =
            |what: &str| LogError::Damaged { seq: line.seq, offset: None, what: what.to_owned() };
        chain = Some(line.chain().to_owned());
        if line.seq == snapshot_seq {
            let is_known = known_chain.as_ref().is_none_or(|known| known.is_none() || *known == chain);
            return if is_known { Ok(()) } else { Err(unreadable(SNAPSHOT_MISMATCH)) };
        }
        let record = line.record().map_err(|error| unreadable(&error.to_string()))?;
        match &mut state {
            Some(state) => state.apply(&record),
            None => state = State::begin(&record),
        }
        let begun = state.as_ref().map(|_| ());
        begun.ok_or_else(|| unreadable("the log does not begin with session_created"))
    })
    .await?;
    state.map(|state| WokenState { state, snapshot_seq, chain }).ok_or(LogError::NotFound)
}

/// The end of a log is gone. A view is written after the records that it knows are on disk, so one that is ahead of the
/// log proves that there were more.
fn truncated_log(id: SessionId, last_seq: u64, known: u64) -> LogError {
    tracing::warn!(%id, last_seq, known, "records are gone from the end of a log");
    let what = format!("the log ends here, but its views know records up to {known}: the end was cut off");
    LogError::Damaged { seq: last_seq + 1, offset: None, what }
}

/// What the model had written of its message when the daemon died, as far as a draft kept it. A
/// message that was recorded may still have its draft; it is not taken for another one.
pub(crate) async fn read_partial(
    shared: &Arc<EngineShared>,
    id: SessionId,
    turn: &OpenTurn,
) -> Option<Message> {
    let drafts = match shared.log.drafts(id).await {
        Ok(drafts) => drafts,
        Err(error) => {
            tracing::warn!(%id, %error, "what the model was writing is lost");
            return None;
        }
    };
    let mut streams: Vec<(DeltaKind, String)> = Vec::new();
    for (of, delta) in drafts {
        if of == turn.id && message_of(&delta.kind) != turn.said {
            splice_delta(&mut streams, delta);
        }
    }
    partial_message(streams.iter().map(|(kind, text)| (kind, text.as_str())), shared.clock.now())
}

fn message_of(kind: &DeltaKind) -> Option<MessageId> {
    match kind {
        DeltaKind::Text { message_id, .. } | DeltaKind::Reasoning { message_id, .. } => Some(*message_id),
        DeltaKind::ToolOutput { .. } => None,
    }
}

/// Puts a delta's text where it belongs; one that would leave a hole is dropped.
fn splice_delta(streams: &mut Vec<(DeltaKind, String)>, delta: Delta) {
    let text = match streams.iter_mut().find(|(kind, _)| *kind == delta.kind) {
        Some((_, text)) => text,
        None => {
            streams.push((delta.kind, String::new()));
            &mut streams.last_mut().expect("it was just pushed").1
        }
    };
    splice(text, delta.offset, &delta.text);
}
