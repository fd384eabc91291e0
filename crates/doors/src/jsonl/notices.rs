//! What a client has to be asked or told of a session beside its events.

use ostler_types::{FileChange, PendingApproval, SessionId, ToolCallId, TurnId};

use super::frames::{CloseReason, JsonlOutcome};

/// Files of a change that a question names.
const FILES_NAMED: usize = 20;

/// What a client of the session has to be asked or told, beside its events.
#[derive(Debug)]
pub(super) enum JsonlNotice {
    /// A question waits for an answer.
    Asked(JsonlQuestion),
    /// A question was answered.
    Answered { key: JsonlQuestionKey, outcome: JsonlOutcome, by: String },
    /// A turn is over, and with it what it had asked.
    TurnEnded(TurnId),
    /// A turn will not begin: its message was taken back.
    TurnDropped(TurnId),
    /// No more will come of this session.
    Gone(CloseReason),
}

impl JsonlNotice {
    pub(super) fn asked(key: Option<JsonlQuestionKey>, summary: String, review: bool) -> Option<JsonlNotice> {
        Some(JsonlNotice::Asked(JsonlQuestion { key: key?, summary, review }))
    }

    pub(super) fn answered(
        key: Option<JsonlQuestionKey>,
        outcome: JsonlOutcome,
        by: String,
    ) -> Option<JsonlNotice> {
        Some(JsonlNotice::Answered { key: key?, outcome, by })
    }
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct JsonlQuestionKey {
    pub(super) session_id: SessionId,
    pub(super) turn_id: TurnId,
    pub(super) call: ToolCallId,
}

/// Something that waits for an answer.
#[derive(Debug, Clone)]
pub(super) struct JsonlQuestion {
    pub(super) key: JsonlQuestionKey,
    /// What it is about, for people.
    pub(super) summary: String,
    /// Whether it is about what a turn has changed.
    pub(super) review: bool,
}

impl From<&PendingApproval> for JsonlQuestion {
    fn from(approval: &PendingApproval) -> JsonlQuestion {
        let key = JsonlQuestionKey {
            session_id: approval.session_id,
            turn_id: approval.turn_id,
            call: approval.tool_call_id.clone(),
        };
        let review = approval.is_review();
        JsonlQuestion { key, summary: approval.summary.clone(), review }
    }
}

/// What a person is asked about a change.
pub(super) fn review_summary(files: &[FileChange], more: u64, note: Option<&str>) -> String {
    let count = files.len() as u64 + more;
    let mut summary = format!("keep the change of {count} files");
    for file in files.iter().take(FILES_NAMED) {
        summary.push('\n');
        summary.push_str(&file.path);
    }
    if let Some(note) = note {
        summary.push('\n');
        summary.push_str(note);
    }
    summary
}
