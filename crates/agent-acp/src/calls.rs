//! The calls of a turn: what the agent has told of each, how far its record is, and which of them are open.
//! What is recorded of them is up to `record`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use agent_client_protocol::v1::schema::{ToolCall as AgentCall, ToolCallStatus, ToolCallUpdate};
use ostler_types::{Message, ToolCall, ToolCallId, ToolKind};
use tokio::time::Instant;

/// How long a call is not taken to be at work although its agent says so: some say it and ask then whether they may.
pub(crate) const QUESTION_TIME: Duration = Duration::from_millis(300);
/// How long an id may be that is kept as it is.
const MAX_ID_BYTES: usize = 200;

/// Which call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CallKey {
    /// The agent's, by its id, and the how manieth record of it this is.
    Agents(String, u32),
    /// One that we make for the agent.
    Own(u32),
}

/// A call.
pub(crate) struct Known {
    /// What the agent has told of it, all updates taken together.
    pub(crate) told: Option<Box<AgentCall>>,
    /// As it stands in the log, or will.
    pub(crate) call: ToolCall,
    pub(crate) kind: ToolKind,
    pub(crate) standing: Standing,
    /// Whether a person said yes to it.
    pub(crate) is_granted: bool,
    pub(crate) began: Instant,
    /// When the agent first said that it is at work.
    pub(crate) at_work: Option<Instant>,
}

/// How far a call's record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is in the message that is being written.
    Drafted,
    /// It is recorded, and nothing more.
    Open,
    /// A person is being asked.
    Asking,
    /// It is at work, as far as is known.
    Started,
    /// It was given a result because the log had to go on; what comes of it is recorded as another call.
    Detached,
    /// A person said no.
    Denied,
    /// It has its result.
    Ended,
}

/// All calls of a turn.
#[derive(Default)]
pub(crate) struct Calls {
    known: HashMap<CallKey, Known>,
    used: HashSet<ToolCallId>,
    /// Which record of a call of the agent is the newest.
    newest: HashMap<String, u32>,
    own: u32,
    /// The calls of the last message that have no result.
    pub(crate) open: Vec<CallKey>,
}

impl Calls {
    /// The calls of a turn that comes after this conversation.
    pub(crate) fn after<'a>(history: impl Iterator<Item = &'a Message>) -> Calls {
        let used = history.flat_map(Message::tool_calls).map(|call| call.id.clone()).collect();
        Calls { used, ..Calls::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn get(&self, key: &CallKey) -> Option<&Known> {
        self.known.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &CallKey) -> Option<&mut Known> {
        self.known.get_mut(key)
    }

    /// The newest record of a call of the agent.
    pub(crate) fn newest(&self, id: &str) -> Option<CallKey> {
        self.newest.get(id).map(|number| CallKey::Agents(id.to_owned(), *number))
    }

    /// A call of the agent that is new, or a new record of a known one.
    pub(crate) fn add(&mut self, told: AgentCall, fresh: impl Fn() -> String) -> CallKey {
        let agent_id = told.tool_call_id.0.to_string();
        let number = self.newest.get(&agent_id).map_or(0, |number| number + 1);
        let wanted = if number == 0 { agent_id.clone() } else { format!("{agent_id}_{}", number + 1) };
        let id = self.unused(Some(wanted), fresh);
        let key = CallKey::Agents(agent_id.clone(), number);
        self.newest.insert(agent_id, number);
        let call = ToolCall { id, name: String::new(), input: serde_json::Value::Null };
        self.insert(key.clone(), Some(Box::new(told)), call, ToolKind::Exec);
        key
    }

    /// A call that we make for the agent.
    pub(crate) fn add_own(
        &mut self,
        name: &str,
        input: serde_json::Value,
        kind: ToolKind,
        fresh: impl Fn() -> String,
    ) -> CallKey {
        self.own += 1;
        let id = self.unused(None, fresh);
        let call = ToolCall { id, name: name.to_owned(), input };
        self.insert(CallKey::Own(self.own), None, call, kind);
        CallKey::Own(self.own)
    }

    fn insert(&mut self, key: CallKey, told: Option<Box<AgentCall>>, call: ToolCall, kind: ToolKind) {
        let (standing, is_granted, began) = (Standing::Drafted, false, Instant::now());
        let at_work = told.as_deref().filter(|told| has_begun(told)).map(|_| began);
        self.known.insert(key, Known { told, call, kind, standing, is_granted, began, at_work });
    }

    fn unused(&mut self, wanted: Option<String>, fresh: impl Fn() -> String) -> ToolCallId {
        let fits = |id: &String| !id.is_empty() && id.len() <= MAX_ID_BYTES;
        let wanted = wanted.filter(fits).map(ToolCallId).filter(|id| !self.used.contains(id));
        let id = wanted.unwrap_or_else(|| ToolCallId(fresh()));
        self.used.insert(id.clone());
        id
    }

    /// Notes that a call has its result, and forgets what it need not know any more.
    pub(crate) fn end(&mut self, key: &CallKey, standing: Standing) {
        self.open.retain(|open| open != key);
        if let Some(known) = self.known.get_mut(key) {
            known.standing = standing;
            if standing != Standing::Detached {
                known.call.input = serde_json::Value::Null;
                known.told = None;
            }
        }
    }

    /// The open calls that the agent says are at work, and of which that is not recorded.
    pub(crate) fn at_work(&self) -> Vec<CallKey> {
        let is_at_work = |key: &&CallKey| {
            let known = self.known.get(key);
            known.is_some_and(|known| known.standing == Standing::Open && known.at_work.is_some())
        };
        self.open.iter().filter(is_at_work).cloned().collect()
    }

    /// When the next of them is to be taken at its word.
    pub(crate) fn due(&self) -> Option<Instant> {
        let since = |key: CallKey| self.known.get(&key).and_then(|known| known.at_work);
        self.at_work().into_iter().filter_map(since).min().map(|since| since + QUESTION_TIME)
    }

    /// Whether a person has said no to one.
    pub(crate) fn was_denied(&self) -> bool {
        self.known.values().any(|known| known.standing == Standing::Denied)
    }

    /// Whether an open call waits for a person.
    pub(crate) fn is_asking(&self) -> bool {
        self.open
            .iter()
            .any(|key| self.known.get(key).is_some_and(|known| known.standing == Standing::Asking))
    }
}

/// A call made of an update that came first.
pub(crate) fn call_of(update: ToolCallUpdate) -> AgentCall {
    let id = update.tool_call_id.clone();
    let title = update.fields.title.clone().unwrap_or_default();
    let mut call = AgentCall::new(id, title);
    call.update(update.fields);
    call
}

/// Whether the agent says that a call is at work or over.
pub(crate) fn has_begun(call: &AgentCall) -> bool {
    !matches!(call.status, ToolCallStatus::Pending)
}

/// Whether the agent has told all of a call's arguments, as far as can be seen: some tell a call before them.
pub(crate) fn has_input(call: &AgentCall) -> bool {
    !matches!(&call.raw_input, Some(serde_json::Value::Object(members)) if members.is_empty())
}
