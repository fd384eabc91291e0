//! Random prompts, held to the rules of the log: whatever an agent sends, in whatever order, every report is accepted,
//! every call gets one result, no text is lost, and a cancel at any point leaves a log that is whole.

use std::collections::HashSet;
use std::time::Instant;

use ostler_acp::AcpCallOutcome;
use ostler_testing::host::TurnHost;
use ostler_types::{
    CallEvent, Delivery, Event, Message, MessageEvent, Policy, ProposedCall, Role, Subject, ToolCallId,
    ToolResult, TurnReport, Usage, Verdict,
};

use super::super::AcpRecorder;
use super::super::action::{Asker, RecorderAction, RecorderInput};
use super::{ANNOUNCING, PLAIN, read, recorder};

/// How many prompts are tried of each kind of agent.
const SEEDS: u64 = 400;
/// How many inputs one has.
const INPUTS: u64 = 40;
const WORDS: [&str; 16] = [
    "say",
    "say",
    "think",
    "bare",
    "args",
    "pend",
    "run",
    "run",
    "run",
    "done",
    "done",
    "fail",
    "perm",
    "perm",
    "write",
    "write-asked",
];

/// A prompt, and the log that its reports are recorded in.
struct PlayedPrompt {
    recorder: AcpRecorder,
    host: TurnHost,
    /// Calls that a person is asked about.
    asked: Vec<ToolCallId>,
    /// Calls of the daemon's own that run.
    own: Vec<ToolCallId>,
    said: String,
    played: Vec<String>,
}

/// A small generator of numbers, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}

impl PlayedPrompt {
    fn new(announces_before_asking: bool) -> PlayedPrompt {
        let host = TurnHost::new("/work", Policy::default());
        host.submit("begin", Delivery::Queue);
        host.report(TurnReport::AgentUpdated(Box::default())).unwrap();
        let (asked, own, said, played) = (Vec::new(), Vec::new(), String::new(), Vec::new());
        PlayedPrompt { recorder: recorder(announces_before_asking), host, asked, own, said, played }
    }

    fn line(&mut self, line: &str) {
        if let Some(text) = line.strip_prefix("say ") {
            self.said += text;
        }
        self.input(line.to_owned(), read(line));
    }

    fn input(&mut self, line: String, input: RecorderInput) {
        self.played.push(line);
        for action in self.recorder.take(input, Instant::now()) {
            self.carry_out(action);
        }
    }

    fn carry_out(&mut self, action: RecorderAction) {
        let report = match action {
            RecorderAction::RecordMessage { id, parts, stop_reason } => {
                let created_at = "2026-01-01T00:00:00Z".parse().unwrap();
                let message = Message { id, role: Role::Assistant, parts, created_at };
                let (model, stop_reason) = ("m:m".to_owned(), stop_reason.to_owned());
                TurnReport::StepFinished { model, message, stop_reason, usage: Usage::default() }
            }
            RecorderAction::StartBatch { parallel } => TurnReport::BatchStarted { parallel },
            RecorderAction::StartCall { call: tool_call, kind } => {
                TurnReport::CallStarted { tool_call, kind }
            }
            RecorderAction::FinishCall { id, ok, outcome: AcpCallOutcome { text, .. }, .. } => {
                let message_id =
                    ostler_types::MessageId::new(uuid::Uuid::from_u128(self.played.len() as u128));
                let result = ToolResult { ok, ..ToolResult::failed(id, text) };
                TurnReport::CallFinished { result, duration_ms: 0, message_id }
            }
            RecorderAction::CompleteBatch => TurnReport::BatchCompleted,
            RecorderAction::Ask { call: tool_call, kind, asker } => {
                self.asked.push(tool_call.id.clone());
                let (risk, options) = match asker {
                    Asker::Agent { options, .. } => (None, options),
                    Asker::Daemon => (Some("asked in any case".to_owned()), Vec::new()),
                };
                let (summary, trusted, subject) = (String::new(), true, Subject::Input);
                TurnReport::CallProposed(ProposedCall {
                    tool_call,
                    kind,
                    summary,
                    risk,
                    trusted,
                    subject,
                    options,
                })
            }
            RecorderAction::CarryOut { call, is_own, .. } => return self.own.extend(call.filter(|_| is_own)),
            RecorderAction::Show(_) | RecorderAction::Respond { .. } => return,
            RecorderAction::Fail(failed) => panic!("{failed:?} after {:?}", self.played),
        };
        let shown = format!("{report:?}");
        if let Err(refusal) = self.host.report(report) {
            panic!("{refusal:?}: {shown} after {:?}", self.played);
        }
    }

