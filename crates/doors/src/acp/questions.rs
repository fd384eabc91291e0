//! Questions on this wire: which the editor has been asked, what they look like, and what an answer to one
//! means. Questions are state of the engine; what is kept here is only under which number the editor knows them.

use agent_client_protocol::v1::schema::{
    CancelRequestNotification, Error, RequestId, RequestPermissionRequest, RequestPermissionResponse,
    ToolCallContent, ToolCallUpdate, ToolCallUpdateFields,
};
use ostler_acp::{from_permission_answer, to_diffs, to_options};
use ostler_door_kit::DoorSettings;
use ostler_engine::Engine;
use ostler_types::{AnswerApproval, ApprovalOption, Command, OptionKind, Scope, SessionId, TurnId, Verdict};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc;

use super::calls::to_editor_call;
use super::notices::{EditorNotice, EditorQuestion, EditorQuestionKey};
use super::{CALLER, wire};

/// Files of a change that a question shows.
const MAX_SHOWN_FILES: usize = 50;

/// The questions that one editor has been asked.
#[derive(Default)]
pub(super) struct EditorQuestions {
    open: Vec<PendingQuestion>,
    /// Those of which it is being found out what they would change, each with the session in which it came up.
    previews: Vec<(SessionId, EditorQuestionKey)>,
}

struct PendingQuestion {
    number: i64,
    /// The session in whose updates it came up, which may be the parent of the one that asks.
    shown_in: SessionId,
    question: EditorQuestion,
}

impl EditorQuestions {
    /// Puts a question, under the next number, unless it has been put already.
    pub(super) fn ask(
        &mut self,
        shown_in: SessionId,
        question: EditorQuestion,
        workspace: &Path,
        (asked, out): (&mut i64, &mut Vec<u8>),
    ) {
        if self.open.iter().any(|open| open.question.key == question.key) {
            return;
        }
        *asked += 1;
        let options = to_options(&offered_options(&question));
        let call = question_call(&question, workspace);
        let request = RequestPermissionRequest::new(shown_in.to_string(), call, options);
        wire::request(*asked, "session/request_permission", &request, out);
        self.open.push(PendingQuestion { number: *asked, shown_in, question });
    }

    /// Notes that it is being found out what a question is about. False when that is known to go on already.
    pub(super) fn begin_preview(&mut self, shown_in: SessionId, key: &EditorQuestionKey) -> bool {
        let is_new = !self.previews.iter().any(|(_, known)| known == key);
        if is_new {
            self.previews.push((shown_in, key.clone()));
        }
        is_new
    }

    /// Whether the question that this was found out for is still to be put.
    pub(super) fn end_preview(&mut self, key: &EditorQuestionKey) -> bool {
        let place = self.previews.iter().position(|(_, known)| known == key);
        place.map(|place| self.previews.remove(place)).is_some()
    }

    /// Takes an answer, and returns what it means. None when it is too late, or when the editor cannot answer
    /// and the question stays for somebody else.
    pub(super) fn respond(
        &mut self,
        id: &RequestId,
        outcome: Result<Value, Error>,
    ) -> Option<(SessionId, Command)> {
        let RequestId::Number(number) = id else { return None };
        let place = self.open.iter().position(|open| open.number == *number)?;
        let PendingQuestion { question, .. } = self.open.remove(place);
        let answer = outcome.and_then(|value| {
            serde_json::from_value::<RequestPermissionResponse>(value)
                .map_err(|error| Error::invalid_params().data(Value::String(error.to_string())))
        });
        match answer {
            Ok(answer) => answer_command(question, from_permission_answer(&answer).as_deref()),
            Err(error) => {
                tracing::warn!(%error, "the editor did not answer a question; it can be answered elsewhere");
                None
            }
        }
    }

    /// Takes a question back that was answered elsewhere.
    pub(super) fn answered(&mut self, key: &EditorQuestionKey, out: &mut Vec<u8>) {
        self.withdraw(|_, asked| asked == key, out);
    }

    /// Takes back what a turn had asked, which is over.
    pub(super) fn turn_ended(&mut self, session_id: SessionId, turn_id: TurnId, out: &mut Vec<u8>) {
        // A child's questions end with the turn that started the child.
        let of_turn = |shown_in: SessionId, key: &EditorQuestionKey| {
            shown_in == session_id && (key.turn_id == turn_id || key.session_id != session_id)
        };
        self.withdraw(of_turn, out);
    }

    /// Takes back all that a session had asked.
    pub(super) fn session_closed(&mut self, session_id: SessionId, out: &mut Vec<u8>) {
        self.withdraw(|shown_in, _| shown_in == session_id, out);
    }

    fn withdraw(&mut self, which: impl Fn(SessionId, &EditorQuestionKey) -> bool, out: &mut Vec<u8>) {
        self.previews.retain(|(shown_in, key)| !which(*shown_in, key));
        self.open.retain(|open| {
            let withdrawn = which(open.shown_in, &open.question.key);
            if withdrawn {
                let params = CancelRequestNotification::new(RequestId::Number(open.number));
                wire::notification("$/cancel_request", &params, out);
            }
            !withdrawn
        });
    }
}

/// Finds out what the merge that a question is about would change, and has the question put.
pub(super) async fn preview_merge(
    (engine, settings): (Engine, Arc<DoorSettings>),
    shown_in: SessionId,
    mut question: EditorQuestion,
    notices: mpsc::Sender<(SessionId, EditorNotice)>,
) {
    let call = &question.tool_call;
    let files = match engine.view(question.key.session_id).await {
        Ok(view) => settings.previews.preview(&view.session, &call.name, &call.input).await,
        Err(_) => None,
    };
    question.merged = Some(files.unwrap_or_default());
    // Nobody is left to ask where this fails.
    _ = notices.send((shown_in, EditorNotice::Asked(Box::new(question)))).await;
}

