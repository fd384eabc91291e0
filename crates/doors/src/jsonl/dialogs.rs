//! Questions on this wire: which are open, what they look like, and what an answer to one means. Questions
//! are state of the engine; what is kept here is only which names they have for this client.

use std::collections::VecDeque;

use bytes::Bytes;
use ostler_types::{AnswerApproval, Command, Scope, SessionId, StateLimits, TurnId, Verdict};
use serde_json::Value;

use super::CALLER;
use super::commands::UiResponse;
use super::frames::{Choice, Dialog, JsonlOutcome, NoOptions, ServerFrame};
use super::notices::{JsonlQuestion, JsonlQuestionKey};

/// Questions that this client has been told are settled, so that a late answer is no mistake.
const MAX_SETTLED: usize = 256;

/// The questions that one client has been asked.
#[derive(Default)]
pub(super) struct OpenDialogs {
    asked_count: u64,
    open: Vec<OpenDialog>,
    settled: VecDeque<String>,
}

struct OpenDialog {
    id: String,
    /// The session in whose events it came up, which may be the parent of the one that asks.
    shown_in: SessionId,
    question: JsonlQuestion,
    /// This client has answered it, and is not told that it did.
    is_answered: bool,
}

/// What a response leads to.
pub(super) enum UiResponseOutcome {
    /// This is to be submitted to that session. If it is refused, the question is to be [`OpenDialogs::reopen`]ed.
    Submit(SessionId, Box<Command>),
    /// It came too late, and nobody minds.
    TooLate,
    /// It cannot be understood; the question stays open.
    Invalid { message: String, session_id: Option<SessionId> },
}

impl OpenDialogs {
    /// Puts a question, unless it has been put already.
    pub(super) fn ask(&mut self, shown_in: SessionId, question: JsonlQuestion) -> Option<Bytes> {
        if self.open.iter().any(|open| open.question.key == question.key) {
            return None;
        }
        self.asked_count += 1;
        let id = format!("ui_{}", self.asked_count);
        let line = ServerFrame::UiRequest { id: &id, session_id: shown_in, dialog: dialog(&question) }.line();
        self.open.push(OpenDialog { id, shown_in, question, is_answered: false });
        Some(line)
    }

    /// Whether a session waits for an answer.
    pub(super) fn is_asking(&self, session_id: SessionId) -> bool {
        self.open.iter().any(|open| open.shown_in == session_id && !open.is_answered)
    }

    /// Takes a response.
    pub(super) fn respond(&mut self, response: &UiResponse) -> UiResponseOutcome {
        let Some(place) = self.open.iter().position(|open| open.id == response.id) else {
            if self.settled.contains(&response.id) {
                return UiResponseOutcome::TooLate;
            }
            let message = format!("there is no question `{}`", super::commands::quoted(&response.id));
            return UiResponseOutcome::Invalid { message, session_id: None };
        };
        let open = &mut self.open[place];
        if open.is_answered {
            return UiResponseOutcome::TooLate;
        }
        let (verdict, scope, reason) = match parse_answer(&open.question, response) {
            Ok(answer) => answer,
            Err(message) => return UiResponseOutcome::Invalid { message, session_id: Some(open.shown_in) },
        };
        open.is_answered = true;
        let JsonlQuestionKey { session_id, turn_id, call } = open.question.key.clone();
        let by = CALLER.to_owned();
        let command = Command::Answer(AnswerApproval {
            turn_id,
            tool_call_id: call,
            verdict,
            scope,
            reason,
            review: None,
            option: None,
            by,
        });
        UiResponseOutcome::Submit(session_id, Box::new(command))
    }

    /// An answer did not count: the question is as open as it is at other doors, and this client is told how it ends.
    pub(super) fn reopen(&mut self, id: &str) {
        self.open.iter_mut().filter(|open| open.id == id).for_each(|open| open.is_answered = false);
    }

    /// Takes a question back that was answered elsewhere.
    pub(super) fn answered(&mut self, key: &JsonlQuestionKey, outcome: JsonlOutcome, by: &str) -> Vec<Bytes> {
        self.withdraw(|open| open.question.key == *key, outcome, Some(by))
    }

    /// Takes back what a turn had asked, which is over.
    pub(super) fn turn_ended(&mut self, session_id: SessionId, turn_id: TurnId) -> Vec<Bytes> {
        // What a child asks outlives this turn where the child does, and is answered where it does not.
        let of_turn = |open: &OpenDialog| {
            open.question.key.session_id == session_id && open.question.key.turn_id == turn_id
        };
        self.withdraw(of_turn, JsonlOutcome::Withdrawn, None)
    }

