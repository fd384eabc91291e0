//! Asking the person at the terminal about a tool call: it shows in full what the call would do, and reads the answer.
//! Sending the answer is left to the caller.

use ostler_client::Client;
use ostler_line_framing::FramedLine;
use ostler_types::{FileChange, Scope, SessionId, ToolCallId, TurnId, Verdict, in_one_line};
use serde_json::Value;

use super::CommandContext;
use crate::output::{OutputStream, print_to_stderr, styled};
use crate::render::{LINE_WIDTH, PREVIEW_LINES, approval_preview};

/// Longest answer that is read from the terminal, in bytes.
pub(super) const MAX_ANSWER_BYTES: usize = 4096;

/// A call that needs an approval.
#[derive(Debug, Clone)]
pub(super) struct PendingQuestion {
    /// The session whose call it is; one that another session started, perhaps.
    pub(super) session_id: SessionId,
    pub(super) turn_id: TurnId,
    pub(super) tool_call_id: ToolCallId,
    pub(super) summary: String,
    pub(super) input: Value,
    /// What a lasting answer would allow; none for a review of changes, whose answers do not last.
    pub(super) rule: Option<String>,
    /// The files of a review.
    pub(super) files: Option<Vec<FileChange>>,
}

impl PendingQuestion {
    /// Whether it is about this call.
    pub(super) fn is_about(&self, turn_id: TurnId, tool_call_id: &ToolCallId) -> bool {
        self.turn_id == turn_id && self.tool_call_id == *tool_call_id
    }
}

/// An answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedAnswer {
    pub(super) verdict: Verdict,
    pub(super) scope: Scope,
    pub(super) reason: Option<String>,
}

impl TypedAnswer {
    /// An answer to this call alone.
    pub(super) fn once(verdict: Verdict, reason: Option<String>) -> TypedAnswer {
        TypedAnswer { verdict, scope: Scope::Once, reason }
    }
}

/// What to do about a typed line.
#[derive(Debug, PartialEq, Eq)]
enum TypedKey {
    Answer(TypedAnswer),
    AskReason,
    ShowAll,
    Help,
    Unknown,
}

/// The dialogue about one call after the other.
pub(super) struct ApprovalPrompt {
    color: bool,
    /// Whether the next line is the reason of a denial.
    awaits_reason: bool,
}

impl ApprovalPrompt {
    pub(super) fn new(setting: &CommandContext) -> ApprovalPrompt {
        let color = setting.output_manner.color(OutputStream::Stderr.is_terminal(), &setting.environment);
        ApprovalPrompt { color, awaits_reason: false }
    }

    /// Shows what a call would do, and asks.
    pub(super) async fn ask(&mut self, client: &Client, question: &mut PendingQuestion) {
        self.awaits_reason = false;
        if question.files.is_none() {
            // Without an answer, the call itself is shown.
            let diff = client.approval_diff(question.session_id, &question.tool_call_id).await;
            question.files = diff.ok().flatten();
        }
        self.show(question, PREVIEW_LINES);
        print_question(question);
    }

    /// Takes a typed line; returns the answer once there is one. The end of the input denies.
    pub(super) fn take_line(
        &mut self,
        question: &PendingQuestion,
        line: Option<FramedLine>,
    ) -> Option<TypedAnswer> {
        let line = match line {
            Some(FramedLine::Line(line) | FramedLine::Unterminated(line)) => line,
            Some(FramedLine::TooLong) => {
                report!("the answer is too long");
                print_question(question);
                return None;
            }
            None => {
                report!("\ninput closed: denied");
                let reason = Some("the input was closed before an answer was given".to_owned());
                return Some(TypedAnswer { verdict: Verdict::Deny, scope: Scope::Once, reason });
            }
        };
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if std::mem::take(&mut self.awaits_reason) {
            if !text.is_empty() {
                let reason = Some(text);
                return Some(TypedAnswer { verdict: Verdict::Deny, scope: Scope::Once, reason });
            }
            print_question(question);
            return None;
        }
        match typed_key(&text, question.rule.is_some()) {
            TypedKey::Answer(answer) => return Some(answer),
            TypedKey::AskReason => {
                self.awaits_reason = true;
                print_to_stderr(format_args!("reason (sent to the model; empty to go back): "));
                return None;
            }
            TypedKey::ShowAll => self.show(question, usize::MAX),
            TypedKey::Help => print_to_stderr(format_args!("{}", help(question.rule.as_deref()))),
            TypedKey::Unknown => {}
        }
        print_question(question);
        None
    }

    fn show(&self, question: &PendingQuestion, max_lines: usize) {
        let text = approval_preview(question.files.as_deref(), &question.input, self.color, max_lines);
        _ = styled(OutputStream::Stderr, &text);
    }
}

fn print_question(question: &PendingQuestion) {
    let keys = match question.rule {
        Some(_) => "[y]es [s]ession [a]lways [n]o [w]hy [?]",
        None => "[y]es [n]o [w]hy [?]",
    };
    print_to_stderr(format_args!("allow `{}`? {keys} ", question.summary.escape_debug()));
}

fn typed_key(text: &str, can_last: bool) -> TypedKey {
    let answer = |verdict, scope| TypedKey::Answer(TypedAnswer { verdict, scope, reason: None });
    match text.to_lowercase().as_str() {
        "y" | "yes" => answer(Verdict::Approve, Scope::Once),
        "s" | "session" if can_last => answer(Verdict::Approve, Scope::Session),
        "a" | "always" if can_last => answer(Verdict::Approve, Scope::Always),
        "n" | "no" => answer(Verdict::Deny, Scope::Once),
        "w" | "why" => TypedKey::AskReason,
        "d" | "diff" => TypedKey::ShowAll,
        "?" | "h" | "help" => TypedKey::Help,
        _ => TypedKey::Unknown,
    }
}

fn help(rule: Option<&str>) -> String {
    let mut text = "  y  allow it once\n".to_owned();
    if let Some(rule) = rule {
        let rule = in_one_line(rule, LINE_WIDTH);
        text += &format!("  s  allow this for the rest of the session: {rule}\n");
        text += "  a  always allow this, in every session\n";
    }
    text + "  n  deny it\n  w  deny it and tell the model why\n  d  show everything it would do\n"
}

#[cfg(test)]
mod tests {
    use ostler_types::{Scope, Verdict};

    use super::{TypedAnswer, TypedKey, typed_key};

    #[test]
    fn only_the_named_keys_answer() {
        let answer = |verdict, scope| TypedKey::Answer(TypedAnswer { verdict, scope, reason: None });
        assert_eq!(typed_key("Y", true), answer(Verdict::Approve, Scope::Once));
        assert_eq!(typed_key("session", true), answer(Verdict::Approve, Scope::Session));
        assert_eq!(typed_key("a", true), answer(Verdict::Approve, Scope::Always));
        assert_eq!(typed_key("n", true), answer(Verdict::Deny, Scope::Once));
        assert_eq!(typed_key("w", true), TypedKey::AskReason);
        assert_eq!(typed_key("?", true), TypedKey::Help);
        for other in ["", "x", "yy", "1", "no way", "help me"] {
            assert_eq!(typed_key(other, true), TypedKey::Unknown, "{other}");
        }
        assert_eq!(typed_key("a", false), TypedKey::Unknown, "an answer to a review does not last");
    }
}
