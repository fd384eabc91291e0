//! What an agent says of itself while it works: its commands, its plan, how full its window is, how to log in.

use agent_client_protocol::v1::schema::{
    AuthMethod, AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, Plan,
    PlanEntry as AgentEntry, PlanEntryPriority, PlanEntryStatus, UnstructuredCommandInput,
};
use ostler_types::{AgentCommand, AgentState, LoginMethod, PlanEntry};

use crate::plain_text::to_plain_line;
use crate::settings::OfferedSettings;
use crate::update::{AcpUpdate, AgentStateChange};

/// How many commands, entries and methods are kept.
const MAXIMUM: usize = 200;
/// How long a text of one of them may be.
const TEXT_LENGTH: usize = 1_000;

/// Takes what an update says of the agent itself, and says how much that matters.
pub fn apply_update(
    state: &mut AgentState,
    offered: &mut OfferedSettings,
    update: &AcpUpdate,
) -> AgentStateChange {
    let something =
        |is_new: bool| if is_new { AgentStateChange::Description } else { AgentStateChange::Nothing };
    match update {
        AcpUpdate::Plan(plan) => something(replace(&mut state.plan, from_plan(plan))),
        AcpUpdate::Commands(commands) => something(replace(&mut state.commands, from_commands(commands))),
        AcpUpdate::Mode(mode) => {
            offered.set_mode(mode);
            something(replace(&mut state.settings, offered.settings()))
        }
        AcpUpdate::Options(options) => {
            offered.set_options(options.clone());
            something(replace(&mut state.settings, offered.settings()))
        }
        AcpUpdate::Usage { used, size } => {
            let is_new = replace(&mut state.context_tokens, Some(*used));
            let is_new = replace(&mut state.context_window, Some(*size)) || is_new;
            if is_new { AgentStateChange::TokenCounts } else { AgentStateChange::Nothing }
        }
        AcpUpdate::Text { .. }
        | AcpUpdate::Thought { .. }
        | AcpUpdate::Echo { .. }
        | AcpUpdate::Call(_)
        | AcpUpdate::CallUpdate(_)
        | AcpUpdate::Notice { .. }
        | AcpUpdate::Unknown { .. } => AgentStateChange::Nothing,
    }
}

/// Puts something in its place, and says whether it is another than was there.
fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let is_new = *place != value;
    *place = value;
    is_new
}

/// How a person can log in.
pub fn from_login_methods(methods: &[AuthMethod]) -> Vec<LoginMethod> {
    let method = |method: &AuthMethod| LoginMethod {
        id: method.id().0.to_string(),
        name: to_plain_line(method.name(), TEXT_LENGTH),
        description: method.description().map(|text| to_plain_line(text, TEXT_LENGTH)),
    };
    methods.iter().take(MAXIMUM).map(method).collect()
}

/// A plan of ours, for an editor.
pub fn to_plan(plan: &[PlanEntry]) -> Plan {
    let entry = |entry: &PlanEntry| {
        let priority = match entry.priority.as_str() {
            "high" => PlanEntryPriority::High,
            "low" => PlanEntryPriority::Low,
            _ => PlanEntryPriority::Medium,
        };
        let status = match entry.status.as_str() {
            "completed" => PlanEntryStatus::Completed,
            "in_progress" => PlanEntryStatus::InProgress,
            _ => PlanEntryStatus::Pending,
        };
        AgentEntry::new(entry.content.clone(), priority, status)
    };
    Plan::new(plan.iter().map(entry).collect())
}

/// Commands of ours, for an editor.
pub fn to_commands(commands: &[AgentCommand]) -> AvailableCommandsUpdate {
    let command = |command: &AgentCommand| {
        let hint = command.hint.clone();
        let input = hint.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
        AvailableCommand::new(command.name.clone(), command.description.clone()).input(input)
    };
    AvailableCommandsUpdate::new(commands.iter().map(command).collect())
}

fn from_plan(plan: &Plan) -> Vec<PlanEntry> {
    let entry = |entry: &AgentEntry| PlanEntry {
        content: to_plain_line(&entry.content, TEXT_LENGTH),
        priority: match entry.priority {
            PlanEntryPriority::High => "high",
            PlanEntryPriority::Low => "low",
            _ => "medium",
        }
        .to_owned(),
        status: match entry.status {
            PlanEntryStatus::Completed => "completed",
            PlanEntryStatus::InProgress => "in_progress",
            _ => "pending",
        }
        .to_owned(),
    };
    plan.entries.iter().take(MAXIMUM).map(entry).collect()
}

fn from_commands(commands: &[AvailableCommand]) -> Vec<AgentCommand> {
    let command = |command: &AvailableCommand| AgentCommand {
        name: to_plain_line(&command.name, TEXT_LENGTH),
        description: to_plain_line(&command.description, TEXT_LENGTH),
        hint: match &command.input {
            Some(AvailableCommandInput::Unstructured(input)) => Some(to_plain_line(&input.hint, TEXT_LENGTH)),
            _ => None,
        },
    };
    commands.iter().take(MAXIMUM).map(command).collect()
}
