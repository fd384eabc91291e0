//! A session in memory: its state, and the one place where it changes.

use std::sync::Arc;
use std::time::Duration;

use ostler_eventlog::{BlobWrite, Epoch, LogError, LogLine};
use ostler_types::{
    CallEvent, Conversation, Event, EventFor, Message, MessageEvent, MessageId, NewRecord, Record,
    SessionEvent, SessionId, State,
};
use tokio::time::Instant;

use crate::engine::EngineShared;
use crate::hub::{FinishedStream, Hub};
use crate::lost_session::OwnershipLoss;
use crate::wake::WokenState;
use crate::{history, index_sync};

/// Records between two snapshots of the state.
const SNAPSHOT_EVERY: u64 = 500;
/// Between two `session.json` of a session that is at work. The file repeats the newest turns, so that it would be most
/// of what a turn writes.
const DESCRIPTION_INTERVAL: Duration = Duration::from_secs(30);

/// A session that is awake. Owned by its actor.
pub(crate) struct LoadedSession {
    pub(crate) id: SessionId,
    pub(crate) state: State,
    pub(crate) hub: Arc<Hub>,
    pub(crate) shared: Arc<EngineShared>,
    ownership: Ownership,
    /// What the model is shown of the conversation, once a turn has needed it.
    conversation: Option<Conversation>,
    snapshot_seq: u64,
    /// The chain of the newest record, once one was read or written.
    chain: Option<String>,
    /// The newest record that the index was told of.
    indexed_seq: u64,
    /// The newest record that `session.json` knows, and when it was last written or tried to be.
    last_description: (u64, Instant),
    /// Whether the views and the log's marker are as they should be for a session that sleeps.
    pub(crate) is_settled: bool,
}

/// Whether this process may write to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ownership {
    Held(Epoch),
    /// Given up when the session came to rest; the next record claims it again.
    Released,
    /// Another owner has it, or may have it. Nothing is written any more.
    Lost(OwnershipLoss),
}

impl LoadedSession {
    pub(crate) fn new(
        woken: WokenState,
        epoch: Epoch,
        hub: Arc<Hub>,
        shared: Arc<EngineShared>,
        left_open: bool,
    ) -> LoadedSession {
        let WokenState { state, snapshot_seq, chain } = woken;
        let (id, told) = (state.session.id, state.last_seq);
        // A log that goes on after its snapshot was not put to rest.
        let rested = !left_open && snapshot_seq == told;
        shared.views.set_folder(&state.session);
        if !rested {
            shared.views.notify(id, &[]);
        }
        let (ownership, conversation) = (Ownership::Held(epoch), None);
        let described = (if rested { told } else { 0 }, Instant::now());
        LoadedSession {
            id,
            state,
            hub,
            shared,
            ownership,
            conversation,
            snapshot_seq,
            chain,
            indexed_seq: told,
            last_description: described,
            is_settled: rested,
        }
    }

    /// Append, apply, publish: the only place where anything becomes true. On an error nothing has
    /// changed, and nobody was told anything.
    pub(crate) async fn record(&mut self, events: Vec<EventFor>) -> Result<(), LogError> {
        if events.is_empty() {
            return Ok(());
        }
        let ts = self.shared.clock.now();
        let secrets = &self.shared.secrets;
        let new = |EventFor { turn_id, event }| NewRecord { ts, turn_id, event: secrets.mask_event(event) };
        let records: Vec<NewRecord> = events.into_iter().map(new).collect();
        let next_seq = self.state.last_seq + 1;
        let epoch = self.ensure_owned().await?;
        self.is_settled = false;
        let appended = self.shared.log.append(self.id, epoch, next_seq, records.clone()).await;
        let lines = appended.inspect_err(|error| self.lose_if_fenced(error))?;
        self.chain = lines.last().map(|line| line.chain().to_owned());
        let records = self.apply(&lines, records);
        let finished: Vec<FinishedStream> = records.iter().filter_map(finished_stream).collect();
        let approvals = self.state.own_approvals().cloned().collect();
        self.hub.publish(&lines, approvals, &finished);
        if records.iter().any(|record| matches!(record.event, Event::Session(SessionEvent::Completed { .. })))
        {
            let (runner, id) = (Arc::clone(&self.shared.runner), self.id);
            // Ending its processes may take seconds, and nobody waits for that.
            tokio::spawn(async move { runner.end_session(id).await });
        }
        self.shared.views.notify(self.id, &records);
        index_sync::index_records(&self.shared, &self.state, &records, &mut self.indexed_seq).await;
        if records.iter().any(index_sync::needs_description) {
            self.write_description().await;
        }
        self.snapshot_if_due().await;
        Ok(())
    }

    /// Replaces `session.json`, unless it knows all of the log.
    pub(crate) async fn write_description(&mut self) {
        let (known, last_seq) = (self.last_description.0, self.state.last_seq);
        if known < last_seq && !self.is_lost() {
            let is_written = index_sync::write_session(&self.shared, &self.state).await;
            self.last_description = (if is_written { last_seq } else { known }, Instant::now());
        }
    }

    /// Returns true where `session.json` is as new as the log.
    pub(crate) fn is_described(&self) -> bool {
        self.last_description.0 >= self.state.last_seq
    }

    /// Whether `session.json` was last written so long ago that it is written in the middle of a turn.
    pub(crate) fn description_is_old(&self) -> bool {
        self.last_description.1.elapsed() >= DESCRIPTION_INTERVAL
    }

