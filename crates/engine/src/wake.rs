//! Waking a session: its state from the snapshot and the records after it, and what it was writing.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_eventlog::{Log, LogError};
use ostler_types::{Delta, DeltaKind, Message, MessageId, OpenTurn, SessionId, State};

use crate::engine::Shared;
use crate::history;
use crate::hub::partial_message;

/// A session's state as it was read.
pub(crate) struct Woken {
    pub(crate) state: State,
    /// Up to which record the snapshot on disk goes; 0 when there is none.
    pub(crate) snapshot_seq: u64,
}

/// The fold of a session's log, from its snapshot where there is one to be trusted.
pub(crate) async fn read_state(shared: &Arc<Shared>, id: SessionId) -> Result<Woken, LogError> {
    read(&*shared.log, shared.session_dir(id), id).await
}

/// The same, for whoever knows where the session's files lie.
pub(crate) async fn read(log: &dyn Log, dir: PathBuf, id: SessionId) -> Result<Woken, LogError> {
    let last_seq = log.last_seq(id).await?;
    if last_seq == 0 {
        return Err(LogError::NotFound);
    }
    let snapshot =
        tokio::task::spawn_blocking(move || ostler_recorder::read_snapshot(&dir)).await.unwrap_or_default();
    let trusted = |state: &State| state.session.id == id && state.last_seq <= last_seq;
    let mut state = snapshot.filter(trusted);
    let snapshot_seq = state.as_ref().map_or(0, |state| state.last_seq);
    history::each_line(log, id, snapshot_seq + 1..u64::MAX, |line| {
        let unreadable = |what: String| LogError::Damaged { seq: line.seq, offset: 0, what };
        let record = line.record().map_err(|error| unreadable(error.to_string()))?;
        match &mut state {
            Some(state) => state.apply(&record),
            None => state = State::begin(&record),
        }
        let begun = state.as_ref().map(|_| ());
        begun.ok_or_else(|| unreadable("the log does not begin with session_created".to_owned()))
    })
    .await?;
    state.map(|state| Woken { state, snapshot_seq }).ok_or(LogError::NotFound)
}

/// What the model had written of its message when the daemon died, as far as a draft kept it. A
/// message that was recorded may still have its draft; it is not taken for another one.
pub(crate) async fn read_partial(shared: &Arc<Shared>, id: SessionId, turn: &OpenTurn) -> Option<Message> {
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
            splice(&mut streams, delta);
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
fn splice(streams: &mut Vec<(DeltaKind, String)>, delta: Delta) {
    let text = match streams.iter_mut().find(|(kind, _)| *kind == delta.kind) {
        Some((_, text)) => text,
        None => {
            streams.push((delta.kind, String::new()));
            &mut streams.last_mut().expect("it was just pushed").1
        }
    };
    let offset = usize::try_from(delta.offset).unwrap_or(usize::MAX);
    if offset <= text.len() && text.is_char_boundary(offset) {
        text.truncate(offset);
        text.push_str(&delta.text);
    }
}
