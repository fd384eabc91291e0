//! How a session is let work: what waits for an answer, and what someone else's agent offers beside that.

use ostler_api_types::UpdateSession;
use ostler_types::{WORK_MODES, WorkMode};

use super::require_connection;
use crate::input::TuiEffect;
use crate::model::{Overlay, Picker, PickerItem, PickerKind, TuiModel};
use crate::text::sanitize::sanitize_line;
use crate::transcript::Tone;

/// Shows what there is to choose.
pub(super) fn pick_mode(model: &mut TuiModel) {
    let Some(session) = model.focused() else {
        model.notify(Tone::Plain, "/mode needs a session; start or open one first");
        return;
    };
    let now = |is: bool| if is { " (now)" } else { "" };
    let current = WorkMode::from_policy(&session.view.session().policy);
    let mut items: Vec<PickerItem> = WORK_MODES
        .iter()
        .map(|mode| PickerItem {
            value: mode.id.to_owned(),
            label: format!("{}{}", mode.name, now(current == Some(mode))),
            detail: mode.description.to_owned(),
        })
        .collect();
    let settings = session.view.agent_state().map(|agent| &agent.settings);
    let offered = settings.into_iter().flatten();
    let offered = offered.flat_map(|setting| setting.choices.iter().map(move |choice| (setting, choice)));
    items.extend(offered.map(|(setting, choice)| {
        let (of, name) = (sanitize_line(&setting.name, 80), sanitize_line(&choice.name, 80));
        PickerItem {
            value: format!("{}\n{}", setting.id, choice.id),
            label: format!("{of}: {name}{}", now(setting.current.as_ref() == Some(&choice.id))),
            detail: sanitize_line(choice.description.as_deref().unwrap_or(""), 120),
        }
    }));
    model.overlay = Some(Overlay::Picker(Picker::new(PickerKind::Mode, items)));
}

/// Takes what was chosen of that.
pub(super) fn mode_chosen(model: &mut TuiModel, value: &str, effects: &mut Vec<TuiEffect>) {
    match value.split_once('\n') {
        None => set_mode(model, value, effects),
        Some((setting, choice)) => {
            if let Some(id) = model.focus
                && require_connection(model)
            {
                effects.push(TuiEffect::Choose {
                    id,
                    setting: setting.to_owned(),
                    choice: choice.to_owned(),
                });
            }
        }
    }
}

/// Lets the session work in the way of this name.
pub(super) fn set_mode(model: &mut TuiModel, name: &str, effects: &mut Vec<TuiEffect>) {
    let is_it = |mode: &&WorkMode| mode.id == name || mode.name.eq_ignore_ascii_case(name);
    let Some(mode) = WORK_MODES.iter().find(is_it) else {
        let names = WORK_MODES.map(|mode| mode.id).join(", ");
        model.notify(Tone::Warn, format!("no such mode; choose one of {names}"));
        return;
    };
    if !require_connection(model) {
        return;
    }
    if let Some(session) = model.focused() {
        let policy = Some(mode.apply_to(&session.view.session().policy).into());
        let change = UpdateSession { policy, ..UpdateSession::default() };
        effects.push(TuiEffect::Update(session.id, Box::new(change)));
        model.notify(Tone::Plain, format!("{}: {}", mode.name.to_lowercase(), mode.description));
    }
}
