//! An agent in sixty lines: it answers each prompt with the same words in upper case, one after the other. It shows
//! the whole contract of `ostler_agent::Agent`: read the turn, show text as it comes, report the message, give way to
//! a cancellation. The engine records, queues, streams and recovers; an agent does none of that.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_agent::{Agent, CompletedTurn, FailedTurn, TurnContext};
use ostler_types::{Delta, DeltaKind, Message, Part, Role, TurnReport, Usage};

/// Answers in upper case.
pub struct UpperCaseAgent;

impl Agent for UpperCaseAgent {
    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<CompletedTurn, FailedTurn>> {
        async move { answer(&turn).await }.boxed()
    }

    /// A turn that a crash has cut short cannot be picked up: nothing of it is kept outside of `answer`.
    fn can_resume_turns(&self) -> bool {
        false
    }
}

async fn answer(turn: &TurnContext) -> Result<CompletedTurn, FailedTurn> {
    let prompt = turn.history.iter().rev().find(|message| message.role == Role::User);
    let prompt = prompt.map(|message| message.text()).unwrap_or_default();
    let (message_id, mut text) = (turn.message_id(), String::new());
    for word in prompt.split_inclusive(' ') {
        if turn.canceled.is_cancelled() {
            break;
        }
        let (kind, offset) = (DeltaKind::Text { message_id, part: 0 }, text.len() as u64);
        let word = word.to_uppercase();
        text.push_str(&word);
        // Shown at once, and kept only as a draft: a delta is harmless to lose.
        turn.delta(Delta { kind, offset, text: word });
    }
    let words = text.split_whitespace().count() as u64;
    // When this returns, the message is on disk and every client can have it.
    turn.report(TurnReport::StepFinished {
        model: turn.session.model.clone(),
        message: Message {
            id: message_id,
            role: Role::Assistant,
            parts: vec![Part::text(text)],
            created_at: turn.clock.now(),
        },
        stop_reason: "end_turn".to_owned(),
        usage: Usage { input_tokens: words, output_tokens: words, ..Usage::default() },
    })
    .await?;
    Ok(CompletedTurn { stop_reason: "end_turn".to_owned(), verified: None, verification: None })
}