    /// Takes back all that a session had asked.
    pub(super) fn session_ended(&mut self, session_id: SessionId) -> Vec<Bytes> {
        self.withdraw(|open| open.shown_in == session_id, JsonlOutcome::Withdrawn, None)
    }

    fn withdraw(
        &mut self,
        which: impl Fn(&OpenDialog) -> bool,
        outcome: JsonlOutcome,
        by: Option<&str>,
    ) -> Vec<Bytes> {
        let (gone, open) = std::mem::take(&mut self.open).into_iter().partition(which);
        self.open = open;
        let mut lines = Vec::new();
        for OpenDialog { id, shown_in, is_answered, .. } in gone {
            if !is_answered {
                lines.push(ServerFrame::UiSettled { id: &id, session_id: shown_in, outcome, by }.line());
            }
            self.settle(id);
        }
        lines
    }

    fn settle(&mut self, id: String) {
        self.settled.push_back(id);
        if self.settled.len() > MAX_SETTLED {
            self.settled.pop_front();
        }
    }
}

/// The answer that nobody can give, for a client without anybody to ask.
pub(super) fn denial_without_ui(key: JsonlQuestionKey) -> (SessionId, Command) {
    let JsonlQuestionKey { session_id, turn_id, call } = key;
    let command = Command::Answer(AnswerApproval {
        turn_id,
        tool_call_id: call,
        verdict: Verdict::Deny,
        scope: Scope::Once,
        reason: Some("nobody is there to ask: `ostler rpc` runs with --no-ui".to_owned()),
        review: None,
        option: None,
        by: CALLER.to_owned(),
    });
    (session_id, command)
}

fn dialog(question: &JsonlQuestion) -> Dialog<'_> {
    let (title, opts) = (question.summary.lines().next().unwrap_or_default(), NoOptions {});
    if question.review {
        return Dialog::Confirm {
            title: "Keep what this turn has changed?",
            message: &question.summary,
            opts,
        };
    }
    let choice = |label, value, description| Choice { label, value, description };
    // The first line is the title; what else there is to know, such as a risk, goes with each way to say yes.
    let rest = question.summary.split_once('\n').map(|(_, rest)| rest);
    let options = vec![
        choice("Allow once", "once", rest),
        choice("Allow in this session", "session", rest),
        choice("Always allow", "always", rest),
        choice("Deny", "deny", None),
    ];
    Dialog::Select { title, options, opts }
}

/// What a response means. An error beats a result, and no result is a no.
fn parse_answer(
    question: &JsonlQuestion,
    response: &UiResponse,
) -> Result<(Verdict, Scope, Option<String>), String> {
    let deny = |reason: &str| Ok((Verdict::Deny, Scope::Once, Some(truncated_reason(reason))));
    if let Some(error) = &response.error {
        return deny(error);
    }
    match (&response.result, question.review) {
        (Value::Null, _) => deny("the question was dismissed"),
        (Value::Bool(true), _) => Ok((Verdict::Approve, Scope::Once, None)),
        (Value::Bool(false), _) => Ok((Verdict::Deny, Scope::Once, None)),
        (Value::String(value), false) => match value.as_str() {
            "once" => Ok((Verdict::Approve, Scope::Once, None)),
            "session" => Ok((Verdict::Approve, Scope::Session, None)),
            "always" => Ok((Verdict::Approve, Scope::Always, None)),
            "deny" => Ok((Verdict::Deny, Scope::Once, None)),
            _ => Err("`result` must be `once`, `session`, `always` or `deny`".to_owned()),
        },
        (_, true) => Err("`result` must be true or false".to_owned()),
        (_, false) => Err("`result` must be `once`, `session`, `always` or `deny`".to_owned()),
    }
}

