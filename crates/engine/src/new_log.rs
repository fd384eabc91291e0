//! The log of a session that is being made: by a client, for another session, of a fork, of an import. The one place
//! beside [`LoadedSession::record`](crate::loaded_session::LoadedSession::record) that appends.
//!
//! What is small is appended at once, whole or not at all. What is large is appended in pages, and counts only when all
//! of them are there.

use ostler_eventlog::{Epoch, LogError};
use ostler_types::{
    CancelTurn, ChildOutcome, ChildStatus, ChildUpdate, Command, DecisionFacts, EventFor, NewRecord, Record,
    Session, SessionId, State, Usage, decide,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::index_sync;
use crate::recovery::{self, ActorOrigin};

/// Bytes that are appended at a time, more or less.
const PAGE_BYTES: usize = 1 << 20;
/// Records that are appended at a time.
const PAGE_RECORDS: usize = 1000;

/// A session that is being made.
pub(crate) struct NewLog<'a> {
    engine: &'a Engine,
    id: SessionId,
    epoch: Epoch,
    state: Option<State>,
    /// What has been added and not yet appended, and roughly its size.
    page: Vec<Record>,
    page_bytes: usize,
    /// Whether a page was appended already.
    has_begun: bool,
    next_seq: u64,
}

impl<'a> NewLog<'a> {
    /// Claims the session.
    pub(crate) async fn claim(engine: &'a Engine, id: SessionId) -> Result<NewLog<'a>, EngineError> {
        let epoch = engine.shared.log.claim(id).await?.epoch;
        let (page, page_bytes, has_begun) = (Vec::new(), 0, false);
        Ok(NewLog { engine, id, epoch, state: None, page, page_bytes, has_begun, next_seq: 1 })
    }

    /// The seq that the next record gets.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Adds a record.
    pub(crate) async fn add(&mut self, new: NewRecord) -> Result<(), EngineError> {
        let NewRecord { ts, turn_id, event } = new;
        let event = self.engine.shared.secrets.mask_event(event);
        let record = Record { seq: self.next_seq, ts, session_id: self.id, turn_id, event };
        match &mut self.state {
            Some(state) => state.apply(&record),
            None => self.state = State::begin(&record),
        }
        self.next_seq += 1;
        self.page_bytes += serde_json::to_vec(&record).map_or(0, |text| text.len());
        self.page.push(record);
        if self.page_bytes >= PAGE_BYTES || self.page.len() >= PAGE_RECORDS {
            self.flush().await?;
        }
        Ok(())
    }

    /// Adds events that happen now.
    pub(crate) async fn add_events(&mut self, events: Vec<EventFor>) -> Result<(), EngineError> {
        let ts = self.engine.shared.clock.now();
        for EventFor { turn_id, event } in events {
            self.add(NewRecord { ts, turn_id, event }).await?;
        }
        Ok(())
    }

    /// Adds what a command comes to.
    pub(crate) async fn decide(&mut self, command: Command) -> Result<(), EngineError> {
        let Some(state) = &self.state else { return Ok(()) };
        let events = decide(state, command, &DecisionFacts::default())?.events;
        self.add_events(events).await
    }

    /// Ends what is still open: messages that wait, a turn, children. So nothing starts to run because it was copied.
    pub(crate) async fn end_open_work(&mut self) -> Result<(), EngineError> {
        while let Some(command) = self.state.as_ref().and_then(next_ending_command) {
            let before = self.next_seq;
            self.decide(command).await?;
            if self.next_seq == before {
                break;
            }
        }
        Ok(())
    }

    /// Makes the session count and starts its actor, or removes what there is of it.
    pub(crate) async fn finish(mut self, added: Result<(), EngineError>) -> Result<Session, EngineError> {
        let whole = match added {
            Ok(()) => self.append_last().await,
            Err(error) => Err(error),
        };
        let shared = &self.engine.shared;
        let state = match (whole, self.state) {
            (Ok(()), Some(state)) => state,
            (whole, _) => {
                // If it cannot be removed now, the next start does it.
                _ = shared.log.remove(self.id, self.epoch).await;
                return Err(whole.err().unwrap_or(EngineError::NotFound));
            }
        };
        index_sync::write_session(shared, &state).await;
        if self.has_begun {
            index_sync::catch_up(shared, &state).await?;
        } else {
            index_sync::index_records(shared, &state, &self.page, &mut 0).await;
        }
        let session = state.session.clone();
        recovery::spawn(shared, self.id, ActorOrigin::New(Box::new(state), self.epoch));
        Ok(session)
    }

    /// Appends what has been added so far. Until the end, a crash leaves nothing of it.
    pub(crate) async fn flush(&mut self) -> Result<(), EngineError> {
        if !self.has_begun {
            self.engine.shared.log.begin_creation(self.id, self.epoch).await?;
            self.has_begun = true;
        }
        self.append_page().await?;
        (self.page, self.page_bytes) = (Vec::new(), 0);
        Ok(())
    }

    async fn append_last(&mut self) -> Result<(), EngineError> {
        self.append_page().await?;
        if self.has_begun {
            self.engine.shared.log.finish_creation(self.id, self.epoch).await?;
        }
        Ok(())
    }

    async fn append_page(&self) -> Result<(), LogError> {
        let Some(first) = self.page.first() else { return Ok(()) };
        let new = |record: &Record| {
            let Record { ts, turn_id, event, .. } = record.clone();
            NewRecord { ts, turn_id, event }
        };
        let records = self.page.iter().map(new).collect();
        self.engine.shared.log.append(self.id, self.epoch, first.seq, records).await.map(drop)
    }
}

/// What is to be ended next.
fn next_ending_command(state: &State) -> Option<Command> {
    let by = || "import".to_owned();
    if let Some(queued) = state.queue.front() {
        return Some(Command::Withdraw { message_id: queued.message.id, by: by() });
    }
    if state.turn.is_some() {
        let reason = Some("it was still running when the session was copied".to_owned());
        return Some(Command::Cancel(CancelTurn { turn_id: None, by: by(), reason }));
    }
    let open = state.children.iter().find(|child| child.outcome.is_none())?;
    let outcome = ChildOutcome {
        status: ChildStatus::Canceled,
        text: String::new(),
        error: Some("it was left behind when the session was copied".to_owned()),
        usage: Usage::default(),
        changed_files: None,
    };
    Some(Command::Child { session_id: open.session_id, news: ChildUpdate::Ended(outcome) })
}
