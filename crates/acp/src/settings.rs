//! What can be chosen of an agent: its modes and its configuration options, which are one thing to us.

use agent_client_protocol::v1::schema::{
    SessionConfigBoolean, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigOptionValue, SessionConfigSelect, SessionConfigSelectOption, SessionConfigSelectOptions,
    SessionModeState, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use ostler_types::{AgentChoice, AgentSetting};

use crate::plain_text::to_plain_line;

/// The setting that modes are chosen by.
const MODE: &str = "mode";
/// How many settings and choices are kept.
const MAXIMUM: usize = 200;
/// How long a name or a description may be.
const TEXT_LENGTH: usize = 500;

/// What an agent offers in one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfferedSettings {
    modes: Option<SessionModeState>,
    options: Vec<SessionConfigOption>,
}

/// How a setting is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingRequest {
    /// By its mode.
    Mode(SetSessionModeRequest),
    /// By one of its options.
    Option(SetSessionConfigOptionRequest),
}

impl OfferedSettings {
    /// What a session was begun or taken up with.
    pub fn new(
        modes: Option<SessionModeState>,
        options: Option<Vec<SessionConfigOption>>,
    ) -> OfferedSettings {
        OfferedSettings { modes, options: options.unwrap_or_default() }
    }

    /// Takes the options as they are now.
    pub fn set_options(&mut self, options: Vec<SessionConfigOption>) {
        self.options = options;
    }

    /// Takes the mode as it is now.
    pub fn set_mode(&mut self, mode: &str) {
        if let Some(modes) = &mut self.modes {
            modes.current_mode_id = mode.to_owned().into();
        }
    }

    /// The settings in our words.
    pub fn settings(&self) -> Vec<AgentSetting> {
        let modes = self.modes.as_ref().filter(|_| self.mode_option().is_none()).map(from_modes);
        modes.into_iter().chain(self.options.iter().filter_map(from_option)).take(MAXIMUM).collect()
    }

    /// How to choose this of that setting; none where the agent has no such setting.
    pub fn request(&self, session: &str, setting: &str, choice: &str) -> Option<SettingRequest> {
        let named = |option: &&SessionConfigOption| &*option.id.0 == setting;
        // Agents that have both mean the same by them, and the option is the newer way to say it.
        let wanted = self.options.iter().find(named);
        let wanted = wanted.or_else(|| self.mode_option().filter(|_| setting == MODE));
        if let Some(option) = wanted {
            let value = match option.kind {
                SessionConfigKind::Boolean(_) => SessionConfigOptionValue::from(choice == "true"),
                _ => SessionConfigOptionValue::value_id(choice.to_owned()),
            };
            let id = option.id.clone();
            return Some(SettingRequest::Option(SetSessionConfigOptionRequest::new(
                session.to_owned(),
                id,
                value,
            )));
        }
        let has_modes = self.modes.is_some() && setting == MODE;
        let request = || SetSessionModeRequest::new(session.to_owned(), choice.to_owned());
        has_modes.then(|| SettingRequest::Mode(request()))
    }

    fn mode_option(&self) -> Option<&SessionConfigOption> {
        let is_mode = |option: &&SessionConfigOption| {
            matches!(option.category, Some(SessionConfigOptionCategory::Mode)) || &*option.id.0 == MODE
        };
        self.options.iter().find(is_mode)
    }
}

/// Settings of ours as an editor is shown them.
pub fn to_config_options(settings: &[AgentSetting]) -> Vec<SessionConfigOption> {
    let option = |setting: &AgentSetting| {
        let choices = setting.choices.iter().map(|choice| {
            SessionConfigSelectOption::new(choice.id.clone(), choice.name.clone())
                .description(choice.description.clone())
        });
        let choices = SessionConfigSelectOptions::Ungrouped(choices.collect());
        let current = setting.current.clone().unwrap_or_default();
        let select = SessionConfigKind::Select(SessionConfigSelect::new(current, choices));
        let category = match setting.id.as_str() {
            MODE => Some(SessionConfigOptionCategory::Mode),
            "model" => Some(SessionConfigOptionCategory::Model),
            _ => None,
        };
        SessionConfigOption::new(setting.id.clone(), setting.name.clone(), select).category(category)
    };
    settings.iter().map(option).collect()
}

fn from_modes(modes: &SessionModeState) -> AgentSetting {
    let choices = modes.available_modes.iter().take(MAXIMUM).map(|mode| AgentChoice {
        id: mode.id.0.to_string(),
        name: to_plain_line(&mode.name, TEXT_LENGTH),
        description: mode.description.as_deref().map(|text| to_plain_line(text, TEXT_LENGTH)),
    });
    AgentSetting {
        id: MODE.to_owned(),
        name: "Mode".to_owned(),
        current: Some(modes.current_mode_id.0.to_string()),
        choices: choices.collect(),
    }
}

fn from_option(option: &SessionConfigOption) -> Option<AgentSetting> {
    let (current, choices) = match &option.kind {
        SessionConfigKind::Select(select) => {
            (select.current_value.0.to_string(), from_choices(&select.options))
        }
        SessionConfigKind::Boolean(SessionConfigBoolean { current_value, .. }) => {
            let choice = |id: &str, name: &str| AgentChoice {
                id: id.to_owned(),
                name: name.to_owned(),
                description: None,
            };
            (current_value.to_string(), vec![choice("true", "On"), choice("false", "Off")])
        }
        _ => return None,
    };
    let (id, name) = (option.id.0.to_string(), to_plain_line(&option.name, TEXT_LENGTH));
    Some(AgentSetting { id, name, current: Some(current), choices })
}

fn from_choices(options: &SessionConfigSelectOptions) -> Vec<AgentChoice> {
    let choice = |option: &SessionConfigSelectOption| AgentChoice {
        id: option.value.0.to_string(),
        name: to_plain_line(&option.name, TEXT_LENGTH),
        description: option.description.as_deref().map(|text| to_plain_line(text, TEXT_LENGTH)),
    };
    match options {
        SessionConfigSelectOptions::Ungrouped(options) => options.iter().take(MAXIMUM).map(choice).collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).take(MAXIMUM).map(choice).collect()
        }
        _ => Vec::new(),
    }
}
