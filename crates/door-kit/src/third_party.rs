//! Sessions of third-party agents: begun in one or taken over from it, the settings that it offers, and the sessions
//! that it keeps itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ostler_engine::Engine;
use ostler_runner::{AdoptSession, AdoptedAgentSession, BeginSession, ThirdPartyAgents};
use ostler_types::{
    AgentSession, AgentState, Failure, NewRecord, NewSession, Refusal, Session, SessionView, create,
};

use crate::context::DoorContext;
use crate::error::DoorError;

/// The agent that is the daemon's own.
pub const NATIVE: &str = "native";
/// The setting by which agents have their model chosen.
const MODEL: &str = "model";

/// The sessions of a workspace that an agent keeps itself.
pub async fn agent_sessions(
    context: &DoorContext,
    agent: &str,
    workspace: String,
) -> Result<Vec<AgentSession>, DoorError> {
    let mut sessions = third_party_agents(context, agent)?
        .list_sessions(agent, PathBuf::from(workspace))
        .await
        .map_err(agent_error)?;
    for session in &mut sessions {
        session.session_id = context.engine.by_agent_session(agent, &session.agent_session_id).await?;
    }
    Ok(sessions)
}

/// What a session of a third-party agent is made of, besides what all have.
pub(crate) struct ThirdPartySession {
    settings: BTreeMap<String, String>,
}

impl ThirdPartySession {
    /// That of a new session; none for the daemon's own agent. A model that is named is one of the agent's.
    pub(crate) fn for_agent(
        context: &DoorContext,
        agent: &str,
        model: Option<&str>,
        chosen: BTreeMap<String, String>,
    ) -> Result<Option<ThirdPartySession>, DoorError> {
        if agent == NATIVE {
            if !chosen.is_empty() {
                return Err(no_settings().into());
            }
            return Ok(None);
        }
        // Whoever makes the session says that there is no such agent.
        let Ok(agents) = third_party_agents(context, agent) else { return Ok(None) };
        let mut settings = agents.default_settings(agent);
        settings.extend(chosen);
        settings.extend(model.map(|model| (MODEL.to_owned(), agent_model_id(agent, model).to_owned())));
        Ok(Some(ThirdPartySession { settings }))
    }

    /// The session's model, as far as it is known.
    pub(crate) fn model(&self, agent: &str) -> String {
        model_name(agent, self.settings.get(MODEL).map(String::as_str))
    }

    /// Makes the session: taken over from the agent, or begun in it.
    pub(crate) async fn create(
        self,
        engine: &Engine,
        mut new: NewSession,
        adopt: Option<String>,
    ) -> Result<Session, DoorError> {
        new.agent_settings = self.settings;
        if let Some(agent_session_id) = adopt {
            return adopt_session(engine, new, agent_session_id).await;
        }
        // Asked for twice under one key it must be begun once, so that its first turn does.
        if new.idempotency_key.is_none() {
            let begin = BeginSession {
                session_id: new.id,
                workspace: PathBuf::from(&new.workspace_path),
                settings: new.agent_settings.clone(),
            };
            let state =
                engine.runner().agents().begin_session(&new.agent, begin).await.map_err(agent_error)?;
            refuse_unknown(&new.agent, &state, &new.agent_settings)?;
            new.model = current_model(&new.agent, &state).unwrap_or(new.model);
            new.agent_session_id.clone_from(&state.agent_session_id);
            new.agent_state = Some(Box::new(state));
        }
        Ok(engine.create(new).await?)
    }
}

/// Takes over a session that was begun elsewhere. One that was taken over before is that one.
async fn adopt_session(
    engine: &Engine,
    mut new: NewSession,
    agent_session_id: String,
) -> Result<Session, DoorError> {
    if let Some(known) = engine.by_agent_session(&new.agent, &agent_session_id).await? {
        return Ok(engine.view(known).await?.session);
    }
    let (session_id, workspace) = (new.id, PathBuf::from(&new.workspace_path));
    let adopt = AdoptSession { session_id, workspace, agent_session_id: agent_session_id.clone() };
    let adopted = engine.runner().agents().adopt_session(&new.agent, adopt).await;
    let AdoptedAgentSession { state, mut records, files } = adopted.map_err(agent_error)?;
    new.model = current_model(&new.agent, &state).unwrap_or(new.model);
    new.agent_session_id = Some(agent_session_id);
    let ts = new.at;
    let first = create(new)?.into_iter().map(|event| NewRecord { ts, turn_id: None, event });
    records.splice(0..0, first.collect::<Vec<_>>());
    let session = engine.adopt(records).await?;
    // One that somebody else took over meanwhile has its files.
    if session.id == session_id {
        for (name, content) in files {
            engine.import_file(session_id, &name, content).await?;
        }
    }
    Ok(session)
}

