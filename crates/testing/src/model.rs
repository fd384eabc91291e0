//! A model that answers from a script, and keeps what it was asked.
//!
//! A test writes the answers beforehand, opens gates where the order of things matters, and looks at
//! the requests afterwards. Nothing here waits for a time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_models::{Model, ModelError, ModelEvent, ModelRequest};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

/// A model with prepared answers. It panics when it is asked more often than the script foresees,
/// since a test that did not expect that request is wrong.
#[derive(Debug)]
pub struct ScriptedModel {
    answers: Mutex<VecDeque<Vec<ScriptedStep>>>,
    gates: Mutex<HashMap<String, Arc<Semaphore>>>,
    requests: watch::Sender<Vec<ModelRequest>>,
    ended: watch::Sender<usize>,
}

/// One thing that happens in an answer.
#[derive(Debug, Clone)]
pub enum ScriptedStep {
    /// The model says this.
    Event(ModelEvent),
    /// The answer breaks off with this; what follows is not played.
    Error(ModelError),
    /// Nothing happens until the test opens the gate of this name. Each opening lets one wait through.
    Wait(String),
    /// Nothing happens any more.
    Hang,
}

/// A whole answer that is this text.
pub fn text(text: &str) -> Vec<ScriptedStep> {
    let events = [ModelEvent::Text(text.to_owned()), ModelEvent::Stop("end_turn".to_owned())];
    events.map(ScriptedStep::Event).into()
}

/// A whole answer that asks for this call.
pub fn call(id: &str, tool: &str, input: &Value) -> Vec<ScriptedStep> {
    calls(&[(id, tool, input.clone())])
}

/// A whole answer that asks for these calls: id, tool, input.
pub fn calls(calls: &[(&str, &str, Value)]) -> Vec<ScriptedStep> {
    let started = calls.iter().enumerate().flat_map(|(index, (id, tool, input))| {
        let (id, name, fragment) = (Some((*id).to_owned()), (*tool).to_owned(), input.to_string());
        [ModelEvent::CallStarted { index, id, name }, ModelEvent::CallInput { index, fragment }]
    });
    started.chain([ModelEvent::Stop("tool_calls".to_owned())]).map(ScriptedStep::Event).collect()
}

impl ScriptedModel {
    /// A model that gives these answers, one per request.
    pub fn new(answers: impl IntoIterator<Item = Vec<ScriptedStep>>) -> Arc<ScriptedModel> {
        Arc::new(ScriptedModel {
            answers: Mutex::new(answers.into_iter().collect()),
            gates: Mutex::default(),
            requests: watch::Sender::new(Vec::new()),
            ended: watch::Sender::new(0),
        })
    }

    /// Adds an answer behind the others.
    pub fn push(&self, answer: Vec<ScriptedStep>) {
        lock(&self.answers).push_back(answer);
    }

    /// What it was asked so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.borrow().clone()
    }

    /// How many answers have not been asked for.
    pub fn answers_left(&self) -> usize {
        lock(&self.answers).len()
    }

    /// Lets one wait at this gate through, now or when it comes.
    pub fn open(&self, gate: &str) {
        self.gate(gate).add_permits(1);
    }

    /// Waits until it has been asked this often.
    pub async fn requested(&self, count: usize) {
        let mut requests = self.requests.subscribe();
        let enough = requests.wait_for(|requests| requests.len() >= count).await;
        enough.expect("the sender lives as long as the model");
    }

    /// Waits until this many answers have been dropped, whole or not.
    pub async fn ended(&self, count: usize) {
        let mut ended = self.ended.subscribe();
        let enough = ended.wait_for(|&ended| ended >= count).await;
        enough.expect("the sender lives as long as the model");
    }

    fn gate(&self, name: &str) -> Arc<Semaphore> {
        let mut gates = lock(&self.gates);
        Arc::clone(gates.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(0))))
    }
}

