//! When a model is asked again, how long is waited, and when it is not.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use ostler_models::{Model, ModelError, ModelEvent, ModelRequest, RetryPolicy, RetryingModel};
use ostler_types::Usage;
use tokio::time::Instant;

type Piece = Result<ModelEvent, ModelError>;

/// Gives these answers, one after another, and counts how often it is asked.
struct ScriptedAnswers {
    answers: Mutex<VecDeque<Vec<Piece>>>,
    asked: AtomicUsize,
}

impl Model for ScriptedAnswers {
    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Piece> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.answers.lock().unwrap().pop_front() {
            Some(answer) => stream::iter(answer).boxed(),
            None => stream::pending().boxed(),
        }
    }
}

struct RetryOutcome {
    pieces: Vec<Piece>,
    asked: usize,
    took: Duration,
}

impl RetryOutcome {
    fn waits(&self) -> Vec<u128> {
        let waits = self.pieces.iter().filter_map(|piece| match piece {
            Ok(ModelEvent::Waiting { wait, .. }) => Some(wait.as_millis()),
            _ => None,
        });
        waits.collect()
    }

    fn code(&self) -> Option<&'static str> {
        self.pieces.last().and_then(|piece| piece.as_ref().err()).map(|error| error.code)
    }

    fn message(&self) -> &str {
        &self.pieces.last().unwrap().as_ref().unwrap_err().message
    }
}

/// Asks with jitter at its largest, so that waits are what they can be at most.
async fn ask(answers: Vec<Vec<Piece>>, policy: RetryPolicy) -> RetryOutcome {
    ask_for(ModelRequest::new(Vec::new()), answers, policy).await
}

async fn ask_for(request: ModelRequest, answers: Vec<Vec<Piece>>, policy: RetryPolicy) -> RetryOutcome {
    let scripted =
        Arc::new(ScriptedAnswers { answers: Mutex::new(answers.into()), asked: AtomicUsize::new(0) });
    let (model, start) = (RetryingModel::new(scripted.clone(), policy), Instant::now());
    let pieces = model.stream(request).collect().await;
    RetryOutcome { pieces, asked: scripted.asked.load(Ordering::Relaxed), took: start.elapsed() }
}

fn policy() -> RetryPolicy {
    RetryPolicy { jitter: Arc::new(|| 1.0), ..RetryPolicy::default() }
}

fn fails(code: &'static str) -> Vec<Piece> {
    vec![Err(ModelError::new(code, "the words"))]
}

fn limited(seconds: u64) -> Vec<Piece> {
    let retry_after = Some(Duration::from_secs(seconds));
    vec![Err(ModelError { retry_after, ..ModelError::new("rate_limited", "slow down") })]
}

fn text(text: &str) -> Piece {
    Ok(ModelEvent::Text(text.to_owned()))
}

