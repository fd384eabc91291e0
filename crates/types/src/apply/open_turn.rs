//! The running turn, folded: its calls, what waits for an answer, and its review.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::{ApprovalQuestion, shorten_error};
use crate::{
    Accepted, CallStatus, MessageId, OpenCall, OpenReview, OpenTurn, PATCH_REVIEW, PendingApproval, Purpose,
    Record, Rule, ToolCallId, ToolKind, TurnId, TurnPatch, Usage,
};

impl OpenTurn {
    /// A turn in which nothing has happened yet.
    pub(crate) fn new(
        id: TurnId,
        purpose: Purpose,
        message_ids: Vec<MessageId>,
        started_at: Timestamp,
    ) -> OpenTurn {
        OpenTurn {
            id,
            purpose,
            message_ids,
            started_at,
            steps: 0,
            calls: Vec::new(),
            said: None,
            used: VecDeque::new(),
            batch: None,
            rounds: 0,
            changed: false,
            usage: Usage::default(),
            checkpoint: None,
            checkpoint_error: None,
            review: None,
            reviewed: None,
        }
    }

    /// Lets a call wait for an answer. What was shown to the one who answers is what may run.
    pub(super) fn add_pending_approval(&mut self, record: &Record, asked: &ApprovalQuestion<'_>) {
        let turn_id = self.id;
        let Some(open) = self.call_mut(&asked.tool_call.id) else { return };
        open.call = asked.tool_call.clone();
        let approval = Box::new(asked.pending(record.session_id, turn_id, record.ts));
        open.status = CallStatus::Waiting { approval };
    }

    pub(super) fn end_batch(&mut self) {
        self.calls.clear();
        self.batch = None;
    }

    /// Shows the change of the turn, and lets it wait for an answer if it has to.
    pub(super) fn show_patch(&mut self, record: &Record, id: &ToolCallId, patch: &TurnPatch, waits: bool) {
        self.reviewed = None;
        self.review = waits.then(|| OpenReview {
            approval: Box::new(self.review_as_approval(record, id, patch)),
            paths: patch.files.iter().map(|file| file.path.clone()).collect(),
            checkpoint_id: patch.checkpoint_id.clone(),
        });
    }

    /// A review as clients see it: among the approvals, as if it were a call of a tool.
    fn review_as_approval(&self, record: &Record, id: &ToolCallId, patch: &TurnPatch) -> PendingApproval {
        let mut input = serde_json::json!({ "files": patch.files, "more": patch.more });
        let named = [("checkpoint_id", &patch.checkpoint_id), ("note", &patch.note)];
        for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            input[name] = serde_json::Value::from(value.as_str());
        }
        let tool = PATCH_REVIEW.to_owned();
        PendingApproval {
            session_id: record.session_id,
            turn_id: self.id,
            tool_call_id: id.clone(),
            input,
            kind: ToolKind::Write,
            summary: review_summary(patch),
            rule: Rule {
                tool: tool.clone(),
                subject: id.0.clone(),
                whole: true,
                workspace: None,
                commands: Vec::new(),
            },
            tool,
            options: Vec::new(),
            requested_at: record.ts,
        }
    }

    /// Takes the review that this answer is to, if it is to one.
    pub(super) fn take_review(&mut self, id: &ToolCallId) -> Option<OpenReview> {
        self.review.take_if(|review| review.approval.tool_call_id == *id)
    }

    pub(super) fn set_answer(&mut self, id: &ToolCallId, status: CallStatus, option: Option<&String>) {
        if let Some(open) = self.call_mut(id) {
            open.chosen = option.cloned();
            open.status = status;
        }
    }

    pub(super) fn set_status(&mut self, id: &ToolCallId, status: CallStatus) {
        if let Some(open) = self.call_mut(id) {
            open.status = status;
        }
    }
}

impl OpenCall {
    pub(crate) fn proposed(call: crate::ToolCall) -> OpenCall {
        OpenCall { call, status: CallStatus::Proposed, chosen: None }
    }

    /// The answer as the agent hears it: one of those that it offered, if it did.
    pub fn answer_for_agent(&self, plain: Accepted, allowed: bool) -> Accepted {
        match &self.chosen {
            Some(option) => Accepted::Chosen { option: option.clone(), allowed },
            None => plain,
        }
    }

    /// The rule that was shown to whoever answers.
    pub(super) fn offered_rule(&self) -> Option<Rule> {
        if let CallStatus::Waiting { approval } = &self.status { Some(approval.rule.clone()) } else { None }
    }
}

/// A review in a line.
fn review_summary(TurnPatch { files, more, note, .. }: &TurnPatch) -> String {
    if let Some(note) = note {
        return format!("keep the change of this turn, which cannot be shown: {}", shorten_error(note));
    }
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let count = files.len() as u64 + more;
    let noun = if count == 1 { "file" } else { "files" };
    let shown = if *more == 0 { String::new() } else { format!(" in the {} that are shown", files.len()) };
    format!("keep the change of this turn: {count} {noun}, +{added} −{removed} lines{shown}")
}
