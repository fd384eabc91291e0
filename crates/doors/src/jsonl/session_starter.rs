//! How a session comes to this wire: made anew, or found by its file or its id.

use std::path::{Path, PathBuf};

use ostler_door_kit::{DoorContext, SessionRequest, create_session, failure, imported_records};
use ostler_engine::EngineError;
use ostler_types::{Command, Failure, Policy, Refusal, SessionChange, SessionId, SessionStatus, SessionView};

use super::commands::{StartSession, quoted};
use super::session_files::{self, SessionFile};

/// What sessions are made with.
pub(super) struct SessionStarter<'a> {
    pub(super) context: &'a DoorContext,
    pub(super) cwd: &'a str,
    /// The model of the active session.
    pub(super) model: Option<String>,
}

/// A session, and where it is saved besides.
pub(super) struct StartedJsonlSession {
    pub(super) view: SessionView,
    pub(super) file: Option<PathBuf>,
}

impl SessionStarter<'_> {
    /// Makes the session that a client asks for, or finds it.
    pub(super) async fn start(&self, asked: &StartSession) -> Result<StartedJsonlSession, Refusal> {
        let Some(given) = &asked.session_file else {
            return Ok(StartedJsonlSession { view: self.create(asked).await?, file: None });
        };
        let engine = &self.context.engine;
        let path = session_files::resolve(Path::new(self.cwd), given)?;
        match session_files::read(path.clone(), engine.clone()).await? {
            SessionFile::New => {
                let view = self.create(asked).await?;
                let id = view.session.id;
                if let Err(refusal) = session_files::write(engine, id, &path).await {
                    // A session that cannot be kept where it should be is not left behind.
                    _ = engine.purge(id).await;
                    return Err(refusal);
                }
                Ok(StartedJsonlSession { view, file: Some(path) })
            }
            SessionFile::Log(id) => {
                Ok(StartedJsonlSession { view: self.reopen(id, asked).await?, file: None })
            }
            SessionFile::Copy { id, last, seq } => {
                let same = match session_files::is_copy_of_session(engine, id, &last, seq).await {
                    Err(EngineError::NotFound) => {
                        self.import_session(&path).await?;
                        true
                    }
                    other => other.map_err(to_refusal)?,
                };
                if !same {
                    let shown = path.display();
                    let message = format!("{shown} tells another history of session {id} than its log");
                    return Err(Refusal::conflict("bad_session_file", message)
                        .hint("remove the file to begin a new session, or name the log itself"));
                }
                Ok(StartedJsonlSession { view: self.reopen(id, asked).await?, file: Some(path) })
            }
        }
    }

    /// Takes in a session that was made in another data directory, with the id that it has there. It works where it
    /// did, if there is such a directory here, and may do what sessions may that are made here.
    async fn import_session(&self, path: &Path) -> Result<(), Refusal> {
        let imported = session_files::import(path.to_owned()).await?;
        if imported.local_description(Policy::default()).status == SessionStatus::Completed {
            return Err(closed_session_refusal(imported.session.id));
        }
        let recorded = imported.session.workspace_path.clone();
        let workspaces = self.context.engine.runner().workspaces();
        let is_here = workspaces.resolve_directory(recorded.clone()).await.is_ok();
        let workspace = if is_here { recorded } else { self.cwd.to_owned() };
        let records = imported_records(self.context, imported, workspace).await;
        let records = records.map_err(|error| failure_to_refusal(failure(error)))?;
        self.context.engine.import(records).await.map_err(to_refusal).map(drop)
    }

    /// Finds a session of this daemon that can be gone on with.
    pub(super) async fn find(&self, id: SessionId) -> Option<SessionView> {
        let view = self.context.engine.view(id).await.ok()?;
        (view.session.status != SessionStatus::Completed).then_some(view)
    }

    async fn reopen(&self, id: SessionId, asked: &StartSession) -> Result<SessionView, Refusal> {
        let engine = &self.context.engine;
        let view = engine.view(id).await.map_err(to_refusal)?;
        if view.session.status == SessionStatus::Completed {
            return Err(closed_session_refusal(id));
        }
        match &asked.model {
            Some(model) if *model != view.session.model => {
                self.check_model(model)?;
                let change = SessionChange { model: Some(model.clone()), ..SessionChange::default() };
                engine.submit(id, Command::Update(change)).await.map_err(to_refusal)?;
                engine.view(id).await.map_err(to_refusal)
            }
            Some(_) | None => Ok(view),
        }
    }

    async fn create(&self, asked: &StartSession) -> Result<SessionView, Refusal> {
        let engine = &self.context.engine;
        let cwd = Path::new(self.cwd).join(asked.cwd.as_deref().unwrap_or_default());
        let mut request = SessionRequest {
            // A path joined with nothing ends in a slash, which is no other directory.
            workspace_path: cwd.components().collect::<PathBuf>().to_string_lossy().into_owned(),
            system_prompt: asked.system_prompt.clone(),
            model: asked.model.clone().or_else(|| self.model.clone()),
            ..SessionRequest::default()
        };
        if let Some(model) = &request.model {
            self.check_model(model)?;
        }
        let mut policy = self.context.settings.policy.clone();
        if let Some(given) = &asked.parent_session {
            let parent = self.parent(given).await?;
            request.parent_session_id = Some(parent.session.id);
            // A session may do what the one may that it comes from, and no more.
            policy = parent.session.policy;
        }
        let made = create_session(self.context, request, policy).await;
        let session = made.map_err(|error| failure_to_refusal(failure(error)))?;
        engine.view(session.id).await.map_err(to_refusal)
    }

    fn check_model(&self, name: &str) -> Result<(), Refusal> {
        let invalid = |refusal: Refusal| {
            let message = format!("invalid model: {}", refusal.message);
            Refusal { message, ..refusal }
        };
        self.context.settings.models.check(name).map_err(invalid)
    }

    async fn parent(&self, given: &str) -> Result<SessionView, Refusal> {
        let unknown = || {
            let message = format!("there is no session `{}` to be its parent", quoted(given));
            Refusal::invalid("unknown_parent", message)
        };
        let id: SessionId = given.parse().map_err(|_| unknown())?;
        match self.context.engine.view(id).await {
            Ok(view) => Ok(view),
            Err(EngineError::NotFound) => Err(unknown()),
            Err(error) => Err(to_refusal(error)),
        }
    }
}

/// What a client is told of a failure.
pub(super) fn to_refusal(error: EngineError) -> Refusal {
    match error {
        EngineError::Refused(refusal) => refusal,
        EngineError::NotFound => Refusal::not_found("not_found", "not_found"),
        other @ (EngineError::Log(_)
        | EngineError::Index(_)
        | EngineError::BadCursor
        | EngineError::Rebuilding
        | EngineError::ShuttingDown) => failure_to_refusal(failure(other)),
    }
}

fn failure_to_refusal(Failure { code, message, hint }: Failure) -> Refusal {
    Refusal { hint, ..Refusal::conflict(code, message) }
}

fn closed_session_refusal(id: SessionId) -> Refusal {
    Refusal::conflict("session_closed", format!("session {id} is closed"))
        .hint("start a new session, with it as `parent_session`")
}
