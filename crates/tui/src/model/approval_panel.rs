//! The question that waits at the foot of a session, and the answers that it can be given. An answer names its
//! question by id: one that has gone in the meantime gets none.

use ostler_api_types::ApprovalAnswerBody;
use ostler_types::{
    FileChange, OptionKind, PendingApproval, RejectedFile, ReviewAnswer, ReviewComment, Scope, SessionId,
    ToolCallId, Verdict, View,
};

use super::RejectedHunks;
use crate::composer::Composer;

/// For so long after it appears a question takes no answer, so that nothing is allowed by a key that was meant for
/// something else; in milliseconds.
pub const GRACE_MS: u64 = 400;

/// The tools of which can be told what they would change.
const COMPARABLE_TOOLS: [&str; 3] = ["write_file", "edit_file", "apply_patch"];

/// Whether a question is about the merge of a child's worktree, whose files its input does not tell.
pub fn is_merge(question: &PendingApproval) -> bool {
    question.tool == "task_control" && question.input["action"] == "merge"
}

/// Whether a screen of so many rows has little room for a question.
pub fn is_small_screen(rows: u16) -> bool {
    rows < 16
}

/// How the question is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalPanel {
    /// The call that is asked about.
    pub showing: Option<ToolCallId>,
    /// Since when.
    pub since: u64,
    /// Which answer is chosen.
    pub selected: usize,
    /// The answer that words go with, by its key, and the words while they are being written.
    pub reason: Option<(char, Composer)>,
    /// Whether the reader has turned away from it.
    pub is_dismissed: bool,
    /// The call that was answered; the daemon has not said so yet.
    pub answered_call: Option<ToolCallId>,
    /// Calls that the daemon says are over, until their records come.
    pub ended_calls: Vec<ToolCallId>,
    /// Why the last answer was not taken.
    pub error: Option<String>,
    /// What of a review is to be put back.
    pub rejected: RejectedHunks,
    /// The file of a review that is looked at.
    pub file: usize,
    /// The hunk of that file that is chosen; none when the file is, as a whole.
    pub hunk: Option<usize>,
    /// How far its text is scrolled.
    pub scroll: u16,
    /// Whether the daemon was asked what the call would change.
    pub comparing: bool,
    /// What that is, compared with the files as they are.
    pub compared: Option<Vec<FileChange>>,
}

/// An answer that can be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// The key that gives it.
    pub key: char,
    /// What it is, in words.
    pub label: String,
    /// The same where there is little room.
    pub short: String,
    /// Yes or no.
    pub verdict: Verdict,
    /// For how long.
    pub scope: Scope,
    /// Which of the answers that the agent offers.
    pub option: Option<String>,
    /// Whether words go with it.
    pub words: bool,
}

