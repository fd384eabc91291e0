//! What a turn spends: the tokens of the answer that is coming in, which are kept even when the turn is
//! stopped in it, and whether the session's budget has room for another step.
//!
//! Like the checkpoints it outlives the turn's own future, so that a turn that was stopped can still say
//! what it had used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_agent::{FailedTurn, ReportError, TurnContext};
use ostler_types::{Failure, TurnReport, Usage};

/// What one turn spends, as far as this process knows.
#[derive(Default)]
pub(crate) struct TurnSpending {
    /// Whose answer is coming in, and what it has taken so far.
    running: Mutex<Option<(String, Usage)>>,
    /// Tokens that are recorded.
    recorded: AtomicU64,
}

impl TurnSpending {
    /// The answer that is coming in has taken this much so far.
    pub(crate) fn count_running(&self, model: &str, usage: Usage) {
        *self.running() = (usage != Usage::default()).then(|| (model.to_owned(), usage));
    }

    /// What that answer took is recorded.
    pub(crate) fn mark_recorded(&self) {
        if let Some((_, usage)) = self.running().take() {
            self.recorded.fetch_add(usage.tokens(), Ordering::Relaxed);
        }
    }

    /// Records what an answer took of which no message came.
    pub(crate) async fn record_unused(&self, context: &TurnContext) -> Result<(), ReportError> {
        let unrecorded = self.running().clone();
        if let Some((model, usage)) = unrecorded {
            context.report(TurnReport::UsageSpent { model, usage }).await?;
            self.mark_recorded();
        }
        Ok(())
    }

    /// Refuses another step when the session has spent what it may.
    pub(crate) fn check_budget(&self, context: &TurnContext) -> Result<(), FailedTurn> {
        let Some(most) = context.session.budget.and_then(|budget| budget.max_tokens) else { return Ok(()) };
        let spent = self.spent(context);
        if spent < most {
            return Ok(());
        }
        let code = "budget_spent".to_owned();
        let message = match context.children_tokens.load(Ordering::Relaxed) {
            0 => format!("the session has used {spent} tokens, and its budget is {most}"),
            of => format!(
                "the session has used {spent} tokens, {of} of them by sessions that it has started, and its \
                 budget is {most}"
            ),
        };
        let hint = Some("what it did so far is kept; go on in a session with a larger budget".to_owned());
        Err(FailedTurn { error: Failure { code: code.clone(), message, hint }, reason: code })
    }

    /// How many tokens the session may still spend, if that is limited.
    pub(crate) fn tokens_left(&self, context: &TurnContext) -> Option<u64> {
        let most = context.session.budget.and_then(|budget| budget.max_tokens)?;
        Some(most.saturating_sub(self.spent(context)))
    }

    /// What the session has spent, with what those have that it has started and that have ended.
    fn spent(&self, context: &TurnContext) -> u64 {
        let own = context.session.usage.tokens().saturating_add(self.recorded.load(Ordering::Relaxed));
        own.saturating_add(context.children_tokens.load(Ordering::Relaxed))
    }

    fn running(&self) -> MutexGuard<'_, Option<(String, Usage)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
