//! Where a turn stands, read from the conversation: what the tools have just answered, what the
//! person has added meanwhile, and what of the plan is left to do.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_types::{Message, Part, Role, ToolCall, results};

use super::clause::DemoIntent;
use super::plan::plan;

/// How a message begins that tells the model of a failed verification.
const VERIFICATION_FAILED: &str = "verification failed";

/// The state of the turn.
#[derive(Debug, Default)]
pub(super) struct Situation<'a> {
    /// What the tools answered since the model last spoke.
    pub(super) outcomes: Vec<DemoToolOutcome<'a>>,
    /// What the person added since then, in the middle of the turn.
    pub(super) steering: Option<SteeringMessage>,
    /// What is left to do.
    pub(super) wishes: VecDeque<DemoIntent>,
    /// How many calls the conversation holds.
    pub(super) calls_so_far: usize,
    /// The model has spoken in this turn, and asked for tools.
    in_turn: bool,
    /// The plan of the last prompt, for a turn that is tried again.
    prompt: VecDeque<DemoIntent>,
    calls: Vec<&'a ToolCall>,
}

/// A tool's answer, with the call if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct DemoToolOutcome<'a> {
    pub(super) call: Option<&'a ToolCall>,
    pub(super) name: &'a str,
    pub(super) ok: bool,
    pub(super) text: &'a str,
}

/// A message that steers the turn.
#[derive(Debug)]
pub(super) struct SteeringMessage {
    pub(super) text: String,
    pub(super) understood: bool,
    pub(super) stops: bool,
    wishes: usize,
}

impl<'a> Situation<'a> {
    /// Reads the conversation from its start. Wishes whose tool is not offered lead to no call.
    pub(super) fn from_messages(
        messages: &'a [Arc<Message>],
        offered: impl Fn(&str) -> bool,
    ) -> Situation<'a> {
        let mut situation = Situation::default();
        for message in messages {
            match message.role {
                Role::System => {}
                Role::User => situation.user(&message.text()),
                Role::Assistant => situation.assistant(message, &offered),
                Role::Tool => situation.tool(message),
            }
        }
        let answered = messages.last().is_some_and(|last| last.role == Role::Assistant);
        if answered && !situation.in_turn {
            situation.wishes = situation.prompt.clone();
        }
        situation
    }

    /// Forgets what was planned before the person last spoke, and names it.
    pub(super) fn drop_earlier_wishes(&mut self) -> Vec<String> {
        let kept = self.steering.as_ref().map_or(0, |added| added.wishes).min(self.wishes.len());
        self.wishes.split_off(kept).iter().map(DemoIntent::name).collect()
    }

    fn user(&mut self, text: &str) {
        let start = text.trim_start().get(..VERIFICATION_FAILED.len()).unwrap_or_default();
        if start.eq_ignore_ascii_case(VERIFICATION_FAILED) {
            self.wishes = VecDeque::from([DemoIntent::FixCode]);
            self.prompt = self.wishes.clone();
            return;
        }
        let wishes = plan(text);
        if self.in_turn {
            self.steer(text, wishes);
        } else {
            self.outcomes.clear();
            self.wishes.extend(wishes);
            self.prompt = self.wishes.clone();
        }
    }

    fn steer(&mut self, text: &str, wishes: Vec<DemoIntent>) {
        let stops = wishes.iter().any(|wish| matches!(wish, DemoIntent::Stop));
        let understood = !wishes.iter().any(|wish| matches!(wish, DemoIntent::Explain { .. }));
        let mut count = 0;
        if stops {
            self.wishes.clear();
        } else if understood {
            count = wishes.len();
            for wish in wishes.into_iter().rev() {
                self.wishes.push_front(wish);
            }
        }
        let earlier = self.steering.take();
        let text = earlier.as_ref().map_or_else(|| text.to_owned(), |added| format!("{} {text}", added.text));
        let wishes = count + earlier.map_or(0, |added| added.wishes);
        self.steering = Some(SteeringMessage { text, understood, stops, wishes });
    }

    fn assistant(&mut self, message: &'a Message, offered: impl Fn(&str) -> bool) {
        self.outcomes.clear();
        self.steering = None;
        self.calls = message.tool_calls().collect();
        self.calls_so_far += self.calls.len();
        self.in_turn = !self.calls.is_empty();
        if !self.in_turn {
            self.wishes.clear();
        }
        for _ in 0..self.calls.len() {
            while let Some(wish) = self.wishes.pop_front() {
                if matches!(&wish, DemoIntent::Call(call) if offered(call.tool)) {
                    break;
                }
            }
        }
    }

    fn tool(&mut self, message: &'a Message) {
        for part in &message.parts {
            let Part::ToolResult { tool_call_id, name, ok, text, .. } = part else { continue };
            let call = self.calls.iter().copied().find(|call| call.id == *tool_call_id);
            self.outcomes.push(DemoToolOutcome { call, name, ok: *ok, text });
            // Words that only a turn's end leaves behind: what the person says next is a new prompt.
            if [results::CANCELED, results::INTERRUPTED, results::NOT_STARTED].contains(&text.as_str()) {
                self.in_turn = false;
                self.wishes.clear();
            }
        }
    }
}