/// The answers that can be given: the agent's own, where it offers some.
fn offered_options(question: &EditorQuestion) -> Vec<ApprovalOption> {
    let option =
        |id: &str, name: &str, kind| ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind };
    if question.review.is_some() {
        return vec![
            option("once", "Keep the changes", OptionKind::AllowOnce),
            option("deny", "Take them back", OptionKind::RejectOnce),
        ];
    }
    if !question.options.is_empty() {
        return question.options.clone();
    }
    vec![
        option("once", "Allow once", OptionKind::AllowOnce),
        option("session", "Allow in this session", OptionKind::AllowAlways),
        option("always", "Always allow in this workspace", OptionKind::AllowAlways),
        option("deny", "Reject", OptionKind::RejectOnce),
    ]
}

/// What the question is about, as the editor shows it.
fn question_call(question: &EditorQuestion, workspace: &Path) -> ToolCallUpdate {
    let told = to_editor_call(Some(question.key.turn_id), &question.tool_call, question.kind, workspace);
    let mut content = Vec::new();
    if !question.summary.is_empty() {
        content.push(ToolCallContent::from(question.summary.clone()));
    }
    let mut title = told.title;
    if question.review.is_some() {
        title = "Keep what this turn has changed?".to_owned();
    }
    let files = question.review.iter().chain(&question.merged).flatten();
    for file in files.take(MAX_SHOWN_FILES) {
        let path = workspace.join(&file.path);
        let is_new = file.kind == ostler_types::ChangeKind::Added;
        let diffs = to_diffs(&path, is_new, file.diff.as_deref().unwrap_or_default());
        content.extend(diffs.into_iter().map(ToolCallContent::from));
    }
    let mut fields = ToolCallUpdateFields::new().title(title).kind(told.kind).content(content);
    fields.raw_input = told.raw_input;
    if !told.locations.is_empty() {
        fields = fields.locations(told.locations);
    }
    ToolCallUpdate::new(told.tool_call_id, fields)
}

/// What an answer means; a question that was given up is a no.
fn answer_command(question: EditorQuestion, chosen: Option<&str>) -> Option<(SessionId, Command)> {
    let (mut reason, mut option) = (None, None);
    let (verdict, scope) = match chosen {
        None => {
            reason = Some("the question was dismissed".to_owned());
            (Verdict::Deny, Scope::Once)
        }
        Some(id) if question.review.is_none() && !question.options.is_empty() => {
            let Some(offered) = question.options.iter().find(|option| option.id == id) else {
                tracing::warn!("the editor gave an answer that was not offered");
                return None;
            };
            option = Some(offered.id.clone());
            (if offered.kind.allows() { Verdict::Approve } else { Verdict::Deny }, Scope::Once)
        }
        Some("once") => (Verdict::Approve, Scope::Once),
        Some("session") => (Verdict::Approve, Scope::Session),
        Some("always") => (Verdict::Approve, Scope::Always),
        Some(_) => (Verdict::Deny, Scope::Once),
    };
    let EditorQuestionKey { session_id, turn_id, call } = question.key;
    let by = CALLER.to_owned();
    let command = Command::Answer(AnswerApproval {
        turn_id,
        tool_call_id: call,
        verdict,
        scope,
        reason,
        review: None,
        option,
        by,
    });
    Some((session_id, command))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostler_types::{ChangeKind, FileChange, SessionId, ToolCall, ToolCallId, ToolKind, TurnId};
    use serde_json::json;

    use super::{EditorQuestion, EditorQuestionKey, EditorQuestions, question_call};

    fn merge() -> EditorQuestion {
        let call = ToolCallId("c1".to_owned());
        let uuid = uuid::Uuid::from_u128(1);
        let key = EditorQuestionKey {
            session_id: SessionId::new(uuid),
            turn_id: TurnId::new(uuid),
            call: call.clone(),
        };
        EditorQuestion {
            key,
            tool_call: ToolCall {
                id: call,
                name: "task_control".to_owned(),
                input: json!({"task_id": "x", "action": "merge"}),
            },
            kind: ToolKind::Write,
            summary: "make the changes".to_owned(),
            options: Vec::new(),
            review: None,
            merged: None,
        }
    }

    #[test]
    fn a_merge_is_put_with_its_diff() {
        let mut question = merge();
        assert!(question.is_merge());
        question.merged = Some(vec![FileChange {
            path: "a.txt".to_owned(),
            kind: ChangeKind::Modified,
            from: None,
            added: 1,
            removed: 1,
            binary: false,
            diff: Some("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-before\n+planted\n".to_owned()),
        }]);
        let shown = serde_json::to_string(&question_call(&question, Path::new("/w"))).unwrap();
        for word in ["make the changes", "/w/a.txt", "before", "planted", "\"type\":\"diff\""] {
            assert!(shown.contains(word), "{word}: {shown}");
        }
    }

    #[test]
    fn a_merge_that_was_answered_meanwhile_is_not_put() {
        let (mut questions, question, mut out) = (EditorQuestions::default(), merge(), Vec::new());
        let shown_in = question.key.session_id;
        assert!(questions.begin_preview(shown_in, &question.key));
        assert!(!questions.begin_preview(shown_in, &question.key), "it goes on already");
        questions.answered(&question.key, &mut out);
        assert!(!questions.end_preview(&question.key));
        assert!(questions.begin_preview(shown_in, &question.key) && questions.end_preview(&question.key));
        questions.begin_preview(shown_in, &question.key);
        questions.turn_ended(shown_in, question.key.turn_id, &mut out);
        assert!(!questions.end_preview(&question.key) && out.is_empty());
    }
}
