//! The answers of sessions that share one stream of events, put together and proved to be whole.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::Result;

use crate::answer::{AnswerPlan, AnswerTimings, AssembledAnswer};
use crate::clock;
use crate::load::LoadOutcome;

/// Answers that are still to come, by session.
pub(super) struct PendingAnswers {
    waiting: HashMap<String, AssembledAnswer>,
    asked: u64,
    start: Instant,
    outcome: LoadOutcome,
}

impl PendingAnswers {
    /// All sessions are asked from now on.
    pub(super) fn new(sessions: &[String], plan: AnswerPlan) -> PendingAnswers {
        let waiting = sessions.iter().map(|session| (session.clone(), AssembledAnswer::new(plan))).collect();
        PendingAnswers {
            waiting,
            asked: clock::now(),
            start: Instant::now(),
            outcome: LoadOutcome::default(),
        }
    }

    /// Whether none is left.
    pub(super) fn is_complete(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a delta; one of a session that was not asked is of no interest.
    pub(super) fn text(&mut self, session: &str, text: &str) -> Result<()> {
        match self.waiting.get_mut(session) {
            Some(answer) => answer.append(text, clock::now()),
            None => Ok(()),
        }
    }

    /// Takes the end of an answer, which has to be whole.
    pub(super) fn end(&mut self, session: &str) -> Result<()> {
        if let Some(answer) = self.waiting.remove(session) {
            let AnswerTimings { first, latencies } = answer.into_timings(self.asked)?;
            self.outcome.firsts.push(first);
            self.outcome.latencies.extend(latencies);
            self.outcome.wall = self.start.elapsed();
        }
        Ok(())
    }

    /// What was measured.
    pub(super) fn outcome(self) -> LoadOutcome {
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::PendingAnswers;
    use crate::answer::{AnswerPlan, write_cell};

    #[test]
    fn an_answer_that_ends_before_it_is_whole_is_an_error() {
        let plan = AnswerPlan::new(1, 1);
        let mut cell = vec![0; plan.cell];
        write_cell(&mut cell, 0, 1);
        let cell = String::from_utf8(cell).unwrap();
        let mut answers = PendingAnswers::new(&["a".to_owned(), "b".to_owned()], plan);
        answers.text("other", "nothing like a cell at all").unwrap();
        answers.text("a", &cell).unwrap();
        answers.end("a").unwrap();
        answers.end("a").unwrap();
        assert!(!answers.is_complete());
        assert!(answers.end("b").is_err());
        assert!(answers.is_complete());
        assert_eq!(answers.outcome().firsts.count(), 1);
    }
}