/// The third-party agents, if this is one of them.
fn third_party_agents<'a>(
    context: &'a DoorContext,
    agent: &str,
) -> Result<&'a dyn ThirdPartyAgents, DoorError> {
    context.third_party(agent).ok_or_else(|| {
        let agent: String = agent.chars().take(128).collect();
        let message = format!("`{agent}` is no agent of others that this daemon has");
        Refusal::not_found("unknown_agent", message).into()
    })
}

/// A model of an agent, in the agent's own words.
fn agent_model_id<'a>(agent: &str, model: &'a str) -> &'a str {
    model.strip_prefix(agent).and_then(|rest| rest.strip_prefix(':')).unwrap_or(model)
}

/// A model of an agent, in ours.
fn model_name(agent: &str, own: Option<&str>) -> String {
    format!("{agent}:{}", own.filter(|own| !own.is_empty()).unwrap_or("default"))
}

fn current_model(agent: &str, state: &AgentState) -> Option<String> {
    let setting = state.settings.iter().find(|setting| setting.id == MODEL)?;
    Some(model_name(agent, Some(setting.current.as_deref()?)))
}

/// What a change of model and settings comes to in a session.
pub fn changed_settings(
    view: &SessionView,
    model: Option<String>,
    mut settings: BTreeMap<String, String>,
) -> Result<(Option<String>, BTreeMap<String, String>), Refusal> {
    let agent = &view.session.agent;
    if agent == NATIVE {
        return if settings.is_empty() { Ok((model, settings)) } else { Err(no_settings()) };
    }
    settings.extend(model.map(|model| (MODEL.to_owned(), agent_model_id(agent, &model).to_owned())));
    if let Some(state) = &view.agent_state {
        refuse_unknown(agent, state, &settings)?;
    }
    let model = settings.get(MODEL).map(|own| model_name(agent, Some(own)));
    Ok((model, settings))
}

/// Refuses what the agent does not offer. Choices are only looked at where the agent lists them.
fn refuse_unknown(
    agent: &str,
    state: &AgentState,
    settings: &BTreeMap<String, String>,
) -> Result<(), Refusal> {
    // One that says nothing of itself yet may offer anything.
    if state.agent_session_id.is_none() {
        return Ok(());
    }
    for (name, choice) in settings {
        let Some(setting) = state.settings.iter().find(|setting| setting.id == *name) else {
            let offered: Vec<&str> = state.settings.iter().map(|setting| setting.id.as_str()).collect();
            let message =
                format!("the agent {agent} has no setting `{name}`; it has {}", quoted_list(&offered));
            return Err(Refusal::invalid("unknown_setting", message));
        };
        let offered: Vec<&str> = setting.choices.iter().map(|choice| choice.id.as_str()).collect();
        if !offered.is_empty() && !offered.contains(&choice.as_str()) {
            let message = format!("`{choice}` is no choice of `{name}`; there are {}", quoted_list(&offered));
            return Err(Refusal::invalid("unknown_choice", message));
        }
    }
    Ok(())
}

fn quoted_list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn no_settings() -> Refusal {
    let message = "`agent_settings` are for agents of others; the daemon's own has none";
    Refusal::invalid("no_agent_settings", message).hint("choose its `model`, `effort` and `policy` instead")
}

/// What is said of an agent that could not do what it was asked.
fn agent_error(Failure { code, message, hint }: Failure) -> DoorError {
    let refusal = Refusal::conflict(code, message);
    match hint {
        Some(hint) => refusal.hint(hint).into(),
        None => refusal.into(),
    }
}
