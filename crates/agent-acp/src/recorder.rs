//! Decides what is recorded of an agent's work, and in which order: a message, its calls, their results, the next
//! message. It is a pure function of the inputs and their order: it has no IO, no clock and no channel, and what it
//! decides is carried out by `prompt_loop`.
//!
//! Agents send in another order: calls in parallel, text beside calls, calls inside calls. So:
//!
//! - A call is recorded with its message as soon as its arguments are known, before anything else is known of it: the
//!   intent is on disk as early as the agent allows. What comes while calls are open waits in the next draft.
//! - The start of a call is recorded when a person approved it, or when the agent says that it is in progress. Some
//!   agents say so and ask for permission afterwards ([`RecorderSettings::announces_before_asking`]). Of these, the
//!   start is recorded at the first sign that the call does not wait for an answer: another update of the call, an
//!   effect that the agent requests, its end, or the end of the prompt.
//! - A question never waits for a running call, which may be what the question is about. The open calls get a result
//!   that says that they go on ([`AcpRecorder::detach_open`]), and their own results are recorded as further calls.

pub(crate) mod action;
mod calls;
mod draft;
mod questions;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Instant;

use agent_client_protocol::v1::schema::{ToolCall as AgentCall, ToolCallUpdate};
use ostler_acp::{AcpCallOutcome, from_outcome, has_ended};
use ostler_runner::ToolOutcome;
use ostler_types::{Message, MessageId, Part, StateLimits, ToolCallId};
use serde_json::{Value, json};

use self::action::{RecorderAction, RecorderInput};
use self::calls::{CallState, TurnCalls, from_first_update};
use self::draft::AcpMessageDraft;
use crate::failure::failed;

pub(crate) use self::draft::TextKind;

/// The longest piece of text that is taken at once.
const PIECE_BYTES: usize = 128 * 1024;
/// How many calls one turn may make.
const MAX_CALLS: usize = 4_096;
/// How many bytes an update of a call counts for.
const CALL_BYTES: usize = 64;
/// How many notices of an agent one turn shows.
const MAX_NOTICES: usize = 20;

/// What the recorder has to know of the agent and the session.
pub(crate) struct RecorderSettings {
    /// The agent's name.
    pub(crate) agent: String,
    pub(crate) workspace: PathBuf,
    /// How many bytes an agent may send in one turn.
    pub(crate) turn_bytes: usize,
    /// Whether the agent announces calls as in progress before it asks for permission to make them.
    pub(crate) announces_before_asking: bool,
}

/// Makes ids that no other message has.
pub(crate) type NewId = Box<dyn Fn() -> MessageId + Send + Sync>;

/// Turns what an agent sends into actions. One serves all prompts of a turn.
pub(crate) struct AcpRecorder {
    settings: RecorderSettings,
    new_id: NewId,
    /// Whether the agent may ask about a call that it announced as in progress.
    asks_late: bool,
    draft: AcpMessageDraft,
    calls: TurnCalls,
    /// Whether a batch has begun and is not completed.
    has_batch: bool,
    /// Calls with a question that cannot be asked until another one is answered.
    postponed: Vec<ToolCallId>,
    notices: Vec<String>,
    /// How many bytes the agent has sent.
    bytes: usize,
    actions: Vec<RecorderAction>,
}

