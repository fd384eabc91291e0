//! What holds whatever happens: runs in which turns are canceled, crash and are picked up, are steered and
//! compacted at any point, with a model that answers, calls, fails, overflows and hangs as it likes.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_agent_native::NativeAgent;
use ostler_context::validate;
use ostler_models::{Model, ModelError, ModelEvent, ModelRequest};
use ostler_testing::host::{TurnHost, child_answered};
use ostler_types::{
    CallEvent, Delivery, Event, Message, MessageEvent, ModelInfo, Part, Policy, Role, Verdict,
};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof};
use proptest::{collection, proptest};

use crate::fixture::assert_paired;
use crate::tools::{FakeTools, runner};

/// Small enough that a few messages fill it, beside what the tools take.
const WINDOW: u64 = 3_600;
/// After how many polls somebody answers an approval, so that turns are also left while they wait.
const ANSWERED_EVERY: usize = 7;
/// How often a turn is polled before somebody loses patience.
const PATIENCE: usize = 400;

/// How the model behaves when it is asked.
#[derive(Debug, Clone)]
enum ModelBehaviour {
    Text(usize),
    Calls(Vec<&'static str>),
    Nothing,
    Fails,
    Breaks,
    Overflows,
    Hangs,
}

/// What happens to a turn, and when: after so many polls.
#[derive(Debug, Clone)]
enum Mishap {
    None,
    Cancel(usize),
    Crash(usize),
    Steer(usize),
    SteerAndCrash(usize, usize),
}

/// One thing that somebody does.
#[derive(Debug, Clone)]
enum UserAction {
    Ask(Mishap),
    Compact(Mishap),
    Retry(Mishap),
}

#[derive(Debug, Clone)]
struct RandomRun {
    answers: Vec<ModelBehaviour>,
    actions: Vec<UserAction>,
    approves: bool,
}

fn run() -> impl Strategy<Value = RandomRun> {
    let tool =
        prop_oneof![Just("echo"), Just("long"), Just("exec"), Just("fail"), Just("task"), Just("nonsense")];
    let answer = prop_oneof![
        4 => (0usize..2_500).prop_map(ModelBehaviour::Text),
        4 => collection::vec(tool, 1..4).prop_map(ModelBehaviour::Calls),
        1 => Just(ModelBehaviour::Nothing),
        1 => Just(ModelBehaviour::Fails),
        1 => Just(ModelBehaviour::Breaks),
        1 => Just(ModelBehaviour::Overflows),
        1 => Just(ModelBehaviour::Hangs),
    ];
    let mishap = prop_oneof![
        3 => Just(Mishap::None),
        2 => (0usize..40).prop_map(Mishap::Cancel),
        2 => (0usize..40).prop_map(Mishap::Crash),
        2 => (0usize..40).prop_map(Mishap::Steer),
        1 => (0usize..20, 0usize..40).prop_map(|(steer, crash)| Mishap::SteerAndCrash(steer, crash)),
    ];
    let action = prop_oneof![
        5 => mishap.clone().prop_map(UserAction::Ask),
        1 => mishap.clone().prop_map(UserAction::Compact),
        2 => mishap.prop_map(UserAction::Retry),
    ];
    let parts = (collection::vec(answer, 1..24), collection::vec(action, 1..14), proptest::bool::ANY);
    parts.prop_map(|(answers, actions, approves)| RandomRun { answers, actions, approves })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_pair_rules_hold_and_no_wish_is_lost(run in run()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(run));
    }
}

async fn play(run: RandomRun) {
    let mut world = PlayedSession::new(&run);
    for action in run.actions {
        world.act(action).await;
    }
    world.settle().await;
    world.check();
}

/// A session to which things happen.
struct PlayedSession {
    host: TurnHost,
    agent: NativeAgent,
    wishes: usize,
    /// Whether nobody runs the open turn because its process died.
    crashed: bool,
    /// How approvals are answered.
    approves: bool,
}

