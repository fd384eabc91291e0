//! Asking again when a provider could not answer, as long as nothing of an answer has been handed on.
//!
//! A wait that the provider asks for is kept to; otherwise the waits grow and are drawn at random, so that
//! many sessions that failed together do not come back together. What is worth another attempt is decided
//! by the error's code; what the error means is left to whoever made it.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_types::Usage;
use tokio::time::{Sleep, sleep};

use crate::{Model, ModelError, ModelEvent, ModelRequest};

/// A model that is asked again.
pub struct RetryingModel {
    inner: Arc<dyn Model>,
    policy: RetryPolicy,
}

/// How often a model is asked, and how long is waited in between.
#[derive(Clone)]
pub struct RetryPolicy {
    /// How many attempts there are, the first included.
    pub attempts: u32,
    /// The longest wait after the first attempt; it doubles with each.
    pub first_wait: Duration,
    /// What it doubles up to.
    pub longest_wait: Duration,
    /// The longest wait that a provider may ask for; one that asks for more has failed.
    pub longest_requested_wait: Duration,
    /// All attempts and waits together, and the answer.
    pub total: Duration,
    /// Draws a number from 0 to 1, afresh for each wait.
    pub jitter: Jitter,
}

/// A source of numbers from 0 to 1.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// How much of a second is added at most to a wait that was asked for.
const MAX_REQUESTED_WAIT_JITTER: Duration = Duration::from_secs(1);

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            longest_requested_wait: Duration::from_secs(120),
            total: Duration::from_secs(3600),
            jitter: Arc::new(random),
        }
    }
}

impl RetryPolicy {
    /// One attempt and no more.
    pub fn once() -> RetryPolicy {
        RetryPolicy { attempts: 1, ..RetryPolicy::default() }
    }
}

impl RetryingModel {
    /// The model, asked again by this policy.
    pub fn new(inner: Arc<dyn Model>, policy: RetryPolicy) -> RetryingModel {
        RetryingModel { inner, policy }
    }
}

impl Model for RetryingModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        if self.policy.attempts <= 1 {
            return self.inner.stream(request);
        }
        let attempts = Attempts {
            inner: self.inner.clone(),
            policy: self.policy.clone(),
            request,
            attempt: 0,
            empty_answers: 0,
            spent: Usage::default(),
            spending: Usage::default(),
            deadline: None,
            phase: RetryPhase::Due,
        };
        // Boxed because the stream moves its state with every event.
        stream::unfold(Box::new(attempts), |mut attempts| async move {
            attempts.next().await.map(|event| (event, attempts))
        })
        .boxed()
    }
}

struct Attempts {
    inner: Arc<dyn Model>,
    policy: RetryPolicy,
    request: ModelRequest,
    /// The one that is under way, from 1.
    attempt: u32,
    empty_answers: u32,
    /// What the attempts that failed have cost.
    spent: Usage,
    /// What the one that is under way has cost so far.
    spending: Usage,
    /// Begins with the first attempt, which is when somebody first waits.
    deadline: Option<Pin<Box<Sleep>>>,
    phase: RetryPhase,
}

enum RetryPhase {
    /// The next attempt can begin.
    Due,
    /// It can begin after this long.
    Waiting(Duration),
    Streaming {
        answer: BoxStream<'static, Result<ModelEvent, ModelError>>,
        /// Whether anything of the answer has been handed on.
        begun: bool,
    },
    Over,
}

/// What happens next to an answer that is being streamed.
enum StreamStep {
    Event(ModelEvent),
    Failed(ModelError),
    Ended,
    OutOfTime,
}

