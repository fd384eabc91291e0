//! The calls of a turn: the agent's description of each, how much of it is recorded, and which ones are open.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use agent_client_protocol::v1::schema::{
    RequestId, ToolCall as AgentCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use ostler_acp::{call_kind, from_call, has_ended};
use ostler_types::{ApprovalOption, Message, MessageId, ToolCall, ToolCallId, ToolKind};
use serde_json::Value;

use crate::effect::AgentEffect;

/// How long an id of an agent may be that is recorded as it is.
const MAX_ID_BYTES: usize = 200;

/// A call, as it is recorded once. A call of the agent that is recorded again is another one.
pub(crate) struct RecordedCall {
    /// The agent's description, all updates merged. None for a call of our own and for one that has ended.
    pub(crate) described: Option<Box<AgentCall>>,
    /// The call as it is recorded.
    pub(crate) call: ToolCall,
    pub(crate) kind: ToolKind,
    pub(crate) state: CallState,
    /// The question about the call that has no answer yet. Until it has one, nothing of the call is recorded.
    pub(crate) question: Option<CallQuestion>,
    /// Whether a person approved the call.
    pub(crate) is_granted: bool,
    /// Whether the agent updated the call after it had announced it as in progress. An agent that is yet to ask
    /// about the call does not.
    pub(crate) was_updated_in_progress: bool,
    /// When the agent first named the call. It is passed on, and decides nothing.
    pub(crate) announced: Instant,
}

/// How much of a call is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallState {
    /// It stands in the message that is being written.
    Drafted,
    /// Its message is recorded.
    Recorded,
    /// A person is being asked.
    Asked,
    /// Its start is recorded.
    Started,
    /// It was given a result so that the next message could be recorded; its own result is recorded as another call.
    Detached,
    /// A person denied it.
    Denied,
    /// Its result is recorded.
    Finished,
}

/// A question, and who waits for the answer.
#[derive(Debug, Clone)]
pub(crate) enum CallQuestion {
    /// The agent, which offers these answers.
    Permission { request: RequestId, options: Vec<ApprovalOption> },
    /// The agent, which requests this effect.
    Effect { request: RequestId, effect: AgentEffect },
}

/// All calls of a turn.
#[derive(Default)]
pub(crate) struct TurnCalls {
    all: HashMap<ToolCallId, RecordedCall>,
    used: HashSet<ToolCallId>,
    /// The newest record of each call of the agent, and how many there are.
    newest: HashMap<String, (ToolCallId, u32)>,
    /// The calls of the last message that have no result.
    pub(crate) open: Vec<ToolCallId>,
}

