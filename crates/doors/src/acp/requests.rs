//! What each request and each notification of an editor does.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    CancelNotification, CancelRequestNotification, CloseSessionRequest, CloseSessionResponse,
    DeleteSessionRequest, DeleteSessionResponse, Error, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptRequest, RequestId,
    ResumeSessionRequest, SessionConfigOptionValue, SessionInfo, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use ostler_door_kit::{SessionRequest, create_session, failure};
use ostler_engine::EngineError;
use ostler_index::ListFilter;
use ostler_types::{
    Accepted, CancelTurn, Command, Delivery, Message, MessageId, RefusalCode, Role, SessionChange, SessionId,
    SessionStatus, SessionView, SubmitMessage, TurnId,
};
use serde::Serialize;
use serde_json::Value;

use super::editor_connection::{EditorConnection, MAX_SESSIONS, PendingPrompt, StopScope};
use super::errors::{
    bad_line, from_engine_error, from_failure, invalid_params, parse_params, session_not_found,
    unknown_method,
};
use super::prompt_parts::to_parts;
use super::settings::{AnnouncedSettings, setting_change};
use super::{CALLER, wire};

/// Sessions in one page of the list.
const PAGE: usize = 50;

/// What becomes of a request.
enum EditorReply {
    /// This is the answer.
    Now(Value),
    /// This is the answer, and then the session is followed, whose workspace the editor spells so.
    Open(Value, Box<SessionView>, PathBuf),
    /// The answer comes when something has happened.
    Later,
}

impl EditorReply {
    fn now(answer: &impl Serialize) -> Result<EditorReply, Error> {
        to_json(answer).map(EditorReply::Now)
    }
}

impl EditorConnection {
    /// Carries out a request, and answers it unless that comes later.
    pub(super) async fn request(&mut self, id: RequestId, method: &str, params: Value) {
        match self.carry_out(&id, method, params).await {
            Ok(EditorReply::Now(answer)) => wire::result(&id, &answer, &mut self.pending_output),
            Ok(EditorReply::Open(answer, view, cwd)) => {
                // The editor learns of the session before anything is told of it.
                wire::result(&id, &answer, &mut self.pending_output);
                self.open(&view, None);
                self.note_cwd(&view, cwd).await;
            }
            Ok(EditorReply::Later) => {}
            Err(error) => wire::error(&id, &error, &mut self.pending_output),
        }
    }

    async fn carry_out(&mut self, id: &RequestId, method: &str, params: Value) -> Result<EditorReply, Error> {
        match method {
            "initialize" => EditorReply::now(&self.initialize(parse_params(params)?)),
            "authenticate" => EditorReply::now(&self.authenticate(parse_params(params)?).await?),
            "session/new" => Box::pin(self.new_session(parse_params(params)?)).await,
            "session/load" => self.load(id, parse_params(params)?).await,
            "session/resume" => self.resume(parse_params(params)?).await,
            "session/list" => self.list(parse_params(params)?).await,
            "session/close" => self.close_session(&parse_params(params)?).await,
            "session/delete" => self.delete(&parse_params(params)?).await,
            "session/prompt" => self.prompt(id, parse_params(params)?).await,
            "session/set_mode" => {
                let SetSessionModeRequest { session_id, mode_id, .. } = parse_params(params)?;
                self.change_setting(&session_id.0, "mode", &mode_id.0).await?;
                EditorReply::now(&SetSessionModeResponse::default())
            }
            "session/set_config_option" => self.set_option(parse_params(params)?).await,
            other => Err(unknown_method(other)),
        }
    }