    /// The epoch to write with. Claims the session again if it was released, unless somebody has written since.
    pub(crate) async fn ensure_owned(&mut self) -> Result<Epoch, LogError> {
        match self.ownership {
            Ownership::Held(epoch) => Ok(epoch),
            Ownership::Lost(_) => Err(LogError::Fenced),
            Ownership::Released => {
                let claim = self.shared.log.claim(self.id).await?;
                // A log that became shorter is damaged, which the append reports.
                if claim.last_seq <= self.state.last_seq {
                    self.ownership = Ownership::Held(claim.epoch);
                    return Ok(claim.epoch);
                }
                self.ownership = Ownership::Lost(OwnershipLoss::Fenced);
                // This actor cannot use the claim, and the next one makes its own.
                _ = self.shared.log.release(self.id, claim.epoch, false).await;
                Err(LogError::Fenced)
            }
        }
    }

    fn lose_if_fenced(&mut self, error: &LogError) {
        if !matches!(error, LogError::Fenced | LogError::Lost) {
            return;
        }
        let loss =
            if matches!(error, LogError::Lost) { OwnershipLoss::Unknown } else { OwnershipLoss::Fenced };
        tracing::warn!(id = %self.id, %error, "the session is lost to another owner");
        self.ownership = Ownership::Lost(loss);
    }

    /// Whether another owner has claimed the session, or may have. The actor then ends without recording anything.
    pub(crate) fn is_lost(&self) -> bool {
        self.loss().is_some()
    }

    /// How the session was lost, if it was.
    pub(crate) fn loss(&self) -> Option<OwnershipLoss> {
        match self.ownership {
            Ownership::Lost(loss) => Some(loss),
            Ownership::Held(_) | Ownership::Released => None,
        }
    }

    /// The epoch of drafts; none where nothing may be written.
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        match self.ownership {
            Ownership::Held(epoch) => Some(epoch),
            Ownership::Released | Ownership::Lost(_) => None,
        }
    }

    /// Keeps a file beside the log, in place of one of the same name.
    pub(crate) async fn put_file(&mut self, name: String, content: Vec<u8>) -> Result<(), LogError> {
        let epoch = self.ensure_owned().await?;
        let put = self.shared.log.put_blob(self.id, name, content.into(), BlobWrite::Owned(epoch)).await;
        put.inspect_err(|error| self.lose_if_fenced(error))
    }

    /// Gives the session up; `rested` once the views hold all of it.
    pub(crate) async fn release(&mut self, rested: bool) {
        let Ownership::Held(epoch) = self.ownership else { return };
        match self.shared.log.release(self.id, epoch, rested).await {
            Ok(()) => {
                self.ownership = Ownership::Released;
                self.is_settled |= rested;
            }
            Err(error) => {
                self.lose_if_fenced(&error);
                tracing::warn!(id = %self.id, %error, "the session could not be released");
            }
        }
    }

    /// The conversation so far, read from the log the first time.
    pub(crate) async fn conversation(&mut self) -> Result<Vec<Arc<Message>>, LogError> {
        if self.conversation.is_none() {
            let from = self.state.context.first_seq;
            self.conversation = Some(history::conversation(&*self.shared.log, self.id, from).await?);
        }
        Ok(self.conversation.as_ref().map(Conversation::messages).unwrap_or_default())
    }

    /// The record from which on the log holds what follows a message that the model is shown.
    pub(crate) fn seq_after(&self, id: MessageId) -> u64 {
        self.conversation.as_ref().map_or(1, |conversation| conversation.seq_after(id))
    }

    /// Forgets the conversation; the next turn reads it again.
    pub(crate) fn forget_conversation(&mut self) {
        self.conversation = None;
    }

    fn apply(&mut self, lines: &[LogLine], new: Vec<NewRecord>) -> Vec<Record> {
        let session_id = self.id;
        let place = |(line, new): (&LogLine, NewRecord)| {
            let NewRecord { ts, turn_id, event } = new;
            Record { seq: line.seq, ts, session_id, turn_id, event }
        };
        let records: Vec<Record> = lines.iter().zip(new).map(place).collect();
        for record in &records {
            self.state.apply(record);
            if let Some(conversation) = &mut self.conversation {
                conversation.apply(record);
            }
        }
        records
    }

    async fn snapshot_if_due(&mut self) {
        if self.state.last_seq - self.snapshot_seq >= SNAPSHOT_EVERY {
            self.snapshot().await;
        }
    }

    /// Writes the state down, so that waking need not fold the whole log.
    pub(crate) async fn snapshot(&mut self) {
        let Ownership::Held(epoch) = self.ownership else { return };
        self.snapshot_seq = self.state.last_seq;
        let saved = match ostler_recorder::encode_snapshot(&self.state, self.chain.as_deref()) {
            Ok(content) => self.shared.log.save_snapshot(self.id, epoch, content.into()).await,
            Err(error) => Err(LogError::Io(error.to_string())),
        };
        if let Err(error) = saved {
            tracing::warn!(id = %self.id, %error, "the snapshot was not written; waking reads more of the log");
        }
    }
}

/// Which streaming text a record makes superfluous.
fn finished_stream(record: &Record) -> Option<FinishedStream> {
    if let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) = &record.event {
        return Some(FinishedStream::Message(message.id));
    }
    if let Event::Call(CallEvent::Completed { tool_call, .. }) = &record.event {
        return Some(FinishedStream::Call(tool_call.id.clone()));
    }
    record.event.name().ends_turn().then_some(FinishedStream::Turn)
}