impl TurnCalls {
    /// The calls of a turn that follows this conversation.
    pub(crate) fn after<'a>(history: impl Iterator<Item = &'a Message>) -> TurnCalls {
        let used = history.flat_map(Message::tool_calls).map(|call| call.id.clone()).collect();
        TurnCalls { used, ..TurnCalls::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, id: &ToolCallId) -> &RecordedCall {
        self.all.get(id).expect("ids come from `add` and calls are never removed")
    }

    pub(crate) fn get_mut(&mut self, id: &ToolCallId) -> &mut RecordedCall {
        self.all.get_mut(id).expect("ids come from `add` and calls are never removed")
    }

    /// The newest record of a call of the agent.
    pub(crate) fn newest(&self, agent_id: &str) -> Option<ToolCallId> {
        self.newest.get(agent_id).map(|(id, _)| id.clone())
    }

    /// Adds a call of the agent, or another record of one.
    pub(crate) fn add(
        &mut self,
        described: AgentCall,
        at: Instant,
        new_id: impl Fn() -> MessageId,
    ) -> ToolCallId {
        let agent_id = described.tool_call_id.0.to_string();
        let count = self.newest.get(&agent_id).map_or(1, |(_, count)| count + 1);
        let wanted = if count == 1 { agent_id.clone() } else { format!("{agent_id}_{count}") };
        let id = self.unused(Some(wanted), new_id);
        self.newest.insert(agent_id, (id.clone(), count));
        let call = ToolCall { id, name: String::new(), input: Value::Null };
        self.insert(call, ToolKind::Exec, Some(Box::new(described)), None, at)
    }

    /// Adds a call that the daemon makes for the agent once the question is answered.
    pub(crate) fn add_own(
        &mut self,
        request: RequestId,
        effect: AgentEffect,
        at: Instant,
        new_id: impl Fn() -> MessageId,
    ) -> ToolCallId {
        let (name, input, kind) = effect.tool_call();
        let call = ToolCall { id: self.unused(None, new_id), name: name.to_owned(), input };
        self.insert(call, kind, None, Some(CallQuestion::Effect { request, effect }), at)
    }

    fn insert(
        &mut self,
        call: ToolCall,
        kind: ToolKind,
        described: Option<Box<AgentCall>>,
        question: Option<CallQuestion>,
        announced: Instant,
    ) -> ToolCallId {
        let id = call.id.clone();
        let (state, is_granted, was_updated_in_progress) = (CallState::Drafted, false, false);
        let call = RecordedCall {
            described,
            call,
            kind,
            state,
            question,
            is_granted,
            was_updated_in_progress,
            announced,
        };
        self.all.insert(id.clone(), call);
        id
    }

    fn unused(&mut self, wanted: Option<String>, new_id: impl Fn() -> MessageId) -> ToolCallId {
        let fits = |id: &String| !id.is_empty() && id.len() <= MAX_ID_BYTES;
        let wanted = wanted.filter(fits).map(ToolCallId).filter(|id| !self.used.contains(id));
        let id = wanted.unwrap_or_else(|| ToolCallId(format!("call_{}", new_id().uuid().simple())));
        self.used.insert(id.clone());
        id
    }

    /// Notes that a call has its result, and drops what is no longer needed of it.
    pub(crate) fn close(&mut self, id: &ToolCallId, state: CallState) {
        self.open.retain(|open| open != id);
        let call = self.get_mut(id);
        call.state = state;
        if state != CallState::Detached {
            call.call.input = Value::Null;
            call.described = None;
        }
    }

    /// The open calls that the agent announced as in progress and whose start is not recorded.
    pub(crate) fn announced_in_progress(&self) -> Vec<ToolCallId> {
        let is_announced = |id: &&ToolCallId| {
            let call = self.get(id);
            call.state == CallState::Recorded && call.question.is_none() && call.has_begun()
        };
        self.open.iter().filter(is_announced).cloned().collect()
    }

    /// Whether a person denied a call.
    pub(crate) fn was_denied(&self) -> bool {
        self.all.values().any(|call| call.state == CallState::Denied)
    }

    /// Whether a person is being asked about an open call.
    pub(crate) fn is_asking(&self) -> bool {
        self.open.iter().any(|id| self.get(id).state == CallState::Asked)
    }
}

impl RecordedCall {
    /// Merges an update into the description.
    pub(crate) fn merge(&mut self, fields: ToolCallUpdateFields) {
        let was_in_progress = self.has_begun();
        if let Some(described) = &mut self.described {
            described.update(fields);
            self.was_updated_in_progress |= was_in_progress;
        }
    }

    /// Takes over what the agent's description says by now: agents announce calls before their arguments.
    pub(crate) fn refresh(&mut self, agent: &str) {
        if let Some(described) = &self.described {
            self.call = from_call(agent, self.call.id.clone(), described);
            self.kind = call_kind(described);
        }
    }

    /// Whether the agent says that the call is in progress or over.
    pub(crate) fn has_begun(&self) -> bool {
        self.described.as_ref().is_some_and(|described| !matches!(described.status, ToolCallStatus::Pending))
    }

    /// How the call ended, if the agent says so.
    pub(crate) fn has_ended(&self) -> Option<bool> {
        self.described.as_deref().and_then(has_ended)
    }

    /// Whether the call can be recorded: it has begun, or its arguments are whole, as far as can be seen. Some
    /// agents announce a call with `{}` and send its arguments later.
    pub(crate) fn is_whole(&self) -> bool {
        let Some(described) = &self.described else { return true };
        let is_empty = matches!(&described.raw_input, Some(Value::Object(members)) if members.is_empty());
        self.has_begun() || !is_empty
    }
}

/// The description of a call whose update came first.
pub(crate) fn from_first_update(update: ToolCallUpdate) -> AgentCall {
    let title = update.fields.title.clone().unwrap_or_default();
    let mut call = AgentCall::new(update.tool_call_id, title);
    call.update(update.fields);
    call
}