    /// Takes a notification. Those that are not known are left alone, as the protocol has it.
    pub(super) async fn notification(&mut self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                if let Ok(CancelNotification { session_id, .. }) = parse_params(params)
                    && let Ok(id) = session_id.0.parse()
                {
                    self.stop_turns(id, StopScope::AllTurns).await;
                }
            }
            "$/cancel_request" => {
                if let Ok(CancelRequestNotification { request_id, .. }) = parse_params(params)
                    && let Some(prompt) = self.prompts.iter().find(|prompt| prompt.request == request_id)
                {
                    // Of these two, the one that does not fit changes nothing.
                    let (id, turn_id, by) = (prompt.session_id, Some(prompt.turn_id), CALLER.to_owned());
                    self.submit(id, Command::Withdraw { message_id: prompt.message_id, by: by.clone() })
                        .await;
                    self.submit(id, Command::Cancel(CancelTurn { turn_id, by, reason: None })).await;
                }
            }
            other => {
                tracing::debug!(method = ostler_acp::to_plain_line(other, 100), "a notification is not known")
            }
        }
    }

    /// A directory as the editor spells it.
    fn absolute(&self, cwd: &Path) -> PathBuf {
        Path::new(&self.options.cwd).join(cwd).components().collect()
    }

    /// A directory as it really is, if there is one.
    async fn resolve_directory(&self, cwd: &Path) -> Option<String> {
        let workspaces = self.context.engine.runner().workspaces();
        workspaces
            .resolve_directory(cwd.to_string_lossy().into_owned())
            .await
            .ok()
            .map(|resolved| resolved.path)
    }

    /// Remembers how the editor spells the workspace of a session, where it is the same.
    async fn note_cwd(&mut self, view: &SessionView, cwd: PathBuf) {
        let is_same =
            self.resolve_directory(&cwd).await.is_some_and(|real| real == view.session.workspace_path);
        for open in self.sessions.iter_mut().filter(|open| is_same && open.id == view.session.id) {
            open.cwd.clone_from(&cwd);
        }
    }

    async fn new_session(&mut self, request: NewSessionRequest) -> Result<EditorReply, Error> {
        self.has_room()?;
        let cwd = self.absolute(&request.cwd);
        let wanted = SessionRequest {
            workspace_path: cwd.to_string_lossy().into_owned(),
            model: self.options.model.clone(),
            system_prompt: self.options.system_prompt.clone(),
            ..SessionRequest::default()
        };
        let policy = self.context.settings.policy.clone();
        let session = create_session(&self.context, wanted, policy).await.map_err(|error| {
            let failure = failure(error);
            if failure.code == RefusalCode::BadWorkspace.as_str() {
                invalid_params(failure.message)
            } else {
                from_failure(&failure)
            }
        })?;
        let view = self.context.engine.view(session.id).await.map_err(from_engine_error)?;
        let shown = AnnouncedSettings::from_view(&view);
        let answer = NewSessionResponse::new(session.id.to_string())
            .modes(shown.modes())
            .config_options(shown.options(&self.context).await)
            .meta(self.start_servers(&view, request.mcp_servers).await);
        Ok(EditorReply::Open(to_json(&answer)?, Box::new(view), cwd))
    }

    /// Tells all that has happened in a session, then what happens; the answer comes in between.
    async fn load(&mut self, id: &RequestId, request: LoadSessionRequest) -> Result<EditorReply, Error> {
        let view = self.find(&request.session_id.0).await?;
        let brought = self.start_servers(&view, request.mcp_servers).await;
        self.open(&view, Some(id.clone()));
        self.note_cwd(&view, self.absolute(&request.cwd)).await;
        for open in self.sessions.iter_mut().filter(|open| open.id == view.session.id) {
            open.server_report.clone_from(&brought);
        }
        Ok(EditorReply::Later)
    }

    /// Tells what happens in a session from now on.
    async fn resume(&mut self, request: ResumeSessionRequest) -> Result<EditorReply, Error> {
        let view = self.find(&request.session_id.0).await?;
        let brought = self.start_servers(&view, request.mcp_servers).await;
        let answer = self.session_offers(&Some(AnnouncedSettings::from_view(&view))).await.meta(brought);
        let cwd = self.absolute(&request.cwd);
        Ok(EditorReply::Open(to_json(&answer)?, Box::new(view), cwd))
    }

    /// What can be chosen of a session, in the form that load and resume have in common.
    pub(super) async fn session_offers(&self, shown: &Option<AnnouncedSettings>) -> LoadSessionResponse {
        match shown {
            Some(shown) => LoadSessionResponse::new()
                .modes(shown.modes())
                .config_options(shown.options(&self.context).await),
            None => LoadSessionResponse::new(),
        }
    }

    /// The sessions that can be gone on with, those with the newest activity first.
    async fn list(&self, request: ListSessionsRequest) -> Result<EditorReply, Error> {
        let workspace = match &request.cwd {
            Some(cwd) => {
                let real = self.resolve_directory(cwd).await;
                Some(real.unwrap_or_else(|| cwd.to_string_lossy().into_owned()))
            }
            None => None,
        };
        let filter = ListFilter {
            workspace,
            archived: Some(false),
            top_level_only: true,
            limit: PAGE,
            cursor: request.cursor,
            ..ListFilter::default()
        };
        let listing = self.context.engine.list(filter).await.map_err(from_engine_error)?;
        let sessions = listing.sessions.into_iter().map(|listed| listed.session);
        let open = sessions.filter(|session| session.status != SessionStatus::Completed);
        let info = open.map(|session| {
            SessionInfo::new(session.id.to_string(), session.workspace_path)
                .title(session.title)
                .updated_at(session.updated_at.to_string())
        });
        EditorReply::now(&ListSessionsResponse::new(info.collect()).next_cursor(listing.next_cursor))
    }

    /// Stops what this editor does in a session, and follows it no longer. The session stays.
    async fn close_session(&mut self, request: &CloseSessionRequest) -> Result<EditorReply, Error> {
        let id = self.find(&request.session_id.0).await?.session.id;
        self.leave_session(id).await;
        EditorReply::now(&CloseSessionResponse::default())
    }

    /// Puts a session away, so that no list has it: nothing of it is lost. One that is not there is put away already.
    async fn delete(&mut self, request: &DeleteSessionRequest) -> Result<EditorReply, Error> {
        if let Ok(id) = request.session_id.0.parse() {
            self.leave_session(id).await;
            let away = SessionChange { archived: Some(true), ..SessionChange::default() };
            match self.context.engine.submit(id, Command::Update(away)).await {
                Ok(_) | Err(EngineError::NotFound) => {}
                Err(error) => return Err(from_engine_error(error)),
            }
        }
        EditorReply::now(&DeleteSessionResponse::default())
    }

    /// Ends what this editor has with a session.
    async fn leave_session(&mut self, id: SessionId) {
        self.stop_turns(id, StopScope::OwnTurns).await;
        self.end_prompts(id);
        self.close(id);
        self.end_sharing(id).await;
    }

    async fn prompt(&mut self, id: &RequestId, request: PromptRequest) -> Result<EditorReply, Error> {
        let view = self.find(&request.session_id.0).await?;
        let session_id = view.session.id;
        let parts = to_parts(&self.context, session_id, &request.prompt).await?;
        self.open(&view, None);
        let clock = self.context.engine.clock();
        let message =
            Message { id: MessageId::new(clock.uuid()), role: Role::User, parts, created_at: clock.now() };
        let message_id = message.id;
        if let Some(open) = self.sessions.iter().find(|open| open.id == session_id) {
            open.own_messages.add(message_id);
        }
        let command = Command::Submit(SubmitMessage {
            message,
            turn_id: TurnId::new(clock.uuid()),
            delivery: Delivery::Queue,
            auto_run: Some(true),
            idempotency_key: None,
            by: CALLER.to_owned(),
        });
        let accepted = self.context.engine.submit(session_id, command).await.map_err(from_engine_error)?;
        let Accepted::Message { turn_id: Some(turn_id), .. } = accepted else {
            tracing::error!(?accepted, "a prompt led to no turn");
            return Err(Error::internal_error());
        };
        self.prompts.push(PendingPrompt { request: id.clone(), session_id, turn_id, message_id });
        Ok(EditorReply::Later)
    }

    async fn set_option(&mut self, request: SetSessionConfigOptionRequest) -> Result<EditorReply, Error> {
        let choice = match &request.value {
            SessionConfigOptionValue::Boolean { value } => value.to_string(),
            SessionConfigOptionValue::ValueId { value } => value.0.to_string(),
            _ => return Err(invalid_params("`value` is one of the choices, or true or false")),
        };
        let shown = self.change_setting(&request.session_id.0, &request.config_id.0, &choice).await?;
        EditorReply::now(&SetSessionConfigOptionResponse::new(shown.options(&self.context).await))
    }

    /// Chooses something, and returns how the session stands then.
    async fn change_setting(
        &mut self,
        session: &str,
        setting: &str,
        choice: &str,
    ) -> Result<AnnouncedSettings, Error> {
        let view = self.find(session).await?;
        let change = setting_change(&self.context, &view, setting, choice)?;
        let id = view.session.id;
        self.context.engine.submit(id, Command::Update(change)).await.map_err(from_engine_error)?;
        let view = self.context.engine.view(id).await.map_err(from_engine_error)?;
        Ok(AnnouncedSettings::from_view(&view))
    }

    /// The session that a request names, if it can be gone on with.
    async fn find(&self, given: &str) -> Result<SessionView, Error> {
        let id: SessionId = given.parse().map_err(|_| session_not_found(given))?;
        if !self.sessions.iter().any(|open| open.id == id) {
            self.has_room()?;
        }
        match self.context.engine.view(id).await {
            Ok(view) => Ok(view),
            Err(EngineError::NotFound) => Err(session_not_found(given)),
            Err(error) => Err(from_engine_error(error)),
        }
    }

    fn has_room(&self) -> Result<(), Error> {
        if self.sessions.len() < MAX_SESSIONS {
            return Ok(());
        }
        Err(bad_line(format!("an editor has at most {MAX_SESSIONS} sessions open at a time; close one")))
    }
}

fn to_json(answer: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(|_| Error::internal_error())
}