impl PlayedSession {
    fn new(run: &RandomRun) -> PlayedSession {
        let host = TurnHost::new("/nowhere", Policy::default())
            .with_children(|_| Some(child_answered("the other session is done")));
        let model: Arc<dyn Model> = Arc::new(UnreliableModel {
            host: host.clone(),
            answers: Mutex::new(run.answers.clone().into()),
            asked: Mutex::default(),
        });
        let agent =
            NativeAgent::with_model(move |_| Ok(model.clone()), runner(&Arc::new(FakeTools::default())), 6);
        let info = |name: &str| ModelInfo { context_window: Some(WINDOW), ..ModelInfo::unknown(name) };
        PlayedSession {
            host,
            agent: agent.with_model_info(info),
            wishes: 0,
            crashed: false,
            approves: run.approves,
        }
    }

    async fn act(&mut self, action: UserAction) {
        if self.host.state().turn.is_some() {
            self.settle().await;
        }
        let mishap = match action {
            UserAction::Ask(mishap) => {
                self.wish(Delivery::Queue);
                mishap
            }
            UserAction::Compact(mishap) => {
                self.host.compact();
                mishap
            }
            UserAction::Retry(mishap) => {
                if self.host.state().session.last_turn_id.is_none() || self.host.retry().is_err() {
                    return;
                }
                mishap
            }
        };
        self.run_turn(mishap).await;
    }

    /// Says something that must not be forgotten.
    fn wish(&mut self, delivery: Delivery) {
        self.host.submit(&format!("wish-{}-end", self.wishes), delivery);
        self.wishes += 1;
    }

    /// Runs the open turn, and lets the mishap happen to it.
    async fn run_turn(&mut self, mishap: Mishap) {
        let (host, agent) = (self.host.clone(), &self.agent);
        let mut turn = pin!(host.run(agent));
        for polls in 0..PATIENCE {
            if futures_util::poll!(&mut turn).is_ready() {
                return;
            }
            match mishap {
                Mishap::Cancel(at) if polls == at => self.host.cancel(),
                Mishap::Crash(at) | Mishap::SteerAndCrash(_, at) if polls == at => {
                    self.crashed = true;
                    return;
                }
                Mishap::Steer(at) | Mishap::SteerAndCrash(at, _) if polls == at => {
                    self.host.submit(&format!("wish-{}-end", self.wishes), Delivery::Steer);
                    self.wishes += 1;
                }
                Mishap::None
                | Mishap::Cancel(_)
                | Mishap::Crash(_)
                | Mishap::Steer(_)
                | Mishap::SteerAndCrash(..) => {}
            }
            if polls % ANSWERED_EVERY == 0 {
                self.answer();
            }
            tokio::task::yield_now().await;
        }
        self.host.cancel();
        // It may have come to its end just then; what counts is what was recorded.
        let _ = turn.await;
    }

    /// Answers one of the approvals that wait.
    fn answer(&self) {
        let verdict = if self.approves { Verdict::Approve } else { Verdict::Deny };
        if let Some(approval) = self.host.state().own_approvals().next() {
            self.host.answer(&approval.tool_call_id.0, verdict, None).expect("the approval waits");
        }
    }

    /// Brings everything to its end: what crashed is recovered, what is open is run.
    async fn settle(&mut self) {
        for _ in 0..50 {
            if std::mem::take(&mut self.crashed) {
                self.host.recover();
            }
            if self.host.state().turn.is_none() {
                return;
            }
            self.run_turn(Mishap::None).await;
        }
        panic!("the session never comes to rest: {:?}", self.host.names());
    }

    fn check(&self) {
        let conversation = self.host.conversation();
        assert_paired(&ModelRequest::new(conversation.clone()));
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for event in self.host.events() {
            match event {
                Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                    message.tool_calls().for_each(|call| counts.entry(call.id.0.clone()).or_default().0 += 1);
                }
                Event::Call(CallEvent::Completed { tool_call, .. }) => {
                    counts.entry(tool_call.id.0).or_default().1 += 1
                }
                _ => {}
            }
        }
        // An id may be used again once what it named is no longer shown.
        assert!(counts.values().all(|(calls, results)| calls == results), "{counts:?}");
        let shown: String = conversation.iter().map(|message| message.text() + "\n").collect();
        let lost = (0..self.wishes).filter(|number| !shown.contains(&format!("wish-{number}-end"))).count();
        assert!(lost <= counted(&shown), "{lost} wishes are lost:\n{shown}");
        let (names, ends) = (self.host.names(), ["turn_completed", "turn_failed", "turn_canceled"]);
        let ended = names.iter().filter(|name| ends.contains(name)).count();
        assert_eq!(names.iter().filter(|name| **name == "turn_started").count(), ended, "{names:?}");
    }
}

