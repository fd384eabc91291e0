//! Commands that only look: how sessions stand, what there is, where it is kept.

use std::collections::BTreeMap;

use ostler_door_kit::line_connection::OutboxClosed;
use ostler_index::ListFilter;
use ostler_types::{Effort, Refusal, SessionStatus};

use super::super::frames::{
    ListedModel, ModelName, ModelProvider, RunningSession, SavedSession, ServerFrame, Stats, send_frame,
};
use super::super::messages::{split_model, to_wire_usage};
use super::super::session_files;
use super::super::session_starter::to_refusal;
use super::JsonlConnection;

/// Sessions in one list.
const MAX_LISTED_SESSIONS: usize = 200;

impl JsonlConnection {
    pub(super) async fn stats(&mut self, id: Option<String>) -> Result<(), OutboxClosed> {
        let Some(id) = self.find_session(id).await? else { return Ok(()) };
        let Some(open) = self.sessions.iter_mut().find(|open| open.id == id) else { return Ok(()) };
        let counted = open.counts.count(&self.context.engine, id).await;
        let view = match counted {
            Ok(()) => self.context.engine.view(id).await,
            Err(error) => Err(error),
        };
        let view = match view {
            Ok(view) => view,
            Err(error) => return self.send_refusal(&to_refusal(error), Some(id)).await,
        };
        let (session, tally) = (&view.session, open.counts);
        let stats = Stats {
            session_id: id,
            message_count: tally.messages,
            turn_count: tally.turns,
            is_streaming: view.running_turn_id.is_some(),
            cwd: &session.workspace_path,
            model: ModelName::from_full_name(&session.model),
            thinking_level: session.effort.map(thinking_level),
            usage: to_wire_usage(&session.usage),
            queued: view.queue.len(),
            pending_approvals: view.pending_approvals.len(),
        };
        send_frame(&self.outbox, &ServerFrame::Stats { session_id: id, stats }).await
    }

    /// Everything is on disk already; a session with a file of its own is written there too.
    pub(super) async fn save(&mut self, id: Option<String>) -> Result<(), OutboxClosed> {
        let Some(session_id) = self.find_session(id).await? else { return Ok(()) };
        let file = self.sessions.iter().find(|open| open.id == session_id).and_then(|open| open.file.clone());
        let saved = match file {
            Some(file) => session_files::write(&self.context.engine, session_id, &file).await.map(|()| file),
            None => Ok(self.context.engine.log_path(session_id)),
        };
        let (path, error) = match saved {
            Ok(path) => (Some(path.display().to_string()), None),
            Err(Refusal { message, .. }) => (None, Some(message)),
        };
        let (ok, path, error) = (path.is_some(), path.as_deref(), error.as_deref());
        send_frame(&self.outbox, &ServerFrame::SaveResult { ok, path, error, session_id }).await
    }

    pub(super) async fn list_sessions(&self) -> Result<(), OutboxClosed> {
        let workspace = Some(self.options.cwd.clone());
        let filter = ListFilter {
            workspace,
            archived: Some(false),
            limit: MAX_LISTED_SESSIONS,
            ..ListFilter::default()
        };
        let listing = match self.context.engine.list(filter).await {
            Ok(listing) => listing,
            Err(error) => {
                let Refusal { message, .. } = to_refusal(error);
                let (sessions, error) = (Vec::new(), Some(message.as_str()));
                return send_frame(&self.outbox, &ServerFrame::SessionsList { sessions, error }).await;
            }
        };
        let saved = |listed: ostler_index::IndexedSession| {
            let session = listed.session;
            let path = self.context.engine.log_path(session.id).display().to_string();
            let timestamp = session.updated_at.as_millisecond();
            SavedSession {
                path,
                id: session.id,
                timestamp,
                cwd: session.workspace_path,
                title: session.title,
            }
        };
        // The list is for choosing what to resume, and a closed session cannot be.
        let is_open =
            |listed: &ostler_index::IndexedSession| listed.session.status != SessionStatus::Completed;
        let sessions = listing.sessions.into_iter().filter(is_open).map(saved).collect();
        send_frame(&self.outbox, &ServerFrame::SessionsList { sessions, error: None }).await
    }

    pub(super) async fn list_running(&self) -> Result<(), OutboxClosed> {
        let mut sessions = Vec::new();
        for open in &self.sessions {
            let running = |view: ostler_types::SessionView| view.running_turn_id.is_some();
            let is_streaming = self.context.engine.view(open.id).await.is_ok_and(running);
            sessions.push(RunningSession { session_id: open.id, cwd: open.cwd.clone(), is_streaming });
        }
        send_frame(&self.outbox, &ServerFrame::RunningSessions { sessions, error: None }).await
    }

    /// Providers may have to be asked, and meanwhile other commands are carried out.
    pub(super) fn list_models(&mut self) {
        let (models, outbox) = (self.context.settings.models.clone(), self.outbox.clone());
        self.followers.spawn(async move {
            let models = models.list(false).await;
            let mut providers: BTreeMap<&str, Vec<ListedModel<'_>>> = BTreeMap::new();
            for model in models.iter().filter(|model| model.unavailable.is_none()) {
                let (provider, id) = split_model(&model.name);
                providers.entry(provider).or_default().push(ListedModel { id, name: &model.name });
            }
            let provider = |(id, models)| ModelProvider { id, models };
            let providers = providers.into_iter().map(provider).collect();
            _ = send_frame(&outbox, &ServerFrame::ModelsList { providers }).await;
        });
    }

    pub(super) async fn debug(&self) -> Result<(), OutboxClosed> {
        let (sessions, awake) = (self.sessions.len(), self.context.engine.awake_count());
        let message = format!(
            "ostler {}: {sessions} sessions of this client, {awake} awake in all",
            env!("CARGO_PKG_VERSION")
        );
        send_frame(&self.outbox, &ServerFrame::Debug { message: &message, argv: Some(&self.options.argv) })
            .await
    }
}

/// In the words of this wire.
fn thinking_level(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "off",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "xhigh",
    }
}
