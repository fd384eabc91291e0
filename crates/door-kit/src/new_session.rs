//! Making a session: what a client of any door may say of a new one, and what it gets where it says nothing.

use std::collections::BTreeMap;

use ostler_engine::EngineError;
use ostler_types::{
    Budget, Effort, MAX_SESSION_DEPTH, NewSession, Policy, Refusal, Resolution, Session, SessionId,
    SessionView,
};

use crate::context::DoorContext;
use crate::directories::{existing_directory, log_directory, refuse_own_data};
use crate::error::DoorError;
use crate::third_party::{NATIVE, ThirdPartySession};

/// What a new session is to be. Only the workspace has to be named.
#[derive(Debug, Default)]
pub struct SessionRequest {
    /// An existing directory, as an absolute path.
    pub workspace_path: String,
    /// Instructions for the model.
    pub system_prompt: Option<String>,
    /// Whether a message starts a turn unless it says otherwise; true when absent.
    pub auto_run: Option<bool>,
    /// Who runs its turns; the native agent when absent.
    pub agent: Option<String>,
    /// Which model, as `provider:model`; found by the model policy when absent.
    pub model: Option<String>,
    /// Models that take its place, in this order, when it cannot begin to answer.
    pub fallback_models: Option<Vec<String>>,
    /// How much the model thinks; as its maker thinks best when absent.
    pub effort: Option<Effort>,
    /// Whether the traffic with providers is kept; by the settings when absent.
    pub raw_log: Option<bool>,
    /// Whether thinking, times and tokens are kept; by the settings when absent.
    pub verbose_log: Option<bool>,
    /// The directory of its readable files, as an absolute path; made if it is not there.
    pub log_dir: Option<String>,
    /// What people call it.
    pub title: Option<String>,
    /// What programs call it, unique among the open sessions.
    pub name: Option<String>,
    /// The session that starts it.
    pub parent_session_id: Option<SessionId>,
    /// What it may spend.
    pub budget: Option<Budget>,
    /// How it is used.
    pub mode: SessionMode,
    /// Asking twice with one key makes one session.
    pub idempotency_key: Option<String>,
    /// What is chosen of the settings of a third-party agent, by the agent's own names.
    pub agent_settings: BTreeMap<String, String>,
    /// The session of a third-party agent to take over, as the agent calls it. One that was taken over before is
    /// found, and not made again.
    pub adopt: Option<String>,
}

/// How a session is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionMode {
    /// By a person at a terminal.
    Repl,
    /// By a client of a door.
    #[default]
    Serve,
    /// As an agent of the pool.
    Agent,
}

impl SessionMode {
    fn as_str(self) -> &'static str {
        match self {
            SessionMode::Repl => "repl",
            SessionMode::Serve => "serve",
            SessionMode::Agent => "agent",
        }
    }
}

/// Makes a session under a policy.
pub async fn create_session(
    context: &DoorContext,
    request: SessionRequest,
    policy: Policy,
) -> Result<Session, DoorError> {
    let workspace_path = existing_directory(context, "workspace_path", &request.workspace_path).await?;
    refuse_own_data(context, "workspace_path", &workspace_path)?;
    request.name.as_deref().map_or(Ok(()), check_name)?;
    let settings = &context.settings;
    let agent = request.agent.unwrap_or_else(|| NATIVE.to_owned());
    let third_party =
        ThirdPartySession::for_agent(context, &agent, request.model.as_deref(), request.agent_settings)?;
    if third_party.is_none() && request.adopt.is_some() {
        let message = match agent.as_str() {
            NATIVE => {
                "only a session of someone else's agent can be taken over; name it as `agent`".to_owned()
            }
            _ => {
                format!("no agent called `{agent}` is configured; `ostler agents list` shows those that are")
            }
        };
        return Err(Refusal::invalid("nothing_to_adopt", message).into());
    }
    let (model, resolution, fallback_models) = match &third_party {
        Some(third_party) => (third_party.model(&agent), None, Vec::new()),
        None => {
            let fallbacks = request.fallback_models.unwrap_or_else(|| settings.fallback_models.clone());
            choose_model(context, request.model, &policy, fallbacks).await?
        }
    };
    let depth = match request.parent_session_id {
        Some(parent) => depth_below(&parent_view(context, parent).await?)?,
        None => 0,
    };
    let log_root = match &request.log_dir {
        Some(directory) => Some(log_directory(context, directory).await?),
        None => None,
    };
    let clock = context.engine.clock();
    let new = NewSession {
        system_prompt: request.system_prompt,
        agent,
        resolution,
        fallback_models,
        effort: request.effort,
        raw_log: request.raw_log.unwrap_or(settings.raw_log),
        verbose_log: request.verbose_log.unwrap_or(settings.verbose_log),
        log_root,
        title: request.title,
        name: request.name,
        parent_session_id: request.parent_session_id,
        depth,
        budget: request.budget,
        mode: request.mode.as_str().to_owned(),
        auto_run: request.auto_run.unwrap_or(true),
        policy,
        idempotency_key: request.idempotency_key,
        ..NewSession::new(SessionId::new(clock.uuid()), clock.now(), workspace_path, model)
    };
    match third_party {
        Some(third_party) => third_party.create(&context.engine, new, request.adopt).await,
        None => Ok(context.engine.create(new).await?),
    }
}

/// The model that was named, or the one that the policy leads to, with those that take its place.
async fn choose_model(
    context: &DoorContext,
    named: Option<String>,
    policy: &Policy,
    fallbacks: Vec<String>,
) -> Result<(String, Option<Resolution>, Vec<String>), DoorError> {
    let models = &context.settings.models;
    let (model, resolution) = match named {
        Some(model) => (model, None),
        None => {
            let resolution = models.choose(&policy.model).await?;
            (resolution.model.clone(), Some(resolution))
        }
    };
    for name in std::iter::once(&model).chain(&fallbacks) {
        models.check(name)?;
    }
    Ok((model, resolution, fallbacks))
}

async fn parent_view(context: &DoorContext, parent: SessionId) -> Result<SessionView, DoorError> {
    context.engine.view(parent).await.map_err(|error| match error {
        EngineError::NotFound => {
            let message = format!("there is no session {parent} to be its parent");
            Refusal::invalid("unknown_parent", message).into()
        }
        other @ (EngineError::Refused(_)
        | EngineError::Log(_)
        | EngineError::Index(_)
        | EngineError::BadCursor
        | EngineError::Rebuilding
        | EngineError::ShuttingDown) => other.into(),
    })
}

fn depth_below(parent: &SessionView) -> Result<u32, Refusal> {
    let depth = parent.session.depth.saturating_add(1);
    if depth > MAX_SESSION_DEPTH {
        let message = format!("there are already {MAX_SESSION_DEPTH} sessions above the one that starts it");
        return Err(Refusal::conflict("too_deep", message).hint("make it without a parent"));
    }
    Ok(depth)
}

/// A name is part of addresses and of command lines, so it is plain.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty() || name.len() > 128 || name.starts_with('.') || !name.bytes().all(plain) {
        let message =
            "a name has 1 to 128 letters, digits, dots, dashes and underscores, and no dot at its start";
        return Err(Refusal::invalid("bad_name", message));
    }
    Ok(())
}