fn stop() -> Piece {
    Ok(ModelEvent::Stop("end_turn".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn waits_double_until_there_is_an_answer() {
    let answers = vec![fails("overloaded"), fails("unreachable"), fails("timeout"), vec![text("a"), stop()]];
    let outcome = ask(answers, policy()).await;
    assert_eq!(outcome.waits(), [500, 1000, 2000]);
    assert_eq!((outcome.asked, outcome.took), (4, Duration::from_millis(3500)));
    assert_eq!(outcome.pieces[3..], [text("a"), stop()]);
    let Ok(ModelEvent::Waiting { attempt, attempts, error, .. }) = &outcome.pieces[1] else {
        panic!("{:?}", outcome.pieces[1])
    };
    assert_eq!((*attempt, *attempts, error.code), (2, 4, "unreachable"));
}

#[tokio::test(start_paused = true)]
async fn waits_are_bounded_and_drawn_from_zero() {
    let many = || (0..12).map(|_| fails("server_error")).collect();
    let outcome = ask(many(), RetryPolicy { attempts: 9, ..policy() }).await;
    assert_eq!(outcome.waits(), [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    assert_eq!(outcome.message(), "the words (attempt 9 of 9)");
    let none = ask(many(), RetryPolicy { jitter: Arc::new(|| 0.0), ..policy() }).await;
    assert_eq!((none.waits(), none.took), (vec![0, 0, 0], Duration::ZERO));
    for _ in 0..1000 {
        let drawn = (RetryPolicy::default().jitter)();
        assert!((0.0..1.0).contains(&drawn), "{drawn}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_may_pass_is_tried_again() {
    for code in ["unreachable", "timeout", "rate_limited", "overloaded", "server_error", "cut_stream"] {
        let outcome = ask((0..9).map(|_| fails(code)).collect(), policy()).await;
        assert_eq!((outcome.asked, outcome.code()), (4, Some(code)));
    }
    let lasting = [
        "bad_request",
        "unauthorized",
        "not_found",
        "context_overflow",
        "unsupported_part",
        "quota_exhausted",
        "http_error",
        "bad_response",
        "bad_base_url",
        "replay_exhausted",
    ];
    for code in lasting {
        let outcome = ask(vec![fails(code), vec![stop()]], policy()).await;
        assert_eq!((outcome.asked, outcome.code(), outcome.message()), (1, Some(code), "the words"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_gets_one_more_chance() {
    let outcome = ask((0..9).map(|_| fails("empty_answer")).collect(), policy()).await;
    assert_eq!((outcome.asked, outcome.code()), (2, Some("empty_answer")));
    let outcome =
        ask(vec![fails("empty_answer"), fails("overloaded"), vec![text("a"), stop()]], policy()).await;
    assert_eq!((outcome.asked, outcome.code()), (3, None));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_once_the_answer_has_begun() {
    let begun = [
        ModelEvent::Text("a".into()),
        ModelEvent::Reasoning("a".into()),
        ModelEvent::ReasoningOpaque(1.into()),
        ModelEvent::CallStarted { index: 0, id: None, name: "a".into() },
    ];
    for event in begun {
        let cut = vec![Ok(event.clone()), Err(ModelError::new("cut_stream", "cut"))];
        let outcome = ask(vec![cut.clone(), vec![stop()]], policy()).await;
        assert_eq!((outcome.asked, &outcome.pieces), (1, &cut), "{event:?}");
        let ended = ask(vec![vec![Ok(event.clone())], vec![stop()]], policy()).await;
        assert_eq!((ended.asked, ended.pieces), (1, vec![Ok(event)]));
    }
    let usage = Ok(ModelEvent::Usage(Usage::default()));
    let outcome = ask(vec![[vec![usage], fails("cut_stream")].concat(), vec![stop()]], policy()).await;
    assert_eq!((outcome.asked, outcome.code()), (2, None), "usage alone is no answer");
    let outcome = ask(vec![vec![], vec![stop()]], policy()).await;
    assert_eq!((outcome.asked, outcome.pieces.last()), (2, Some(&stop())), "a stream that just ends is cut");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_was_asked_for_is_kept_to() {
    let outcome = ask(vec![limited(7), limited(60), vec![stop()]], policy()).await;
    assert_eq!(outcome.waits(), [7700, 61_000], "with a small spread on top");
    let exact = RetryPolicy { jitter: Arc::new(|| 0.0), ..policy() };
    assert_eq!(ask(vec![limited(120), vec![stop()]], exact).await.waits(), [120_000]);
    let outcome = ask(vec![limited(121), vec![stop()]], policy()).await;
    assert_eq!((outcome.asked, outcome.took, outcome.code()), (1, Duration::ZERO, Some("rate_limited")));
    assert!(outcome.message().contains("121s"), "{}", outcome.message());
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_is_left_to_the_model_that_takes_over() {
    let request =
        || ModelRequest { fallback_after: Some(Duration::from_secs(10)), ..ModelRequest::new(Vec::new()) };
    let outcome = ask_for(request(), vec![limited(11), vec![stop()]], policy()).await;
    assert_eq!((outcome.asked, outcome.took, outcome.code()), (1, Duration::ZERO, Some("rate_limited")));
    assert!(outcome.message().contains("11s"), "{}", outcome.message());
    let outcome = ask_for(request(), vec![limited(10), vec![stop()]], policy()).await;
    assert_eq!((outcome.asked, outcome.code()), (2, None), "a short one is worth waiting for");
    let patient = RetryPolicy { longest_requested_wait: Duration::from_secs(5), ..policy() };
    let outcome = ask_for(request(), vec![limited(6), vec![stop()]], patient).await;
    assert_eq!((outcome.asked, outcome.code()), (1, Some("rate_limited")), "the shorter limit counts");
}

#[tokio::test(start_paused = true)]
async fn what_failed_attempts_cost_is_not_lost() {
    let spent = |input_tokens, output_tokens| {
        Ok(ModelEvent::Usage(Usage { input_tokens, output_tokens, ..Usage::default() }))
    };
    let answers = vec![
        [vec![spent(5, 0), spent(5, 1)], fails("cut_stream")].concat(),
        fails("overloaded"),
        [vec![spent(7, 0)], fails("timeout")].concat(),
        vec![spent(10, 1), text("a"), spent(10, 4), stop()],
    ];
    let outcome = ask(answers, policy()).await;
    let told: Vec<&Piece> =
        outcome.pieces.iter().filter(|piece| matches!(piece, Ok(ModelEvent::Usage(_)))).collect();
    let expected = [spent(5, 0), spent(5, 1), spent(12, 1), spent(22, 2), spent(22, 5)];
    assert_eq!(told, expected.iter().collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn all_attempts_together_have_an_end() {
    let short = RetryPolicy { total: Duration::from_secs(10), ..policy() };
    let outcome = ask(vec![limited(8), limited(8), vec![stop()]], short.clone()).await;
    assert_eq!((outcome.asked, outcome.code()), (2, Some("rate_limited")), "a second wait would be too long");
    let silent = ask(vec![limited(8)], short).await;
    assert_eq!((silent.asked, silent.code(), silent.took), (2, Some("timeout"), Duration::from_secs(10)));
    assert!(silent.message().contains("10s"));
}

#[tokio::test(start_paused = true)]
async fn one_attempt_means_one() {
    let outcome = ask(vec![fails("overloaded"), vec![stop()]], RetryPolicy::once()).await;
    assert_eq!((outcome.asked, outcome.message()), (1, "the words"));
}
