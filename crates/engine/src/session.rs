//! A session in memory: its state, and the one place where it changes.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_eventlog::{Epoch, Line, LogError};
use ostler_types::{Conversation, Event, EventFor, Message, MessageId, NewRecord, Record, SessionId, State};

use crate::engine::Shared;
use crate::hub::{Finished, Hub};
use crate::wake::Woken;
use crate::{catalogue, history};

/// Records between two snapshots of the state.
const SNAPSHOT_EVERY: u64 = 500;

/// A session that is awake. Owned by its actor.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) state: State,
    pub(crate) hub: Arc<Hub>,
    pub(crate) shared: Arc<Shared>,
    epoch: Epoch,
    /// What the model is shown of the conversation, once a turn has needed it.
    conversation: Option<Conversation>,
    snapshot_seq: u64,
    /// The chain of the newest record, once one was read or written.
    chain: Option<String>,
    /// The newest record that the index was told of.
    told: u64,
    /// Whether the views and the log's marker are as they should be for a session that sleeps.
    pub(crate) rested: bool,
}

impl Session {
    pub(crate) fn new(
        woken: Woken,
        epoch: Epoch,
        hub: Arc<Hub>,
        shared: Arc<Shared>,
        left_open: bool,
    ) -> Session {
        let Woken { state, snapshot_seq, chain } = woken;
        let (id, told) = (state.session.id, state.last_seq);
        // A log that goes on after its snapshot was not put to rest.
        let rested = !left_open && snapshot_seq == told;
        shared.views.place(&state.session);
        if !rested {
            shared.views.note(id, &[]);
        }
        Session { id, state, hub, shared, epoch, conversation: None, snapshot_seq, chain, told, rested }
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
        self.rested = false;
        let lines = self.shared.log.append(self.id, self.epoch, next_seq, records.clone()).await?;
        self.chain = lines.last().map(|line| line.chain().to_owned());
        let records = self.apply(&lines, records);
        let finished: Vec<Finished> = records.iter().filter_map(finished).collect();
        let approvals = self.state.own_approvals().cloned().collect();
        self.hub.publish(&lines, approvals, &finished);
        if records.iter().any(|record| matches!(record.event, Event::SessionCompleted { .. })) {
            (self.shared.closed)(self.id);
        }
        self.shared.views.note(self.id, &records);
        catalogue::follow(&self.shared, &self.state, &records, &mut self.told).await;
        self.snapshot_if_due().await;
        Ok(())
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

    /// Where the files beside this session's log lie.
    pub(crate) fn dir(&self) -> PathBuf {
        self.shared.session_dir(self.id)
    }

    fn apply(&mut self, lines: &[Line], new: Vec<NewRecord>) -> Vec<Record> {
        let session_id = self.id;
        let place = |(line, new): (&Line, NewRecord)| {
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
        self.snapshot_seq = self.state.last_seq;
        catalogue::write_snapshot(self.dir(), self.state.clone(), self.chain.clone()).await;
    }
}

/// Which streaming text a record makes superfluous.
fn finished(record: &Record) -> Option<Finished> {
    match &record.event {
        Event::ModelOutputCompleted { message, .. } => Some(Finished::Message(message.id)),
        Event::ToolCallCompleted { tool_call, .. } => Some(Finished::Call(tool_call.id.clone())),
        Event::TurnCompleted { .. } | Event::TurnFailed { .. } | Event::TurnCanceled { .. } => {
            Some(Finished::Turn)
        }
        _ => None,
    }
}