impl ApprovalPanel {
    /// The calls that wait for an answer.
    pub fn pending<'a>(&self, view: &'a View) -> impl Iterator<Item = &'a PendingApproval> {
        view.pending_approvals().filter(|approval| !self.ended_calls.contains(&approval.tool_call_id))
    }

    /// Shows the oldest question that waits. One that is shown stays until it is answered.
    pub fn show_oldest_pending(&mut self, view: &View, now: u64) {
        let waits = |id: &ToolCallId| view.pending_approvals().any(|approval| approval.tool_call_id == *id);
        self.ended_calls.retain(waits);
        if self.answered_call.as_ref().is_some_and(|id| !waits(id)) {
            self.answered_call = None;
        }
        if self.question(view).is_some() {
            return;
        }
        let showing = self.pending(view).next().map(|approval| approval.tool_call_id.clone());
        let (sent, over) = (self.answered_call.take(), std::mem::take(&mut self.ended_calls));
        *self = ApprovalPanel {
            showing,
            since: now,
            answered_call: sent,
            ended_calls: over,
            ..ApprovalPanel::default()
        };
    }

    /// The question that is shown and not answered yet.
    pub fn question<'a>(&self, view: &'a View) -> Option<&'a PendingApproval> {
        let showing = self.showing.as_ref()?;
        self.pending(view).find(|approval| approval.tool_call_id == *showing)
    }

    /// The call of which is to be asked what it would change; once.
    pub fn call_to_compare(&mut self, view: &View) -> Option<(SessionId, ToolCallId)> {
        let changes = |question: &&PendingApproval| {
            COMPARABLE_TOOLS.contains(&question.tool.as_str()) || is_merge(question)
        };
        let question = self.question(view).filter(changes).filter(|_| !self.comparing)?;
        self.comparing = true;
        Some((question.session_id, question.tool_call_id.clone()))
    }

    /// Whether the question that is shown was answered, and nothing is known of that yet.
    pub fn is_answer_pending(&self) -> bool {
        self.answered_call.is_some() && self.answered_call == self.showing
    }

    /// The request that gives an answer to the question that is shown.
    pub fn request(
        &self,
        question: &PendingApproval,
        answer: &ApprovalAnswer,
        reason: Option<String>,
    ) -> ApprovalAnswerBody {
        let is_review = question.is_review();
        let comments: Vec<ReviewComment> = match (&reason, is_review && answer.verdict == Verdict::Approve) {
            (Some(text), true) => vec![ReviewComment { path: None, line: None, text: text.clone() }],
            _ => Vec::new(),
        };
        let reject: Vec<RejectedFile> = match answer.verdict {
            Verdict::Approve => self.rejected.to_rejected_files(),
            Verdict::Deny => Vec::new(),
        };
        let review = (is_review && !(reject.is_empty() && comments.is_empty()))
            .then_some(ReviewAnswer { reject, comments });
        ApprovalAnswerBody {
            turn_id: Some(question.turn_id),
            tool_call_id: question.tool_call_id.clone(),
            action: answer.verdict,
            scope: Some(answer.scope),
            reason,
            review,
            option: answer.option.clone(),
        }
    }
}

/// The answers to a question: those that its agent offers, or our own.
pub fn approval_answers(question: &PendingApproval) -> Vec<ApprovalAnswer> {
    let answer = |key, short: &str, label: &str, verdict, scope, words| ApprovalAnswer {
        key,
        label: label.to_owned(),
        short: short.to_owned(),
        verdict,
        scope,
        option: None,
        words,
    };
    let refuse = answer('w', "why", "deny with a reason", Verdict::Deny, Scope::Once, true);
    if question.is_review() {
        return vec![
            answer('y', "keep", "keep the changes", Verdict::Approve, Scope::Once, false),
            answer('c', "comment", "keep them, with a comment", Verdict::Approve, Scope::Once, true),
            answer('n', "revert", "revert all changes", Verdict::Deny, Scope::Once, false),
            ApprovalAnswer { label: "revert all changes, with a reason".to_owned(), ..refuse },
        ];
    }
    if !question.options.is_empty() {
        let keys = "123456789".chars();
        let offered = question.options.iter().zip(keys).map(|(option, key)| {
            let verdict = if option.kind.allows() { Verdict::Approve } else { Verdict::Deny };
            let scope = match option.kind {
                OptionKind::AllowAlways | OptionKind::RejectAlways => Scope::Session,
                OptionKind::AllowOnce | OptionKind::RejectOnce => Scope::Once,
            };
            ApprovalAnswer {
                option: Some(option.id.clone()),
                ..answer(key, &option.name, &option.name, verdict, scope, false)
            }
        });
        return offered.collect();
    }
    let always = format!("always: {}", question.rule);
    vec![
        answer('y', "yes", "yes, once", Verdict::Approve, Scope::Once, false),
        answer('s', "session", "yes, for this session", Verdict::Approve, Scope::Session, false),
        answer(
            'a',
            "always",
            &crate::text::sanitize::sanitize_line(&always, 200),
            Verdict::Approve,
            Scope::Always,
            false,
        ),
        answer('n', "no", "deny", Verdict::Deny, Scope::Once, false),
        refuse,
    ]
}
