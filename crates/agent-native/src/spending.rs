//! What a turn spends: the tokens of the answer that is coming in, which are kept even when the turn is
//! stopped in it, and whether the session's budget has room for another step.
//!
//! Like the checkpoints it outlives the turn's own future, so that a turn that was stopped can still say
//! what it had used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_agent::{Failed, ReportError, TurnContext};
use ostler_types::{Failure, Report, Session, Usage};

/// What one turn spends, as far as this process knows.
#[derive(Default)]
pub(crate) struct Spending {
    /// Whose answer is coming in, and what it has taken so far.
    running: Mutex<Option<(String, Usage)>>,
    /// Tokens that are recorded.
    recorded: AtomicU64,
}

impl Spending {
    /// The answer that is coming in has taken this much so far.
    pub(crate) fn count(&self, model: &str, usage: Usage) {
        *self.running() = Some((model.to_owned(), usage)).filter(|_| usage != Usage::default());
    }

    /// What that answer took is recorded.
    pub(crate) fn settle(&self) {
        if let Some((_, usage)) = self.running().take() {
            self.recorded.fetch_add(tokens(&usage), Ordering::Relaxed);
        }
    }

    /// Records what an answer took of which no message came.
    pub(crate) async fn record_unused(&self, context: &TurnContext) -> Result<(), ReportError> {
        let unrecorded = self.running().clone();
        if let Some((model, usage)) = unrecorded {
            context.report(Report::UsageSpent { model, usage }).await?;
            self.settle();
        }
        Ok(())
    }

    /// Refuses another step when the session has spent what it may.
    pub(crate) fn check(&self, session: &Session) -> Result<(), Failed> {
        let Some(most) = session.budget.and_then(|budget| budget.max_tokens) else { return Ok(()) };
        let spent = self.spent(session);
        if spent < most {
            return Ok(());
        }
        let code = "budget_spent".to_owned();
        let message = format!("the session has used {spent} tokens, and its budget is {most}");
        let hint = Some("what it did so far is kept; go on in a session with a larger budget".to_owned());
        Err(Failed { error: Failure { code: code.clone(), message, hint }, reason: code })
    }

    /// How many tokens the session may still spend, if that is limited.
    pub(crate) fn left(&self, session: &Session) -> Option<u64> {
        let most = session.budget.and_then(|budget| budget.max_tokens)?;
        Some(most.saturating_sub(self.spent(session)))
    }

    fn spent(&self, session: &Session) -> u64 {
        tokens(&session.usage).saturating_add(self.recorded.load(Ordering::Relaxed))
    }

    fn running(&self) -> MutexGuard<'_, Option<(String, Usage)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tokens(usage: &Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}