impl Model for ScriptedModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let number = self.requests.borrow().len() + 1;
        let last = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let answer = lock(&self.answers).pop_front();
        self.requests.send_modify(|requests| requests.push(request));
        let answer = answer.unwrap_or_else(|| {
            panic!("the model's script is exhausted: request {number} was not foreseen; its last message is {last:?}")
        });
        let gated = answer.into_iter().map(|cue| {
            let gate = if let ScriptedStep::Wait(name) = &cue { Some(self.gate(name)) } else { None };
            (cue, gate)
        });
        let state = ScriptedStream { cues: gated.collect(), _ended: AnswerEndGuard(self.ended.clone()) };
        stream::unfold(state, |mut playing| async move { playing.next().await.map(|event| (event, playing)) })
            .boxed()
    }
}

struct ScriptedStream {
    cues: VecDeque<(ScriptedStep, Option<Arc<Semaphore>>)>,
    _ended: AnswerEndGuard,
}

impl ScriptedStream {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let (cue, gate) = self.cues.pop_front()?;
            match cue {
                ScriptedStep::Event(event) => return Some(Ok(event)),
                ScriptedStep::Error(error) => {
                    self.cues.clear();
                    return Some(Err(error));
                }
                ScriptedStep::Wait(_) => {
                    let gate = gate.expect("a wait is made with its gate");
                    gate.acquire().await.expect("gates are never closed").forget();
                }
                ScriptedStep::Hang => std::future::pending().await,
            }
        }
    }
}

/// Counts an answer as ended when it is dropped.
struct AnswerEndGuard(watch::Sender<usize>);

impl Drop for AnswerEndGuard {
    fn drop(&mut self) {
        self.0.send_modify(|ended| *ended += 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use ostler_models::{Model, ModelError, ModelEvent, ModelRequest};
    use serde_json::json;

    use super::{ScriptedModel, ScriptedStep, call, text};

    fn request() -> ModelRequest {
        ModelRequest::new(Vec::new())
    }

    #[tokio::test]
    async fn answers_come_in_order_and_requests_are_kept() {
        let model = ScriptedModel::new([call("c1", "shell", &json!({"command": "ls"})), text("done")]);
        let first: Vec<_> = model.stream(request()).map(Result::unwrap).collect().await;
        let id = Some("c1".to_owned());
        let started = ModelEvent::CallStarted { index: 0, id, name: "shell".to_owned() };
        let input = ModelEvent::CallInput { index: 0, fragment: r#"{"command":"ls"}"#.to_owned() };
        assert_eq!(first, [started, input, ModelEvent::Stop("tool_calls".to_owned())]);
        assert_eq!(model.stream(request()).count().await, 2);
        assert_eq!((model.requests().len(), model.answers_left()), (2, 0));
    }

    #[tokio::test]
    async fn a_gate_holds_until_it_is_opened_and_a_hang_ends_when_dropped() {
        let said = ScriptedStep::Event(ModelEvent::Text("a".to_owned()));
        let model = ScriptedModel::new([vec![ScriptedStep::Wait("go".to_owned()), said, ScriptedStep::Hang]]);
        let mut answer = model.stream(request());
        assert!(futures_util::poll!(answer.next()).is_pending());
        model.open("go");
        assert_eq!(answer.next().await, Some(Ok(ModelEvent::Text("a".to_owned()))));
        assert!(futures_util::poll!(answer.next()).is_pending());
        drop(answer);
        model.requested(1).await;
        model.ended(1).await;
    }

    #[tokio::test]
    async fn an_error_ends_the_answer() {
        let error = ModelError::new("overloaded", "later");
        let model = ScriptedModel::new([vec![ScriptedStep::Error(error.clone()), ScriptedStep::Hang]]);
        assert_eq!(model.stream(request()).collect::<Vec<_>>().await, [Err(error)]);
    }

    #[test]
    #[should_panic(expected = "the model's script is exhausted: request 1 was not foreseen")]
    fn an_unforeseen_request_panics() {
        let _ = ScriptedModel::new([]).stream(request());
    }
}
