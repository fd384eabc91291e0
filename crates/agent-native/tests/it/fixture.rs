//! A session with a scripted model and the test's tools, and what every test asks of it.

use std::collections::HashSet;
use std::sync::Arc;

use ostler_agent::{CompletedTurn, FailedTurn};
use ostler_agent_native::NativeAgent;
use ostler_models::{Model, ModelEvent, ModelRequest};
use ostler_testing::host::TurnHost;
use ostler_testing::model::{ScriptedModel, ScriptedStep};
use ostler_types::{CallEvent, Delivery, Event, Part, Policy, Role, ToolCallId, ToolResult, TurnEvent};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::tools::{FakeTools, runner};

/// One session, ready to be asked something.
pub(crate) struct NativeAgentFixture {
    pub(crate) host: TurnHost,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) tools: Arc<FakeTools>,
    pub(crate) agent: Arc<NativeAgent>,
    pub(crate) workspace: TempDir,
}

/// A world in which no call asks, and the model answers with these.
pub(crate) fn world(answers: impl IntoIterator<Item = Vec<ScriptedStep>>) -> NativeAgentFixture {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    world_with(policy, answers)
}

/// A world with this policy.
pub(crate) fn world_with(
    policy: Policy,
    answers: impl IntoIterator<Item = Vec<ScriptedStep>>,
) -> NativeAgentFixture {
    let workspace = tempfile::tempdir().unwrap();
    let host = TurnHost::new(workspace.path().to_str().unwrap(), policy);
    let (model, bench) = (ScriptedModel::new(answers), Arc::new(FakeTools::default()));
    let agent = agent(&model, &bench, 10);
    NativeAgentFixture { host, model, tools: bench, agent, workspace }
}

pub(crate) fn agent(model: &Arc<ScriptedModel>, bench: &Arc<FakeTools>, max_steps: u32) -> Arc<NativeAgent> {
    let model: Arc<dyn Model> = model.clone();
    Arc::new(NativeAgent::with_model(move |_| Ok(model.clone()), runner(bench), max_steps))
}

impl NativeAgentFixture {
    /// Asks, runs the turn to its end, and checks what the model was shown.
    pub(crate) async fn ask(&self, text: &str) -> Result<CompletedTurn, FailedTurn> {
        self.host.submit(text, Delivery::Queue);
        let ended = self.host.run(&*self.agent).await;
        self.check();
        plain(ended)
    }

    /// Asks, and leaves the turn running.
    pub(crate) fn begin(&self, text: &str) -> JoinHandle<Result<CompletedTurn, FailedTurn>> {
        self.host.submit(text, Delivery::Queue);
        self.resume()
    }

    /// Runs the open turn from where it stands.
    pub(crate) fn resume(&self) -> JoinHandle<Result<CompletedTurn, FailedTurn>> {
        let (host, agent) = (self.host.clone(), self.agent.clone());
        tokio::spawn(async move { plain(host.run(&*agent).await) })
    }

    /// What holds after every turn: pairs in every request and in the log, and one end per turn.
    pub(crate) fn check(&self) {
        self.model.requests().iter().for_each(assert_paired);
        let names = self.host.names();
        let ends = ["turn_completed", "turn_failed", "turn_canceled"];
        let ended = names.iter().filter(|name| ends.contains(name)).count();
        let started = names.iter().filter(|name| **name == "turn_started").count();
        let open = usize::from(self.host.state().turn.is_some());
        assert_eq!(started, ended + open, "{names:?}");
        if open == 0 {
            let messages = self.host.conversation();
            assert_paired(&ModelRequest::new(messages));
        }
    }

    /// What the last turn said of its check.
    pub(crate) fn verification(&self) -> Option<String> {
        let Event::Turn(TurnEvent::Completed { verification, .. }) = self.last("turn_completed") else {
            unreachable!()
        };
        verification
    }

    /// The results in the log, in order.
    pub(crate) fn results(&self) -> Vec<ToolResult> {
        let result = |event| match event {
            Event::Call(CallEvent::Completed { tool_result, .. }) => Some(tool_result),
            _ => None,
        };
        self.host.events().into_iter().filter_map(result).collect()
    }

    /// The results in the log as `id: text`, in order.
    pub(crate) fn result_texts(&self) -> Vec<String> {
        self.results().iter().map(|result| format!("{}: {}", result.id, result.text())).collect()
    }

    /// How often an event of this name was recorded.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.host.names().iter().filter(|recorded| **recorded == name).count()
    }

    /// The newest record of this name.
    pub(crate) fn last(&self, name: &str) -> Event {
        let found = self.host.events().into_iter().rev().find(|event| event.name().as_str() == name);
        found.unwrap_or_else(|| panic!("no {name} in {:?}", self.host.names()))
    }

    /// The last message of a request to the model, from 0.
    pub(crate) fn last_shown(&self, request: usize) -> String {
        self.model.requests()[request].messages.last().unwrap().text()
    }
}

/// Every call has exactly one result, which comes after it and before anybody else speaks; and there
/// is no result without a call.
pub(crate) fn assert_paired(request: &ModelRequest) {
    let mut open: HashSet<ToolCallId> = HashSet::new();
    let mut ever: HashSet<ToolCallId> = HashSet::new();
    for message in &request.messages {
        if message.role != Role::Tool {
            assert!(open.is_empty(), "calls without results: {open:?} in {:#?}", request.messages);
        }
        for part in &message.parts {
            match part {
                Part::ToolCall { call } => {
                    assert!(ever.insert(call.id.clone()), "two calls are named {}", call.id);
                    open.insert(call.id.clone());
                }
                Part::ToolResult { tool_call_id, .. } => {
                    assert!(open.remove(tool_call_id), "a result without a call: {tool_call_id}");
                }
                _ => {}
            }
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
}

pub(crate) fn said(text: &str) -> ScriptedStep {
    ScriptedStep::Event(ModelEvent::Text(text.to_owned()))
}

pub(crate) fn stop() -> ScriptedStep {
    ScriptedStep::Event(ModelEvent::Stop("end_turn".to_owned()))
}

/// How a turn ended, without what it says of its check: most tests are about something else.
fn plain(ended: Result<CompletedTurn, FailedTurn>) -> Result<CompletedTurn, FailedTurn> {
    ended.map(|completed| CompletedTurn { verification: None, ..completed })
}

pub(crate) fn completed(stop_reason: &str, verified: Option<bool>) -> CompletedTurn {
    CompletedTurn { stop_reason: stop_reason.to_owned(), verified, verification: None }
}
