//! Draws what a session hears of the sessions that it has started, and of its own conversation getting
//! shorter: a line each. The rest of a child's work is drawn by whoever attaches to the child.

use ostler_types::{
    AgentEvent, ChildEvent, ChildOutcome, ChildStatus, Compaction, CompactionTrigger, Event, in_one_line,
};

use super::formatting::with_reason;
use super::style::Paint;
use super::{LINE_WIDTH, Renderer};

impl Renderer {
    /// A child that began or ended, or a conversation that was made shorter.
    pub(super) fn child(&mut self, event: &Event, out: &mut String) {
        match event {
            Event::Child(ChildEvent::Started { session_id, subtask, description, background, .. }) => {
                let how = if *background { " in the background" } else { "" };
                let what = match subtask {
                    Some(subtask) if subtask != description => format!("{subtask}: {description}"),
                    Some(_) | None => description.clone(),
                };
                self.line(
                    Paint::Tool,
                    &format!("⑂ {}{how}  {session_id}", in_one_line(&what, LINE_WIDTH)),
                    out,
                );
                self.children.insert(*session_id, subtask.clone().unwrap_or(what));
            }
            Event::Child(ChildEvent::Completed { session_id, outcome }) => {
                let (paint, line) = ended(outcome);
                // Whoever attaches late has not seen it begin.
                let name = self.children.remove(session_id).unwrap_or_else(|| session_id.to_string());
                self.line(paint, &format!("  ⑂ {} {line}", in_one_line(&name, LINE_WIDTH)), out);
            }
            Event::Agent(AgentEvent::ContextCompacted { compaction }) => {
                self.line(Paint::Dim, &shortened(compaction), out)
            }
            _ => {}
        }
    }
}

/// How a child ended, and what it spent.
fn ended(outcome: &ChildOutcome) -> (Paint, String) {
    let tokens = outcome.usage.input_tokens.saturating_add(outcome.usage.output_tokens);
    let (paint, word) = match outcome.status {
        ChildStatus::Completed => (Paint::Dim, "completed"),
        ChildStatus::Failed => (Paint::Warning, "failed"),
        ChildStatus::Canceled => (Paint::Warning, "canceled"),
    };
    let files = match outcome.changed_files {
        None => String::new(),
        Some(1) => ", 1 file changed in its worktree".to_owned(),
        Some(files) => format!(", {files} files changed in its worktree"),
    };
    (paint, with_reason(&format!("{word} ({tokens} tokens{files})"), outcome.error.as_deref()))
}

fn shortened(compaction: &Compaction) -> String {
    let why = match compaction.trigger {
        CompactionTrigger::Threshold => "the context window was nearly full",
        CompactionTrigger::Overflow => "it exceeded the context window",
        CompactionTrigger::Asked => "on request",
    };
    let Compaction { tokens_before, tokens_after, .. } = compaction;
    format!("≡ conversation compacted from about {tokens_before} to {tokens_after} tokens, {why}")
}
