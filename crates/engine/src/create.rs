//! Making sessions: for a client, under a key or a name that is there once, and for another session.

use ostler_eventlog::LogError;
use ostler_types::{
    Command, EventFor, NewSession, Refusal, RefusalCode, RunnerName, Session, SessionId, create,
};

use crate::engine::{Engine, unknown_runner};
use crate::error::EngineError;
use crate::new_log::NewLog;
use crate::session_names::name_taken;

impl Engine {
    /// Makes a session. With an idempotency key that was used before, returns the earlier one; a name that
    /// an open session has is refused.
    pub async fn create(&self, new: NewSession) -> Result<Session, EngineError> {
        self.refuse_if_stopping()?;
        self.refuse_unknown_agent(&new.agent)?;
        self.check_workspace(new.runner.as_ref(), &new.workspace_path).await?;
        let Some(key) = new.idempotency_key.clone() else { return self.create_named(new).await };
        self.wait_until_recovered().await?;
        let _one_at_a_time = self.shared.creating.lock().await;
        self.shared.index.flush().await?;
        if let Some(id) = self.shared.index.by_idempotency_key(&key).await? {
            return Ok(self.view(id).await?.session);
        }
        match self.create_named(new).await {
            // Another node was faster, which only the storage knows.
            Err(EngineError::Log(LogError::Taken { by })) => Ok(self.view(by).await?.session),
            created => created,
        }
    }

    async fn create_named(&self, new: NewSession) -> Result<Session, EngineError> {
        let Some(name) = new.name.clone() else { return Box::pin(self.create_new(new, None)).await };
        let reserved = self.reserve(&name).await?;
        let key = new.idempotency_key.clone();
        let session = match Box::pin(self.create_new(new, None)).await {
            Err(EngineError::Log(LogError::Taken { by })) if !self.has_key(by, key.as_deref()).await? => {
                return Err(name_taken(&name).into());
            }
            created => created?,
        };
        reserved.assign(session.id);
        Ok(session)
    }

    /// Whether a session was made under this key.
    async fn has_key(&self, id: SessionId, key: Option<&str>) -> Result<bool, EngineError> {
        Ok(key.is_some() && self.view(id).await?.session.idempotency_key.as_deref() == key)
    }

    /// Makes a session in the folder of the one that starts it, with its first turn: both or neither.
    pub(crate) async fn create_child(
        &self,
        parent: SessionId,
        new: NewSession,
        prompt: Command,
    ) -> Result<Session, EngineError> {
        self.refuse_if_stopping()?;
        self.refuse_unknown_agent(&new.agent)?;
        self.check_workspace(new.runner.as_ref(), &new.workspace_path).await?;
        let id = new.id;
        self.shared.log.create_under(id, parent).await?;
        let created = Box::pin(self.create_new(new, Some(prompt))).await;
        if created.is_err() {
            // Its folder is there already. If it cannot be removed, the next start does it.
            _ = self.remove_log(id).await;
        }
        created
    }

    async fn create_new(&self, new: NewSession, prompt: Option<Command>) -> Result<Session, EngineError> {
        let id = new.id;
        let (agent, workspace) = (self.shared.agents.get(&new.agent).cloned(), new.workspace_path.clone());
        let events = create(new)?.into_iter().map(|event| EventFor { turn_id: None, event }).collect();
        // It works while the log is written.
        if let Some(agent) = agent {
            agent.prepare(id, &workspace);
        }
        let mut log = NewLog::claim(self, id).await?;
        let added = async {
            log.add_events(events).await?;
            match prompt {
                Some(prompt) => log.decide(prompt).await,
                None => Ok(()),
            }
        };
        let added = added.await;
        log.finish(added).await
    }

    /// Refuses a directory that is no workspace, and one on a runner that there is not.
    pub(crate) async fn check_workspace(
        &self,
        runner: Option<&RunnerName>,
        workspace: &str,
    ) -> Result<(), EngineError> {
        if let Some(name) = runner {
            return Err(unknown_runner(name).into());
        }
        match self.shared.workspace_problem(workspace).await {
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