impl Attempts {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        let whole = self.policy.total;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(whole)));
        loop {
            match std::mem::replace(&mut self.phase, RetryPhase::Over) {
                RetryPhase::Over => return None,
                RetryPhase::Waiting(wait) => {
                    sleep(wait).await;
                    self.phase = RetryPhase::Due;
                }
                RetryPhase::Due => {
                    self.attempt += 1;
                    let answer = self.inner.stream(self.request.clone());
                    self.phase = RetryPhase::Streaming { answer, begun: false };
                }
                RetryPhase::Streaming { mut answer, begun } => {
                    let step = tokio::select! {
                        biased;
                        event = answer.next() => match event {
                            Some(Ok(event)) => StreamStep::Event(event),
                            Some(Err(error)) => StreamStep::Failed(error),
                            None => StreamStep::Ended,
                        },
                        () = deadline => StreamStep::OutOfTime,
                    };
                    return self.take(step, answer, begun);
                }
            }
        }
    }

    fn take(
        &mut self,
        step: StreamStep,
        answer: BoxStream<'static, Result<ModelEvent, ModelError>>,
        begun: bool,
    ) -> Option<Result<ModelEvent, ModelError>> {
        match step {
            StreamStep::Event(event) => {
                if !matches!(event, ModelEvent::Stop(_)) {
                    self.phase = RetryPhase::Streaming { answer, begun: begun || is_answer_event(&event) };
                }
                Some(Ok(self.with_total_usage(event)))
            }
            StreamStep::Ended if begun => None,
            StreamStep::Failed(error) if begun => Some(Err(error)),
            StreamStep::Ended => Some(self.retry_or_fail(stream_cut_error())),
            StreamStep::Failed(error) => Some(self.retry_or_fail(error)),
            StreamStep::OutOfTime => {
                let message = format!("the model did not finish its answer within {:?}", self.policy.total);
                Some(Err(ModelError::new("timeout", message).hint("retry the turn, or use another model")))
            }
        }
    }

    /// Usage is that of all attempts together, since a later one replaces it.
    fn with_total_usage(&mut self, event: ModelEvent) -> ModelEvent {
        let ModelEvent::Usage(usage) = event else { return event };
        self.spending = usage;
        let mut all = self.spent;
        all += usage;
        ModelEvent::Usage(all)
    }

    /// Waits for another attempt, or gives up.
    fn retry_or_fail(&mut self, error: ModelError) -> Result<ModelEvent, ModelError> {
        self.empty_answers += u32::from(error.code == EMPTY_ANSWER);
        if !is_retryable(error.code) || self.empty_answers > 1 {
            return Err(error);
        }
        let (attempt, attempts) = (self.attempt, self.policy.attempts);
        if attempt >= attempts {
            let message = format!("{} (attempt {attempt} of {attempts})", error.message);
            return Err(ModelError { message, ..error });
        }
        let hand_over_after = self.request.fallback_after.unwrap_or(Duration::MAX);
        let (longest, who) = if hand_over_after < self.policy.longest_requested_wait {
            (hand_over_after, "a turn waits that has another model")
        } else {
            (self.policy.longest_requested_wait, "a turn waits")
        };
        if let Some(asked) = error.retry_after.filter(|asked| *asked > longest) {
            let message = format!(
                "{}; it asks to be left alone for {asked:?}, which is longer than {who}",
                error.message
            );
            return Err(ModelError { message, ..error });
        }
        let wait = self.policy.wait(attempt, error.retry_after);
        let left = self.deadline.as_ref().map(|deadline| deadline.deadline() - tokio::time::Instant::now());
        if left.is_some_and(|left| wait >= left) {
            return Err(error);
        }
        self.spent += std::mem::take(&mut self.spending);
        self.phase = RetryPhase::Waiting(wait);
        Ok(ModelEvent::Waiting { attempt, attempts, wait, error })
    }
}

impl RetryPolicy {
    /// How long to wait after this attempt.
    fn wait(&self, attempt: u32, asked: Option<Duration>) -> Duration {
        let share = (self.jitter)().clamp(0.0, 1.0);
        match asked {
            Some(asked) => asked + (asked / 10).min(MAX_REQUESTED_WAIT_JITTER).mul_f64(share),
            None => {
                let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
                self.first_wait.saturating_mul(doubled).min(self.longest_wait).mul_f64(share)
            }
        }
    }
}

/// The code of an answer that holds nothing. Some models give one now and then; two in a row are no accident.
const EMPTY_ANSWER: &str = "empty_answer";

fn is_retryable(code: &str) -> bool {
    matches!(
        code,
        "unreachable"
            | "timeout"
            | "rate_limited"
            | "overloaded"
            | "server_error"
            | "cut_stream"
            | EMPTY_ANSWER
    )
}

/// Whether an event would be seen twice if the model were asked again.
fn is_answer_event(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::Text(_)
        | ModelEvent::Reasoning(_)
        | ModelEvent::ReasoningOpaque(_)
        | ModelEvent::CallStarted { .. }
        | ModelEvent::CallInput { .. }
        | ModelEvent::Stop(_) => true,
        ModelEvent::Waiting { .. } | ModelEvent::Usage(_) => false,
    }
}

fn stream_cut_error() -> ModelError {
    ModelError::new("cut_stream", "the stream ended before there was any answer").hint("retry the turn")
}

/// The standard library's hash keys are random, which is enough to spread waits.
fn random() -> f64 {
    let bits = RandomState::new().hash_one(()) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}