/// How many old messages a summary has no room for; it says so.
fn counted(shown: &str) -> usize {
    let mut numbers =
        shown.lines().filter_map(|line| line.strip_prefix("- [… and ")?.split(' ').next()?.parse().ok());
    numbers.next().unwrap_or(0)
}

/// A model that does as it likes, and refuses what breaks the rules.
struct UnreliableModel {
    host: TurnHost,
    answers: Mutex<VecDeque<ModelBehaviour>>,
    asked: Mutex<usize>,
}

impl Model for UnreliableModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        validate(&request.messages)
            .unwrap_or_else(|violation| panic!("{violation}: {:#?}", request.messages));
        assert_paired(&request);
        // What is sent is what the log says, whatever the loop remembers. A summary is asked for without tools.
        if !request.tools.is_empty() {
            let mut logged = self.host.conversation();
            logged.retain(|message| !is_blank(message));
            let ids =
                |messages: &[Arc<Message>]| messages.iter().map(|message| message.id).collect::<Vec<_>>();
            assert_eq!(ids(&request.messages), ids(&logged));
        }
        let last = request.messages.last().expect("somebody says something");
        let is_answered = last.role == Role::Assistant
            || last.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        assert!(!is_answered, "the model is not asked to answer itself: {last:?}");
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(ModelBehaviour::Text(10));
        let (events, hangs) = events(answer, *asked);
        // Each event is a point at which the turn can be stopped.
        let slow = stream::iter(events).then(|event| async {
            tokio::task::yield_now().await;
            event
        });
        if hangs { slow.chain(stream::pending()).boxed() } else { slow.boxed() }
    }
}

/// Whether a message says nothing, and is not sent for that.
fn is_blank(message: &Message) -> bool {
    message.parts.iter().all(|part| matches!(part, Part::Text { text } if text.trim().is_empty()))
}

/// What the model says, and whether it falls silent then without having ended.
fn events(answer: ModelBehaviour, number: usize) -> (Vec<Result<ModelEvent, ModelError>>, bool) {
    let said = |text: String| Ok(ModelEvent::Text(text));
    let stop = || Ok(ModelEvent::Stop("end_turn".to_owned()));
    let usage =
        ostler_types::Usage { input_tokens: 1_800, output_tokens: 5, ..ostler_types::Usage::default() };
    let failed = |code| Err(ModelError::new(code, "no"));
    match answer {
        ModelBehaviour::Text(length) => {
            (vec![said("blah ".repeat(length / 5)), Ok(ModelEvent::Usage(usage)), stop()], false)
        }
        ModelBehaviour::Calls(names) => {
            let call = |(index, name): (usize, &str)| {
                let id = Some(format!("c{number}_{index}"));
                let fragment =
                    serde_json::json!({"text": "x", "lines": 400, "_parallel": number.is_multiple_of(2)});
                let fragment = match name {
                    "task" => serde_json::json!({"description": "d", "prompt": "p"}),
                    _ => fragment,
                };
                let started = ModelEvent::CallStarted { index, id, name: name.to_owned() };
                [Ok(started), Ok(ModelEvent::CallInput { index, fragment: fragment.to_string() })]
            };
            (names.into_iter().enumerate().flat_map(call).chain([stop()]).collect(), false)
        }
        ModelBehaviour::Nothing => (vec![stop()], false),
        ModelBehaviour::Fails => (vec![failed("overloaded")], false),
        ModelBehaviour::Breaks => (vec![said("half a ".to_owned()), failed("overloaded")], false),
        ModelBehaviour::Overflows => (vec![failed("context_overflow")], false),
        ModelBehaviour::Hangs => (vec![said("well ".to_owned()), Ok(ModelEvent::Usage(usage))], true),
    }
}
