//! Questions: the answers that are offered, and the one that was given.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse,
    SelectedPermissionOutcome,
};
use ostler_types::{ApprovalOption, OptionKind};

use crate::plain_text::to_plain_line;

/// How many answers of one question are shown.
const MAXIMUM: usize = 32;
/// How long the name of an answer may be.
const NAME_LENGTH: usize = 200;

/// The answers that an agent offers. One of a kind that is not known is left out: nobody could say whether it
/// is a yes.
pub fn from_options(options: &[PermissionOption]) -> Vec<ApprovalOption> {
    let known = options.iter().filter_map(|option| {
        let kind = match option.kind {
            PermissionOptionKind::AllowOnce => OptionKind::AllowOnce,
            PermissionOptionKind::AllowAlways => OptionKind::AllowAlways,
            PermissionOptionKind::RejectOnce => OptionKind::RejectOnce,
            PermissionOptionKind::RejectAlways => OptionKind::RejectAlways,
            _ => return None,
        };
        let id = option.option_id.0.to_string();
        let is_short = id.len() <= ostler_types::StateLimits::LABEL_BYTES;
        is_short.then(|| ApprovalOption { id, name: to_plain_line(&option.name, NAME_LENGTH), kind })
    });
    known.take(MAXIMUM).collect()
}

/// The answers that an editor can show.
pub fn to_options(options: &[ApprovalOption]) -> Vec<PermissionOption> {
    let option = |option: &ApprovalOption| {
        let kind = match option.kind {
            OptionKind::AllowOnce => PermissionOptionKind::AllowOnce,
            OptionKind::AllowAlways => PermissionOptionKind::AllowAlways,
            OptionKind::RejectOnce => PermissionOptionKind::RejectOnce,
            OptionKind::RejectAlways => PermissionOptionKind::RejectAlways,
        };
        PermissionOption::new(option.id.clone(), option.name.clone(), kind)
    };
    options.iter().map(option).collect()
}

/// What an agent is told: the answer that was chosen, or that there will be none.
pub fn to_permission_answer(chosen: Option<&str>) -> RequestPermissionResponse {
    RequestPermissionResponse::new(match chosen {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.to_owned())),
        None => RequestPermissionOutcome::Cancelled,
    })
}

/// What an editor answered: the option, or none when it gave the question up.
pub fn from_permission_answer(answer: &RequestPermissionResponse) -> Option<String> {
    match &answer.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    }
}
