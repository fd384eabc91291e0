//! Keeps the views in step with the log: the index and `session.json`. Each may lag, and
//! none may lead; a view that cannot be written is said so in the daemon's own log and caught up later. When
//! `session.json` is written is left to [`crate::session::Session`].

use std::sync::Arc;

use ostler_eventlog::LogError;
use ostler_index::{IndexUpdate, IndexedText, ModelUse};
use ostler_types::{
    ApprovalEvent, Event, MessageEvent, Record, Role, SessionEvent, SessionId, State, StepEvent,
    WorkspaceEvent,
};

use crate::engine::EngineShared;
use crate::history;
use crate::wake::WokenState;

/// Tells the views of records that have just been written. `told` is the newest record that the
/// index was told of; it moves on unless nothing in the records shows in a list.
pub(crate) async fn index_records(shared: &EngineShared, state: &State, records: &[Record], told: &mut u64) {
    if !records.iter().any(changes_listing) {
        return;
    }
    let mut news = IndexAdditions::default();
    for record in records {
        news.add(record);
    }
    update(shared, state, (*told, state.last_seq), news).await;
    *told = state.last_seq;
}

/// Brings the index up to the log, for a session that was left in a hurry.
pub(crate) async fn catch_up(shared: &EngineShared, state: &State) -> Result<(), LogError> {
    let id = state.session.id;
    let position = match shared.index.position(id).await {
        Ok(position) => position,
        Err(error) => {
            tracing::warn!(%id, %error, "the index cannot be read");
            return Ok(());
        }
    };
    let mut told = position;
    while told < state.last_seq {
        let (news, last_seq) = read_additions(shared, id, told + 1).await?;
        if last_seq <= told {
            break;
        }
        update(shared, state, (told, last_seq), news).await;
        told = last_seq;
    }
    Ok(())
}

/// Whether the index holds all of the session.
pub(crate) async fn is_caught_up(shared: &EngineShared, state: &State) -> bool {
    let flushed = shared.index.flush().await.is_ok();
    flushed && shared.index.position(state.session.id).await.is_ok_and(|position| position >= state.last_seq)
}

/// Replaces `session.json`, and says whether that went well.
pub(crate) async fn write_session(shared: &EngineShared, state: &State) -> bool {
    let (folder, view) = (shared.folders.session_path(state.session.id), state.view());
    blocking(move || ostler_recorder::write_session(&folder, &view)).await
}

/// What the index takes from records, beside the session itself.
#[derive(Default)]
struct IndexAdditions {
    texts: Vec<IndexedText>,
    uses: Vec<ModelUse>,
}

impl IndexAdditions {
    fn add(&mut self, record: &Record) {
        self.texts.extend(indexed_text(record));
        self.uses.extend(model_use(record));
    }
}

async fn update(
    shared: &EngineShared,
    state: &State,
    (after_seq, last_seq): (u64, u64),
    IndexAdditions { texts, uses }: IndexAdditions,
) {
    let session = state.session.clone();
    let running_turn_id = state.turn.as_ref().map(|turn| turn.id);
    let update = IndexUpdate { session, running_turn_id, after_seq, last_seq, texts, uses };
    if let Err(error) = shared.index.update(update).await {
        tracing::warn!(id = %state.session.id, %error, "the index was not updated");
    }
}

/// A page of news, and the last record of it.
async fn read_additions(
    shared: &EngineShared,
    id: SessionId,
    from: u64,
) -> Result<(IndexAdditions, u64), LogError> {
    let mut news = IndexAdditions::default();
    let lines = shared.log.read(id, from, history::PAGE_BYTES).await?;
    for line in &lines {
        news.add(&line.record().map_err(|error| LogError::Io(error.to_string()))?);
    }
    Ok((news, lines.last().map_or(0, |line| line.seq)))
}

/// What can be searched for: what people and the model said.
fn indexed_text(record: &Record) -> Option<IndexedText> {
    let (Event::Message(MessageEvent::Added { message, .. })
    | Event::Message(MessageEvent::ModelOutputCompleted { message, .. })) = &record.event
    else {
        return None;
    };
    let (message_id, role, text) = (message.id, message.role, message.text());
    let said = matches!(role, Role::User | Role::Assistant) && !text.is_empty();
    said.then_some(IndexedText { seq: record.seq, message_id, role, text })
}

/// What a model took for an answer.
fn model_use(record: &Record) -> Option<ModelUse> {
    let Event::Step(StepEvent::UsageRecorded { model, usage, .. }) = &record.event else { return None };
    Some(ModelUse { seq: record.seq, at: record.ts, model: model.clone(), usage: *usage })
}

/// Whether a list of sessions, or a sum of what they used, looks different after this record.
fn changes_listing(record: &Record) -> bool {
    !matches!(
        record.event,
        Event::Step(StepEvent::ModelWaiting { .. } | StepEvent::ReasoningCompleted { .. })
            | Event::Batch(_)
            | Event::Call(_)
            | Event::Workspace(
                WorkspaceEvent::VerificationStarted { .. } | WorkspaceEvent::VerificationCompleted { .. }
            )
    )
}

/// Whether the session changes its settings, is closed, or starts to wait: then it may stay as it is for long.
pub(crate) fn needs_description(record: &Record) -> bool {
    matches!(
        record.event,
        Event::Session(SessionEvent::Updated { .. } | SessionEvent::Completed { .. })
            | Event::Approval(ApprovalEvent::Requested { .. })
    )
}

async fn blocking<E: std::fmt::Display + Send + 'static>(
    write: impl FnOnce() -> Result<(), E> + Send + 'static,
) -> bool {
    match tokio::task::spawn_blocking(write).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => tracing::warn!(%error, "a view was not written; it can be rebuilt from the log"),
        Err(error) => tracing::error!(%error, "writing a view panicked"),
    }
    false
}

/// Makes the whole index again from the logs.
pub(crate) async fn rebuild(shared: &Arc<EngineShared>) -> Result<(), LogError> {
    for id in history::all_sessions(&*shared.log).await? {
        match crate::wake::read_state(shared, id).await {
            Ok(WokenState { state, .. }) => {
                catch_up(shared, &state).await?;
                // A session that is awake writes its own, and knows better.
                if shared.hub(id).is_none() {
                    write_session(shared, &state).await;
                }
            }
            Err(error) => tracing::warn!(%id, %error, "a session is left out of the index"),
        }
    }
    if let Err(error) = shared.index.mark_rebuilt().await {
        tracing::warn!(%error, "the index is made again at the next start");
    }
    Ok(())
}
