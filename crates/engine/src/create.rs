//! Making sessions: for a client, under a key or a name that is there once, and for another session.

use ostler_eventlog::Epoch;
use ostler_types::{
    Command, Decision, EventFor, Facts, NewRecord, NewSession, Record, Refusal, RefusalCode, Session,
    SessionId, State, create, decide,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::recovery::{self, Origin};

impl Engine {
    /// Makes a session. With an idempotency key that was used before, returns the earlier one; a name that
    /// an open session has is refused.
    pub async fn create(&self, new: NewSession) -> Result<Session, EngineError> {
        self.refuse_if_stopping()?;
        self.refuse_unknown_agent(&new.agent)?;
        self.refuse_unfit(&new.workspace_path).await?;
        let Some(key) = new.idempotency_key.clone() else { return self.create_named(new).await };
        self.until_recovered().await?;
        let _one_at_a_time = self.shared.creating.lock().await;
        self.shared.index.flushed().await?;
        match self.shared.index.by_idempotency_key(&key).await? {
            Some(id) => Ok(self.view(id).await?.session),
            None => self.create_named(new).await,
        }
    }

    async fn create_named(&self, new: NewSession) -> Result<Session, EngineError> {
        let Some(name) = new.name.clone() else { return self.create_new(new, None).await };
        let reserved = self.reserve(&name).await?;
        let session = self.create_new(new, None).await?;
        reserved.give(session.id);
        Ok(session)
    }

    /// Makes a session in the folder of the one that starts it, with its first turn: both or neither.
    pub(crate) async fn create_under(
        &self,
        parent: SessionId,
        new: NewSession,
        prompt: Command,
    ) -> Result<Session, EngineError> {
        self.refuse_if_stopping()?;
        self.refuse_unknown_agent(&new.agent)?;
        self.refuse_unfit(&new.workspace_path).await?;
        let id = new.id;
        self.shared.log.place_under(id, parent).await?;
        let created = self.create_new(new, Some(prompt)).await;
        if created.is_err() {
            // Its folder is there already. If it cannot be removed, the next start does it.
            _ = self.remove_log(id).await;
        }
        created
    }

    async fn create_new(&self, new: NewSession, prompt: Option<Command>) -> Result<Session, EngineError> {
        let id = new.id;
        let mut records = Vec::new();
        let events = create(new)?.into_iter().map(|event| EventFor { turn_id: None, event });
        self.place(id, events.collect(), &mut records);
        let mut state = State::fold(&records).expect("the first event was session_created");
        if let Some(prompt) = prompt {
            let Decision { events, .. } = decide(&state, prompt, &Facts::default())?;
            let first = records.len();
            self.place(id, events, &mut records);
            records[first..].iter().for_each(|record| state.apply(record));
        }
        let epoch = self.shared.log.claim(id).await?.epoch;
        self.append_first(id, epoch, &records).await?;
        crate::catalogue::write_session(&self.shared, &state).await;
        crate::catalogue::follow(&self.shared, &state, &records, &mut 0).await;
        let session = state.session.clone();
        recovery::spawn(&self.shared, id, Origin::New(Box::new(state), epoch));
        Ok(session)
    }

    /// Gives events their place in a log that is to be made.
    fn place(&self, session_id: SessionId, events: Vec<EventFor>, records: &mut Vec<Record>) {
        let ts = self.shared.clock.now();
        for EventFor { turn_id, event } in events {
            let (seq, event) = (records.len() as u64 + 1, self.shared.secrets.mask_event(event));
            records.push(Record { seq, ts, session_id, turn_id, event });
        }
    }

    async fn append_first(&self, id: SessionId, epoch: Epoch, records: &[Record]) -> Result<(), EngineError> {
        let new = |record: &Record| {
            let Record { ts, turn_id, event, .. } = record.clone();
            NewRecord { ts, turn_id, event }
        };
        self.shared.log.append(id, epoch, 1, records.iter().map(new).collect()).await?;
        Ok(())
    }

    /// Refuses a directory that is no workspace.
    pub(crate) async fn refuse_unfit(&self, workspace: &str) -> Result<(), EngineError> {
        match self.shared.unfit(workspace).await {
            None => Ok(()),
            Some(why) => {
                let message = format!("`{workspace}` cannot be a workspace: {why}");
                let hint = "name a directory of your own, such as that of a project";
                Err(Refusal::invalid(RefusalCode::BadWorkspace, message).hint(hint).into())
            }
        }
    }

    pub(crate) fn refuse_unknown_agent(&self, name: &str) -> Result<(), EngineError> {
        if self.shared.agents.contains_key(name) {
            return Ok(());
        }
        let message =
            format!("this daemon has no agent called `{name}`; it has {}", self.agents().join(", "));
        Err(Refusal::invalid("unknown_agent", message).into())
    }
}