impl AcpRecorder {
    /// A recorder for a turn that follows this conversation.
    pub(crate) fn new<'a>(
        settings: RecorderSettings,
        new_id: NewId,
        history: impl Iterator<Item = &'a Message>,
    ) -> AcpRecorder {
        AcpRecorder {
            asks_late: settings.announces_before_asking,
            settings,
            new_id,
            draft: AcpMessageDraft::default(),
            calls: TurnCalls::after(history),
            has_batch: false,
            postponed: Vec::new(),
            notices: Vec::new(),
            bytes: 0,
            actions: Vec::new(),
        }
    }

    /// Takes an input, and returns what is to be carried out. The time is passed on, and decides nothing.
    pub(crate) fn take(&mut self, input: RecorderInput, at: Instant) -> Vec<RecorderAction> {
        let is_last = matches!(input, RecorderInput::PromptEnded | RecorderInput::PromptFailed);
        match input {
            RecorderInput::Text { kind, text, message } => self.add_text(kind, &text, message.as_ref()),
            RecorderInput::Part { part, bytes } => self.add_part(part, bytes),
            RecorderInput::Call(update) => self.update_call(*update, at),
            RecorderInput::Permission { request, call, options } => {
                self.permission(request, *call, options, at)
            }
            RecorderInput::Effect { request, effect, policy } => {
                self.request_effect(request, effect, policy, at)
            }
            RecorderInput::Answer { call, accepted } => self.answered(&call, accepted),
            RecorderInput::OwnCallEnded { call, outcome } => self.end_own_call(&call, outcome),
            RecorderInput::Notice(text) => {
                if self.notices.len() < MAX_NOTICES {
                    self.notices.push(format!("The agent says: {text}"));
                }
            }
            RecorderInput::PromptEnded => self.end_prompt(),
            RecorderInput::PromptFailed => {
                // The engine gives the calls their results.
                if self.calls.open.is_empty() && self.draft.calls().next().is_some() {
                    self.record_draft("error");
                }
            }
        }
        if !is_last {
            self.ask_postponed();
        }
        std::mem::take(&mut self.actions)
    }

    /// Whether the agent made a call.
    pub(crate) fn has_calls(&self) -> bool {
        self.calls.len() > 0
    }

    /// Whether a question of the agent has no answer.
    pub(crate) fn has_questions(&self) -> bool {
        self.calls.is_asking() || !self.postponed.is_empty()
    }

    /// Whether a person denied a call.
    pub(crate) fn was_denied(&self) -> bool {
        self.calls.was_denied()
    }

    /// The notices to be added to the conversation when the prompt has ended.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Adds text to the draft. Text after calls begins the next message, and so does text of another message.
    fn add_text(&mut self, kind: TextKind, text: &str, message: Option<&String>) {
        if text.is_empty() || !self.has_budget(text.len()) {
            return;
        }
        let is_named = message.is_some() && self.draft.agent_name.as_ref() != message;
        let is_other = is_named && !self.draft.is_empty();
        if is_other || self.draft.calls().next().is_some() {
            self.begin_message();
        }
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
            rest = after;
            if !self.draft.has_room(piece.len()) {
                if !self.calls.is_asking() {
                    self.flush();
                } else if let Some(failure) = self.draft.too_long() {
                    return self.actions.push(RecorderAction::Fail(failure));
                }
            }
            self.draft.agent_name = message.cloned();
            let delta = self.draft.add_text(kind, piece.to_owned(), &self.new_id);
            self.actions.push(RecorderAction::Show(delta));
        }
    }

    fn add_part(&mut self, part: Part, bytes: usize) {
        if self.has_budget(bytes) {
            if self.draft.calls().next().is_some() {
                self.begin_message();
            }
            self.draft.add_part(part);
        }
    }

    /// Records the draft where nothing keeps it, so that what follows stands in the next message.
    fn begin_message(&mut self) {
        if self.calls.open.is_empty() {
            self.flush();
        }
    }

    /// Counts what the agent sends; fails the turn of one that never ends.
    fn has_budget(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        let limit = self.settings.turn_bytes;
        if self.bytes <= limit && self.calls.len() <= MAX_CALLS {
            return true;
        }
        let message = format!(
            "the agent said more than {limit} bytes or made more than {MAX_CALLS} calls in one turn, and was stopped"
        );
        let hint = "what it said so far is kept; ask for less at once".to_owned();
        self.actions.push(RecorderAction::Fail(failed("answer_too_long", message, Some(hint))));
        false
    }

    /// Takes an announcement or an update of a call.
    fn update_call(&mut self, update: ToolCallUpdate, at: Instant) {
        if !self.has_budget(CALL_BYTES) {
            return;
        }
        let Some(id) = self.calls.newest(&update.tool_call_id.0) else {
            self.draft_call(from_first_update(update), at);
            return self.advance();
        };
        let call = self.calls.get_mut(&id);
        match call.state {
            CallState::Finished => {}
            CallState::Denied => {
                if has_ended(&from_first_update(update)) == Some(true) {
                    call.state = CallState::Finished;
                    let notice =
                        format!("The agent says that it carried out the call {id}, which was denied.");
                    self.notices.push(notice);
                }
            }
            CallState::Detached => {
                call.merge(update.fields);
                if call.has_ended().is_some()
                    && let Some(described) = call.described.take()
                {
                    call.state = CallState::Finished;
                    self.draft_call(*described, at);
                    self.advance();
                }
            }
            CallState::Drafted | CallState::Recorded | CallState::Asked | CallState::Started => {
                call.merge(update.fields);
                self.advance();
            }
        }
    }

    /// Adds a call of the agent to the draft.
    fn draft_call(&mut self, described: AgentCall, at: Instant) -> ToolCallId {
        if self.draft.calls().count() >= StateLimits::CALLS {
            self.flush();
        }
        let id = self.calls.add(described, at, &self.new_id);
        self.draft.add_call(id.clone());
        id
    }

    /// Records what can be recorded: starts, results, the end of the batch, and the next message if it has a call that
    /// is whole.
    fn advance(&mut self) {
        loop {
            self.advance_open();
            if !self.calls.open.is_empty() {
                return;
            }
            self.complete_batch();
            if !self.draft.calls().any(|id| self.calls.get(id).is_whole()) {
                return;
            }
            self.record_draft("tool_use");
        }
    }

    /// Records what is new of the open calls.
    fn advance_open(&mut self) {
        for id in self.calls.open.clone() {
            let call = self.calls.get(&id);
            if call.described.is_none() || call.question.is_some() {
                continue;
            }
            let (state, ended) = (call.state, call.has_ended());
            let is_sure = !self.asks_late || call.was_updated_in_progress || ended.is_some();
            let runs = call.has_begun() && is_sure;
            if state == CallState::Recorded && runs {
                self.start_call(&id);
            }
            if let (CallState::Recorded | CallState::Started, Some(ok)) = (state, ended) {
                self.finish_described(&id, ok);
            }
        }
    }

    /// Records the start of the calls that the agent announced as in progress.
    fn start_announced(&mut self) {
        for id in self.calls.announced_in_progress() {
            self.start_call(&id);
        }
    }

    fn start_call(&mut self, id: &ToolCallId) {
        let call = self.calls.get_mut(id);
        call.state = CallState::Started;
        if !call.is_granted {
            // What a person approved stays as it is.
            call.refresh(&self.settings.agent);
        }
        let (call, kind) = (call.call.clone(), call.kind);
        self.actions.push(RecorderAction::StartCall { call, kind });
    }

    /// Records the result that the agent describes.
    fn finish_described(&mut self, id: &ToolCallId, ok: bool) {
        if let Some(described) = self.calls.get(id).described.as_deref() {
            let outcome = from_outcome(described, &self.settings.workspace);
            self.finish_call(id, ok, outcome, CallState::Finished);
        }
    }

    fn finish_call(&mut self, id: &ToolCallId, ok: bool, outcome: AcpCallOutcome, state: CallState) {
        let announced = self.calls.get(id).announced;
        self.calls.close(id, state);
        self.actions.push(RecorderAction::FinishCall { id: id.clone(), ok, outcome, announced });
    }

    /// Records the result of a call that the daemon made for the agent.
    fn end_own_call(&mut self, id: &ToolCallId, outcome: ToolOutcome) {
        let ToolOutcome { ok, text, details, .. } = outcome;
        match self.calls.get(id).state {
            CallState::Detached => {
                let last = text.lines().last().unwrap_or_default();
                self.notices.push(format!("The call {id} has ended: {last}"));
                self.calls.close(id, CallState::Finished);
            }
            CallState::Started => {
                self.finish_call(
                    id,
                    ok,
                    outcome_of(text, details.unwrap_or(Value::Null)),
                    CallState::Finished,
                );
            }
            CallState::Drafted
            | CallState::Recorded
            | CallState::Asked
            | CallState::Denied
            | CallState::Finished => {}
        }
        self.advance();
    }

    /// Records the draft, and gives the open calls a result before that. Does nothing while a person is being asked.
    fn flush(&mut self) {
        self.detach_open();
        if self.draft.is_empty() || !self.calls.open.is_empty() {
            return;
        }
        let has_calls = self.draft.calls().next().is_some();
        self.record_draft(if has_calls { "tool_use" } else { "end_turn" });
        self.advance_open();
        if self.calls.open.is_empty() {
            self.complete_batch();
        }
    }

    /// Gives the open calls a result that says that they go on, so that the next message can be recorded.
    fn detach_open(&mut self) {
        self.start_announced();
        for id in self.calls.open.clone() {
            if self.calls.get(&id).state != CallState::Asked {
                let text = "This call goes on while the agent does something else; what comes of it follows.";
                let outcome = outcome_of(text.to_owned(), json!({"goes_on": true}));
                self.finish_call(&id, true, outcome, CallState::Detached);
            }
        }
        if self.calls.open.is_empty() {
            self.complete_batch();
        }
    }

    /// Records everything that is left, and gives each call a result that has none.
    fn end_prompt(&mut self) {
        self.advance();
        loop {
            self.start_announced();
            for id in self.calls.open.clone() {
                let text = "The agent stopped without saying what came of this call.".to_owned();
                self.finish_call(&id, false, outcome_of(text, Value::Null), CallState::Finished);
            }
            self.complete_batch();
            if self.draft.is_empty() {
                return;
            }
            self.flush();
        }
    }

    /// Records the message that is being written, and begins its calls.
    fn record_draft(&mut self, stop_reason: &'static str) {
        let (calls, agent) = (&mut self.calls, &self.settings.agent);
        let call_part = |id: &ToolCallId| {
            let call = calls.get_mut(id);
            call.refresh(agent);
            call.state = CallState::Recorded;
            Part::ToolCall { call: call.call.clone() }
        };
        let (id, parts, open) = std::mem::take(&mut self.draft).finish(&self.new_id, call_part);
        self.actions.push(RecorderAction::RecordMessage { id, parts, stop_reason });
        if !open.is_empty() {
            let parallel = open.len() > 1;
            (self.calls.open, self.has_batch) = (open, true);
            self.actions.push(RecorderAction::StartBatch { parallel });
        }
    }

    fn complete_batch(&mut self) {
        if std::mem::take(&mut self.has_batch) {
            self.actions.push(RecorderAction::CompleteBatch);
        }
    }
}

fn outcome_of(text: String, details: Value) -> AcpCallOutcome {
    AcpCallOutcome { text, images: Vec::new(), terminals: Vec::new(), details }
}
