//! Sessions that leave and sessions that arrive: reading a log for an export, and making a session of records that
//! were written elsewhere. What they look like in a file is left to the recorder.

use ostler_eventlog::{BlobWrite, LogLine};
use ostler_types::{Event, NewRecord, Refusal, Session, SessionEvent, SessionId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::new_log::NewLog;
use crate::session_names::name_taken;

impl Engine {
    /// Records from `from` on, about `max_bytes` of them and at least one if there is one.
    pub async fn read_records(
        &self,
        id: SessionId,
        from: u64,
        max_bytes: usize,
    ) -> Result<Vec<LogLine>, EngineError> {
        Ok(self.shared.log.read(id, from, max_bytes).await?)
    }

    /// Makes a session of records that were written elsewhere, the first of which describes it under its new id.
    /// Nothing of it runs: what was open when it was taken away is ended.
    pub async fn import(&self, records: Vec<NewRecord>) -> Result<Session, EngineError> {
        self.refuse_if_stopping()?;
        self.wait_until_recovered().await?;
        let _one_at_a_time = self.shared.creating.lock().await;
        let id = self.refuse_import(&records).await?;
        self.import_as(id, records).await
    }

    async fn import_as(&self, id: SessionId, records: Vec<NewRecord>) -> Result<Session, EngineError> {
        let mut copy = NewLog::claim(self, id).await?;
        let added = async {
            for record in records {
                copy.add(record).await?;
            }
            copy.end_open_work().await
        };
        let added = added.await;
        copy.finish(added).await
    }

    /// Makes a session of what somebody else's agent tells of one that was begun there. One that its agent knows by
    /// the same id is that one, so that nothing is recorded twice.
    pub async fn adopt(&self, records: Vec<NewRecord>) -> Result<Session, EngineError> {
        self.refuse_if_stopping()?;
        self.wait_until_recovered().await?;
        let _one_at_a_time = self.shared.creating.lock().await;
        let id = self.refuse_import(&records).await?;
        if let Some(Event::Session(SessionEvent::Created { session })) =
            records.first().map(|first| &first.event)
            && let Some(own) = &session.agent_session_id
            && let Some(known) = self.shared.index.by_agent_session(&session.agent, own).await?
        {
            return Ok(self.view(known).await?.session);
        }
        self.import_as(id, records).await
    }

    /// Keeps a file that an imported session's records refer to.
    pub async fn import_file(&self, id: SessionId, name: &str, content: Vec<u8>) -> Result<(), EngineError> {
        Ok(self.shared.log.put_blob(id, name.to_owned(), content.into(), BlobWrite::New).await?)
    }

    /// The session that the records describe, if there is room for it here.
    async fn refuse_import(&self, records: &[NewRecord]) -> Result<SessionId, EngineError> {
        let Some(Event::Session(SessionEvent::Created { session })) =
            records.first().map(|first| &first.event)
        else {
            let message = "the records do not begin with the creation of a session";
            return Err(Refusal::invalid("bad_import", message)
                .hint("export the session again, as ndjson or zip")
                .into());
        };
        self.refuse_unknown_agent(&session.agent)?;
        // An import says last where the session works from now on.
        let described = records.iter().rev().find_map(|record| {
            let Event::Session(SessionEvent::Updated { session }) = &record.event else { return None };
            Some(session)
        });
        let described = described.unwrap_or(session);
        self.check_workspace(described.runner.as_ref(), &described.workspace_path).await?;
        if self.shared.log.last_seq(session.id).await? > 0 {
            let refusal =
                Refusal::conflict("session_exists", format!("session {} is here already", session.id));
            return Err(refusal.hint("import it under another id").into());
        }
        self.shared.index.flush().await?;
        match &session.name {
            Some(name) if self.shared.index.by_name(name).await?.is_some() => Err(name_taken(name).into()),
            _ => Ok(session.id),
        }
    }
}
