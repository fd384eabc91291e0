//! What can be chosen of a session from an editor: its mode, which is how much it asks, its model, and
//! whatever someone else's agent offers. The protocol has two ways to say the first, and both are served.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_client_protocol::v1::schema::{Error, SessionConfigOption, SessionMode, SessionModeState};
use ostler_acp::to_config_options;
use ostler_door_kit::DoorContext;
use ostler_types::{
    AgentChoice, AgentSetting, AgentState, PatchReviewMode, Policy, Session, SessionChange, SessionView,
    ToolKind, WORK_MODES, WorkMode,
};

use super::errors::{from_refusal, invalid_params};

/// How long the list of models is awaited; the session's own model is always in it.
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(2);
/// Models in the list.
const MODELS: usize = 200;

/// The settings of a session with the native agent.
const MODE: &str = "mode";
const MODEL: &str = "model";
/// The agent that asks by our policy, and whose model is ours to choose.
const NATIVE: &str = "native";

/// What editors call our ways to work, in the same order.
const MODES: [&str; 4] = ["default", "review", "accept_edits", "auto"];

/// What an editor was last told that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnnouncedSettings {
    pub(super) title: Option<String>,
    pub(super) mode: &'static str,
    pub(super) model: String,
    /// What someone else's agent offers.
    pub(super) agent: Vec<AgentSetting>,
    is_native: bool,
}

impl AnnouncedSettings {
    pub(super) fn from_view(view: &SessionView) -> AnnouncedSettings {
        let mut shown = AnnouncedSettings {
            title: None,
            mode: MODES[0],
            model: String::new(),
            agent: Vec::new(),
            is_native: view.session.agent == NATIVE,
        };
        shown.update_session(&view.session);
        if let Some(agent) = &view.agent_state {
            shown.update_agent(agent);
        }
        shown
    }

    /// Takes the session as it is now.
    pub(super) fn update_session(&mut self, session: &Session) {
        self.title.clone_from(&session.title);
        self.mode = mode_of_policy(&session.policy);
        self.model.clone_from(&session.model);
    }

    /// Takes what the agent offers now.
    pub(super) fn update_agent(&mut self, agent: &AgentState) {
        self.agent.clone_from(&agent.settings);
    }

    /// The modes, in the older of the two ways. Someone else's agent has its own, among its settings.
    pub(super) fn modes(&self) -> Option<SessionModeState> {
        let mode = |(id, mode): (&'static str, &WorkMode)| {
            SessionMode::new(id, mode.name).description(mode.description.to_owned())
        };
        self.is_native.then(|| SessionModeState::new(self.mode, modes().map(mode).collect()))
    }

    /// All that can be chosen, in the newer way.
    pub(super) async fn options(&self, context: &DoorContext) -> Vec<SessionConfigOption> {
        if !self.is_native {
            return to_config_options(&self.agent);
        }
        let listed = tokio::time::timeout(MODEL_LIST_TIMEOUT, context.settings.models.list(false)).await;
        let usable = listed.unwrap_or_default().into_iter().filter(|model| model.unavailable.is_none());
        let mut names: Vec<String> = usable.map(|model| model.name).take(MODELS).collect();
        if !names.contains(&self.model) {
            names.insert(0, self.model.clone());
        }
        let model = |name: String| AgentChoice { id: name.clone(), name, description: None };
        let mode = |(id, mode): (&str, &WorkMode)| AgentChoice {
            id: id.to_owned(),
            name: mode.name.to_owned(),
            description: Some(mode.description.to_owned()),
        };
        to_config_options(&[
            setting(MODE, "Mode", self.mode, modes().map(mode).collect()),
            setting(MODEL, "Model", &self.model, names.into_iter().map(model).collect()),
        ])
    }
}

/// The change that a choice asks for.
pub(super) fn setting_change(
    context: &DoorContext,
    view: &SessionView,
    setting: &str,
    choice: &str,
) -> Result<SessionChange, Error> {
    let session = &view.session;
    if session.agent != NATIVE {
        let offers = view.agent_state.iter().flat_map(|agent| &agent.settings);
        let known = offers.into_iter().any(|offered| offered.id == setting);
        if !known {
            return Err(invalid_params(format!(
                "the agent has no setting `{}`",
                ostler_acp::to_plain_line(setting, 100)
            )));
        }
        let agent_settings = BTreeMap::from([(setting.to_owned(), choice.to_owned())]);
        return Ok(SessionChange { agent_settings, ..SessionChange::default() });
    }
    match setting {
        MODE => {
            let policy = Some(policy_of_mode(context, &session.policy, choice)?);
            Ok(SessionChange { policy, ..SessionChange::default() })
        }
        MODEL => {
            context.settings.models.check(choice).map_err(from_refusal)?;
            Ok(SessionChange { model: Some(choice.to_owned()), ..SessionChange::default() })
        }
        _ => {
            let named = ostler_acp::to_plain_line(setting, 100);
            Err(invalid_params(format!("there is no setting `{named}`; there are `{MODE}` and `{MODEL}`")))
        }
    }
}

fn setting(id: &str, name: &str, current: &str, choices: Vec<AgentChoice>) -> AgentSetting {
    AgentSetting { id: id.to_owned(), name: name.to_owned(), current: Some(current.to_owned()), choices }
}

/// The modes, with what editors call them.
fn modes() -> impl Iterator<Item = (&'static str, &'static WorkMode)> {
    MODES.into_iter().zip(&WORK_MODES)
}

/// The mode that comes nearest to what a policy asks.
fn mode_of_policy(policy: &Policy) -> &'static str {
    let [ask, review, edits, free] = MODES;
    match policy.approval.require_for_kinds.as_slice() {
        [] => free,
        kinds if kinds.contains(&ToolKind::Write) => ask,
        _ if policy.patch_review.mode == PatchReviewMode::Request => review,
        _ => edits,
    }
}

/// The policy of a mode. The careful one is what is usual here, if that is careful.
fn policy_of_mode(context: &DoorContext, now: &Policy, mode: &str) -> Result<Policy, Error> {
    if mode_of_policy(now) == mode {
        return Ok(now.clone());
    }
    let Some((id, chosen)) = modes().find(|(id, _)| *id == mode) else {
        let named = ostler_acp::to_plain_line(mode, 100);
        return Err(invalid_params(format!(
            "there is no mode `{named}`; there are `{}`",
            MODES.join("`, `")
        )));
    };
    let usual = &context.settings.policy;
    let mut policy = chosen.apply_to(now);
    if id == MODES[0] && mode_of_policy(usual) == id {
        policy.approval.require_for_kinds.clone_from(&usual.approval.require_for_kinds);
        policy.patch_review.clone_from(&usual.patch_review);
    }
    Ok(policy)
}
