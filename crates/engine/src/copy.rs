//! A session that is made of records that exist already: read from a file, or copied from another session. They
//! are appended in pages, and count only when all of them are there. Whatever was still open in them is ended, so
//! that nothing starts to run because it was copied.

use ostler_eventlog::{Epoch, LogError};
use ostler_types::{
    CancelTurn, ChildNews, ChildOutcome, ChildStatus, Command, EventFor, Facts, NewRecord, Record, Session,
    SessionId, State, Usage, decide,
};

use crate::catalogue;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::recovery::{self, Origin};

/// Bytes that are appended at a time, more or less.
const PAGE_BYTES: usize = 1 << 20;
/// Records that are appended at a time.
const PAGE_RECORDS: usize = 1000;

/// A session that is being made of records that exist already.
pub(crate) struct Copy<'a> {
    engine: &'a Engine,
    id: SessionId,
    epoch: Epoch,
    state: Option<State>,
    /// What has been added and not yet appended, and roughly its size.
    page: Vec<NewRecord>,
    page_bytes: usize,
    next_seq: u64,
}

impl<'a> Copy<'a> {
    pub(crate) async fn begin(engine: &'a Engine, id: SessionId) -> Result<Copy<'a>, EngineError> {
        let log = &engine.shared.log;
        let epoch = log.claim(id).await?.epoch;
        log.begin(id, epoch).await?;
        Ok(Copy { engine, id, epoch, state: None, page: Vec::new(), page_bytes: 0, next_seq: 1 })
    }

    /// The seq that the next record gets.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Adds a record.
    pub(crate) async fn add(&mut self, new: NewRecord) -> Result<(), EngineError> {
        let new = NewRecord { event: self.engine.shared.secrets.mask_event(new.event), ..new };
        let NewRecord { ts, turn_id, event } = new.clone();
        let record = Record { seq: self.next_seq, ts, session_id: self.id, turn_id, event };
        match &mut self.state {
            Some(state) => state.apply(&record),
            None => self.state = State::begin(&record),
        }
        self.next_seq += 1;
        self.page_bytes += serde_json::to_vec(&record).map_or(0, |text| text.len());
        self.page.push(new);
        if self.page_bytes >= PAGE_BYTES || self.page.len() >= PAGE_RECORDS {
            self.flush().await?;
        }
        Ok(())
    }

    /// Ends what is still open: messages that wait, a turn, children.
    pub(crate) async fn quiet(&mut self) -> Result<(), EngineError> {
        loop {
            let Some(state) = &self.state else { return Ok(()) };
            let Some(command) = next_to_end(state) else { return Ok(()) };
            let events = decide(state, command, &Facts::default())?.events;
            if events.is_empty() {
                return Ok(());
            }
            let ts = self.engine.shared.clock.now();
            for EventFor { turn_id, event } in events {
                self.add(NewRecord { ts, turn_id, event }).await?;
            }
        }
    }

    /// Makes the session count, or removes what there is of it.
    pub(crate) async fn end(mut self, added: Result<(), EngineError>) -> Result<Session, EngineError> {
        let (log, id) = (self.engine.shared.log.clone(), self.id);
        let flushed = match added {
            Ok(()) => self.flush().await,
            Err(error) => Err(error),
        };
        let finished = match flushed {
            Ok(()) => log.finish(id, self.epoch).await.map_err(EngineError::from),
            Err(error) => Err(error),
        };
        let state = match (finished, self.state) {
            (Ok(()), Some(state)) => state,
            (finished, _) => {
                // If it cannot be removed now, the next start does it.
                _ = log.remove(id, self.epoch).await;
                return Err(finished.err().unwrap_or(EngineError::NotFound));
            }
        };
        let shared = &self.engine.shared;
        catalogue::write_session(shared, &state).await;
        catalogue::catch_up(shared, &state).await?;
        let session = state.session.clone();
        recovery::spawn(shared, id, Origin::New(Box::new(state), self.epoch));
        Ok(session)
    }

    /// Appends what has been added so far.
    pub(crate) async fn flush(&mut self) -> Result<(), EngineError> {
        let page = std::mem::take(&mut self.page);
        if page.is_empty() {
            return Ok(());
        }
        self.page_bytes = 0;
        let Some(first) = u64::try_from(page.len()).ok().and_then(|count| self.next_seq.checked_sub(count))
        else {
            return Err(LogError::Io("more was appended than there is".to_owned()).into());
        };
        self.engine.shared.log.append(self.id, self.epoch, first, page).await?;
        Ok(())
    }
}

/// What is to be ended next.
fn next_to_end(state: &State) -> Option<Command> {
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
    Some(Command::Child { session_id: open.session_id, news: ChildNews::Ended(outcome) })
}
