//! `send`: a message to an agent, and its answer. A client that hangs up stops nothing; it may ask again under the
//! same `request_id`, and gets the answer of the same turn.

use ostler_door_kit::DoorContext;
use ostler_engine::{EngineError, Subscription, SubscriptionItem};
use ostler_types::{
    Accepted, Command, Delivery, Event, EventName, Failure, Message, MessageEvent, MessageId, Part, Role,
    SessionId, SubmitMessage, TurnEvent, TurnId,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json_rpc::{PoolCall, PoolRpcError};
use super::message_rows::content;

/// The longest id that a client may give its request.
const MAX_REQUEST_ID: usize = 256;

/// The events that tell how a turn goes, as far as its answer is concerned.
const TURN_EVENTS: [EventName; 6] = [
    EventName::ModelOutputCompleted,
    EventName::MessageAdded,
    EventName::MessageWithdrawn,
    EventName::TurnCompleted,
    EventName::TurnFailed,
    EventName::TurnCanceled,
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SendParams {
    content: Value,
    #[serde(default)]
    request_id: Value,
}

/// A request that waits for the end of its turn.
pub(super) struct PendingSend {
    pub(super) subscription: Box<Subscription>,
    turn_id: TurnId,
    message_id: MessageId,
    request_id: Value,
    /// What the agent has said in the turn.
    text: String,
}

/// Hands a message to an agent. When this returns, the message is on disk.
pub(super) async fn submit(
    context: &DoorContext,
    id: SessionId,
    call: &PoolCall,
    by: String,
) -> Result<PendingSend, PoolRpcError> {
    let SendParams { content, request_id } = call.params(&["content"])?;
    let Value::String(text) = content else {
        return Err(PoolRpcError::invalid_params("content must be string"));
    };
    let clock = context.engine.clock();
    let message_id = MessageId::new(clock.uuid());
    let made = || format!("{:016x}", message_id.uuid().as_u128() & u128::from(u64::MAX)).into();
    let request_id = if request_id.is_null() { made() } else { request_id };
    let key = idempotency_key(&request_id)?;
    // Followed before it is sent, so that nothing of its turn can be missed.
    let after = context.engine.view(id).await?.last_seq;
    let subscription = context.engine.subscribe(id, after).await?;
    let parts = vec![Part::text(text)];
    let command = Command::Submit(SubmitMessage {
        message: Message { id: message_id, role: Role::User, parts, created_at: clock.now() },
        turn_id: TurnId::new(clock.uuid()),
        delivery: Delivery::Queue,
        auto_run: Some(true),
        idempotency_key: Some(key),
        by,
    });
    let accepted = context.engine.submit(id, command).await?;
    let Accepted::Message { message_id: known, turn_id: Some(turn_id) } = accepted else {
        return Err(PoolRpcError::internal("the message was taken, but no turn answers it"));
    };
    let (message_id, is_new) = (known, known == message_id);
    // What was sent before may be under way, or over.
    let subscription = if is_new { subscription } else { context.engine.subscribe(id, 0).await? };
    let subscription = Box::new(subscription);
    Ok(PendingSend { subscription, turn_id, message_id, request_id, text: String::new() })
}

/// The key under which the message of a request is recorded.
pub(super) fn idempotency_key(request_id: &Value) -> Result<String, PoolRpcError> {
    match request_id {
        Value::String(text) if text.is_empty() => {
            Err(PoolRpcError::invalid_params("request_id cannot be empty"))
        }
        Value::String(text) if text.len() > MAX_REQUEST_ID => {
            Err(PoolRpcError::invalid_params(format!("request_id has more than {MAX_REQUEST_ID} bytes")))
        }
        Value::String(text) => Ok(format!("pool:text:{text}")),
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(format!("pool:number:{number}")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(PoolRpcError::invalid_params("request_id must be string or integer"))
        }
    }
}

impl PendingSend {
    /// Waits for the end of the turn.
    pub(super) async fn wait_for_outcome(mut self) -> Result<Value, PoolRpcError> {
        loop {
            match self.subscription.next().await {
                Ok(Some(item)) => {
                    if let Some(outcome) = self.handle_item(&item) {
                        return outcome;
                    }
                }
                Ok(None) => return Err(self.stopping_error()),
                Err(error) => return Err(self.engine_error(error)),
            }
        }
    }

    /// Looks at what happens in the session; the answer once the turn is over.
    pub(super) fn handle_item(&mut self, item: &SubscriptionItem) -> Option<Result<Value, PoolRpcError>> {
        let SubscriptionItem::Record(line) = item else { return None };
        if !line.name().is_some_and(|name| TURN_EVENTS.contains(&name)) {
            return None;
        }
        let record = match line.record() {
            Ok(record) => record,
            Err(error) => {
                return Some(Err(PoolRpcError::internal(format!("a record cannot be read: {error}"))));
            }
        };
        if record.turn_id != Some(self.turn_id) {
            return None;
        }
        match record.event {
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                self.text += &content(&message)
            }
            Event::Message(MessageEvent::Added { message, .. }) if message.role == Role::Assistant => {
                self.text += &content(&message);
            }
            Event::Message(MessageEvent::Withdrawn { message_id, .. }) if message_id == self.message_id => {
                return Some(Ok(self.canceled_result()));
            }
            Event::Turn(TurnEvent::Canceled { .. }) => return Some(Ok(self.canceled_result())),
            Event::Turn(TurnEvent::Completed { .. }) => {
                let content = std::mem::take(&mut self.text);
                return Some(Ok(json!({"content": content, "request_id": self.request_id})));
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => {
                let failed = PoolRpcError::failed(&error).with("request_id", self.request_id.clone());
                return Some(Err(failed.with("content", std::mem::take(&mut self.text).into())));
            }
            Event::Message(_)
            | Event::Turn(TurnEvent::Started { .. } | TurnEvent::Retried { .. })
            | Event::Session(_)
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Call(_)
            | Event::Approval(_)
            | Event::Workspace(_)
            | Event::Agent(_)
            | Event::Child(_) => {}
        }
        None
    }

    fn canceled_result(&self) -> Value {
        json!({"cancelled": true, "request_id": self.request_id})
    }

    /// The session has gone, or the daemon goes; the turn may go on without this request.
    pub(super) fn stopping_error(&self) -> PoolRpcError {
        let error = Failure {
            code: "shutting_down".to_owned(),
            message: "the daemon stops, and the turn is not over".to_owned(),
            hint: Some("send the same request_id again when the daemon is back".to_owned()),
        };
        PoolRpcError::failed(&error).with("request_id", self.request_id.clone())
    }

    pub(super) fn engine_error(&self, error: EngineError) -> PoolRpcError {
        PoolRpcError::from(error).with("request_id", self.request_id.clone())
    }
}