    /// A person answers a question, or a call of the daemon's own ends.
    fn settle_one(&mut self, random: &mut Random) -> bool {
        if self.asked.is_empty() || (!self.own.is_empty() && random.below(2) == 0) {
            let Some(id) = self.own.pop() else { return false };
            let RecorderInput::OwnCallEnded { outcome, .. } = read("ended x") else { panic!() };
            self.input(format!("ended {id}"), RecorderInput::OwnCallEnded { call: id, outcome });
            return true;
        }
        let at = usize::try_from(random.below(self.asked.len() as u64)).unwrap();
        let id = self.asked.swap_remove(at);
        let (word, verdict) = *random.pick(&[("yes", Verdict::Approve), ("no", Verdict::Deny)]);
        self.host.answer(&id.0, verdict, None).unwrap();
        let is_own = id.0.starts_with("call_");
        let word = if !is_own {
            word
        } else if verdict == Verdict::Approve {
            "allow"
        } else {
            "deny"
        };
        let input = match read(&format!("{word} x")) {
            RecorderInput::Answer { accepted, .. } => RecorderInput::Answer { call: id.clone(), accepted },
            other => panic!("{other:?}"),
        };
        self.input(format!("{word} {id}"), input);
        true
    }

    /// What must hold of the log, whatever was played: of a prompt that was canceled, and of one that ended.
    fn check(&self, has_ended: bool) {
        let (mut calls, mut results, mut said) = (Vec::new(), HashSet::new(), String::new());
        for event in self.host.events() {
            match event {
                Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                    // Texts with something else between them are shown on lines of their own.
                    said += &message.text().replace('\n', "");
                    calls.extend(message.tool_calls().map(|call| call.id.clone()));
                }
                Event::Call(CallEvent::Completed { tool_result, .. }) => {
                    assert!(results.insert(tool_result.id), "{:?}", self.played);
                }
                _ => {}
            }
        }
        let named: HashSet<ToolCallId> = calls.iter().cloned().collect();
        assert_eq!((named.len(), &named), (calls.len(), &results), "{:?}", self.played);
        let is_whole = if has_ended { said == self.said } else { self.said.starts_with(&said) };
        assert!(is_whole, "{said} of {} after {:?}", self.said, self.played);
    }
}

#[test]
fn whatever_an_agent_sends_is_a_log() {
    for agent in [PLAIN, ANNOUNCING] {
        for seed in 0..SEEDS {
            let mut random = Random(seed);
            let mut play = PlayedPrompt::new(agent);
            for number in 0..random.below(INPUTS) {
                if random.below(4) == 0 && play.settle_one(&mut random) {
                    continue;
                }
                let line = match *random.pick(&WORDS) {
                    word @ ("say" | "think") => format!("{word} t{number}."),
                    word => format!("{word} {}", random.pick(&["a", "b", "c"])),
                };
                play.line(&line);
            }
            if random.below(4) == 0 {
                play.host.cancel();
                play.check(false);
                continue;
            }
            while play.settle_one(&mut random) {}
            assert!(!play.recorder.has_questions(), "{:?}", play.played);
            play.line("end");
            play.check(true);
            assert_eq!(play.host.state().turn.unwrap().calls.len(), 0, "{:?}", play.played);
        }
    }
}