/// As much of a reason as is kept.
fn truncated_reason(reason: &str) -> String {
    let mut end = reason.len().min(StateLimits::LABEL_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use ostler_types::{AnswerApproval, Command, Scope, SessionId, ToolCallId, TurnId, Verdict};
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::{JsonlOutcome, JsonlQuestion, JsonlQuestionKey, OpenDialogs, UiResponse, UiResponseOutcome};

    const SESSION: SessionId = SessionId::new(Uuid::from_u128(1));

    fn question(call: &str, review: bool) -> JsonlQuestion {
        let turn_id = TurnId::new(Uuid::from_u128(2));
        let key = JsonlQuestionKey { session_id: SESSION, turn_id, call: ToolCallId(call.to_owned()) };
        JsonlQuestion { key, summary: "run `make`\nnothing confines it".to_owned(), review }
    }

    fn respond(
        dialogs: &mut OpenDialogs,
        id: &str,
        result: Value,
        error: Option<&str>,
    ) -> Option<(Verdict, Scope, Option<String>)> {
        let response = UiResponse { id: id.to_owned(), result, error: error.map(str::to_owned) };
        match dialogs.respond(&response) {
            UiResponseOutcome::Submit(_, command) => {
                let Command::Answer(AnswerApproval { verdict, scope, reason, .. }) = *command else {
                    panic!("not an answer")
                };
                Some((verdict, scope, reason))
            }
            UiResponseOutcome::TooLate | UiResponseOutcome::Invalid { .. } => None,
        }
    }

    #[test]
    fn an_error_beats_a_result_and_nothing_is_a_no() {
        let mut dialogs = OpenDialogs::default();
        for call in ["a", "b", "c", "d"] {
            assert!(dialogs.ask(SESSION, question(call, false)).is_some());
            assert!(dialogs.ask(SESSION, question(call, false)).is_none(), "asked once");
        }
        let (deny, approve) = (Verdict::Deny, Verdict::Approve);
        // By their ids, in any order.
        assert_eq!(
            respond(&mut dialogs, "ui_3", json!("always"), None),
            Some((approve, Scope::Always, None))
        );
        let reason = Some("boom".to_owned());
        assert_eq!(
            respond(&mut dialogs, "ui_1", json!("once"), Some("boom")),
            Some((deny, Scope::Once, reason))
        );
        let (verdict, _, reason) = respond(&mut dialogs, "ui_2", Value::Null, None).unwrap();
        assert_eq!((verdict, reason.is_some()), (deny, true));
        // What makes no sense leaves the question open; what is over is over.
        assert_eq!(respond(&mut dialogs, "ui_4", json!("perhaps"), None), None);
        assert_eq!(respond(&mut dialogs, "ui_9", json!("once"), None), None);
        assert_eq!(respond(&mut dialogs, "ui_1", json!("once"), None), None);
        assert!(dialogs.is_asking(SESSION));
        assert_eq!(
            respond(&mut dialogs, "ui_4", json!("session"), None),
            Some((approve, Scope::Session, None))
        );
        assert!(!dialogs.is_asking(SESSION));
    }

    #[test]
    fn an_answer_that_did_not_count_is_told_how_the_question_ended() {
        let mut dialogs = OpenDialogs::default();
        let asked = question("a", false);
        dialogs.ask(SESSION, asked.clone()).unwrap();
        assert!(respond(&mut dialogs, "ui_1", json!("once"), None).is_some());
        assert!(!dialogs.is_asking(SESSION));
        dialogs.reopen("ui_1");
        assert!(dialogs.is_asking(SESSION), "it can be answered again");
        assert_eq!(dialogs.answered(&asked.key, JsonlOutcome::Denied, "http").len(), 1);
        dialogs.ask(SESSION, asked.clone()).unwrap();
        assert!(respond(&mut dialogs, "ui_2", json!("once"), None).is_some());
        assert!(dialogs.answered(&asked.key, JsonlOutcome::Approved, "jsonl").is_empty(), "it knows");
        assert_eq!(respond(&mut dialogs, "ui_2", json!("once"), None), None);
    }

    #[test]
    fn a_question_answered_elsewhere_is_taken_back_once() {
        let mut dialogs = OpenDialogs::default();
        let asked = question("a", true);
        let line = dialogs.ask(SESSION, asked.clone()).unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&line["method"], &line["id"]), (&json!("confirm"), &json!("ui_1")));
        let lines = dialogs.answered(&asked.key, JsonlOutcome::Denied, "http");
        let line: Value = serde_json::from_slice(&lines[0]).unwrap();
        assert_eq!((&line["outcome"], &line["by"]), (&json!("denied"), &json!("http")));
        assert!(dialogs.answered(&asked.key, JsonlOutcome::Denied, "http").is_empty());
        let late = UiResponse { id: "ui_1".to_owned(), result: json!(true), error: None };
        assert!(matches!(dialogs.respond(&late), UiResponseOutcome::TooLate));
    }
}
