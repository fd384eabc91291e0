//! What people say: submitting a message, changing one that waits, and taking one back.

use super::{check_label, refuse_if_closed, session_event, too_large, turn, turn_event};
use crate::{
    Accepted, CancelTurn, Decision, DecisionFacts, Delivery, Event, EventFor, Message, MessageEvent,
    MessageId, Part, Queued, Refusal, RefusalCode, RefusalKind, RequeueMessage, Role, State, StateLimits,
    SubmitMessage, TurnId,
};

/// Adds a message: at once when the session is idle, to the queue when a turn runs.
pub(super) fn submit(
    state: &State,
    submit: SubmitMessage,
    facts: &DecisionFacts,
) -> Result<Decision, Refusal> {
    let SubmitMessage { message, turn_id, delivery, auto_run, idempotency_key: key, by } = submit;
    if let Some((message_id, turn_id)) =
        earlier_submission(state, key.as_deref()).or_else(|| existing_message(state, message.id))
    {
        return Ok(Decision { events: Vec::new(), accepted: Accepted::Message { message_id, turn_id } });
    }
    check_submission(state, &message, key.as_deref())?;
    let message_id = message.id;
    // While a turn runs, a message waits for one of its own unless its sender asks for none.
    let runs = auto_run.unwrap_or(state.session.auto_run || state.turn.is_some());
    let (events, turn_id) = match &state.turn {
        None if runs => (start_turn_with(state, message, turn_id, key), Some(turn_id)),
        None => {
            (vec![session_event(Event::Message(MessageEvent::Added { message, idempotency_key: key }))], None)
        }
        Some(_) if !runs => {
            return Err(Refusal::conflict(
                RefusalCode::TurnRunning,
                "a turn is running; a message without a turn must wait",
            )
            .hint("send it with auto_run, or after the turn has ended"));
        }
        Some(running) => {
            let running = running.id;
            let queued = Queued { message, turn_id, delivery };
            let event = Event::Message(MessageEvent::Queued {
                queued: queued.clone(),
                idempotency_key: key,
                before: None,
            });
            let mut events = vec![turn_event(turn_id, event)];
            let answered_by = match delivery {
                Delivery::Queue => turn_id,
                Delivery::Steer => running,
                Delivery::Interrupt => {
                    events.extend(interrupt(state, queued, by, facts));
                    turn_id
                }
            };
            (events, Some(answered_by))
        }
    };
    Ok(Decision { events, accepted: Accepted::Message { message_id, turn_id } })
}

/// Takes a message back while it waits.
pub(super) fn withdraw(state: &State, message_id: MessageId, by: String) -> Result<Decision, Refusal> {
    let queued = &state.queue[queue_position(state, message_id)?];
    let event = Event::Message(MessageEvent::Withdrawn { message_id, by });
    Ok(Decision::done(vec![turn_event(queued.turn_id, event)]))
}

/// Changes a message while it waits: what it says, where it stands, how it is delivered.
pub(super) fn requeue(state: &State, requeue: RequeueMessage) -> Result<Decision, Refusal> {
    let RequeueMessage { message_id, turn_id, parts, delivery, before, by } = requeue;
    let place = queue_position(state, message_id)?;
    if delivery == Some(Delivery::Interrupt) {
        return Err(Refusal::invalid("delivery_not_allowed", "a message that waits cannot interrupt")
            .hint("withdraw it and send it again, or cancel the turn"));
    }
    let (old, after) = (&state.queue[place], state.queue.get(place + 1).map(|next| next.message.id));
    let before = match before {
        Some(Some(id)) if id != message_id => Some(check_queued(state, id)?),
        Some(None) => None,
        Some(Some(_)) | None => after,
    };
    let mut queued = old.clone();
    queued.message.parts = parts.unwrap_or(queued.message.parts);
    queued.delivery = delivery.unwrap_or(queued.delivery);
    check_message(&queued.message)?;
    let others = state.queue.iter().filter(|waiting| waiting.message.id != message_id);
    let bytes: usize = others.map(|waiting| waiting.message.size()).sum();
    if bytes + queued.message.size() > StateLimits::QUEUE_BYTES {
        return Err(queue_full());
    }
    if queued == *old && before == after {
        return Ok(Decision::unchanged());
    }
    let mut events = Vec::new();
    // Whoever waits for the turn that was set aside for it is told that there will be none.
    if queued.delivery != old.delivery {
        events.push(turn_event(old.turn_id, Event::Message(MessageEvent::Withdrawn { message_id, by })));
        queued.turn_id = turn_id;
    }
    let turn_id = queued.turn_id;
    events.push(turn_event(
        turn_id,
        Event::Message(MessageEvent::Queued { queued, idempotency_key: None, before }),
    ));
    Ok(Decision::done(events))
}

fn queue_position(state: &State, message_id: MessageId) -> Result<usize, Refusal> {
    state.queue.iter().position(|queued| queued.message.id == message_id).ok_or_else(|| {
        Refusal::not_found("message_not_queued", format!("message {message_id} is not in the queue"))
    })
}

/// The message that another is to stand before, which must wait too.
fn check_queued(state: &State, before: MessageId) -> Result<MessageId, Refusal> {
    let missing =
        |_| Refusal::conflict("before_not_queued", format!("message {before} is not in the queue any more"));
    queue_position(state, before).map(|_| before).map_err(missing)
}

/// The earlier outcome of a request with the same key.
fn earlier_submission(state: &State, key: Option<&str>) -> Option<(MessageId, Option<TurnId>)> {
    let key = key?;
    let (_, message_id, turn_id) = state.keys.iter().rev().find(|(known, ..)| known == key)?;
    Some((*message_id, *turn_id))
}

/// A message that is there already: the same request, made once more after its answer was lost.
fn existing_message(state: &State, id: MessageId) -> Option<(MessageId, Option<TurnId>)> {
    if state.unanswered.contains(&id) {
        return Some((id, None));
    }
    let queued = state.queue.iter().find(|queued| queued.message.id == id).map(|queued| queued.turn_id);
    let answered =
        || state.turns.iter().rev().find(|turn| turn.message_ids.contains(&id)).map(|turn| turn.id);
    queued.or_else(answered).map(|turn_id| (id, Some(turn_id)))
}

fn check_submission(state: &State, message: &Message, key: Option<&str>) -> Result<(), Refusal> {
    refuse_if_closed(state)?;
    check_label("idempotency_key", key)?;
    check_message(message)?;
    let queued: usize = state.queue.iter().map(|queued| queued.message.size()).sum();
    let full = state.queue.len() >= StateLimits::QUEUE || queued + message.size() > StateLimits::QUEUE_BYTES;
    if full || state.unanswered.len() >= StateLimits::UNANSWERED { Err(queue_full()) } else { Ok(()) }
}

fn queue_full() -> Refusal {
    Refusal::new(RefusalKind::TooMany, "queue_full", "too many messages wait in this session")
        .hint("wait for a turn to end, or withdraw a queued message")
}

/// Whether a client can say this.
fn check_message(message: &Message) -> Result<(), Refusal> {
    if !matches!(message.role, Role::User | Role::System) {
        return Err(Refusal::invalid("role_not_allowed", "a client can only speak as `user` or `system`"));
    }
    if message.parts.is_empty() {
        return Err(Refusal::invalid("empty_message", "a message needs at least one part"));
    }
    let sendable = |part: &Part| {
        matches!(part, Part::Text { .. } | Part::Image { .. } | Part::Audio { .. } | Part::File { .. })
    };
    if !message.parts.iter().all(sendable) {
        return Err(Refusal::invalid(
            "part_not_allowed",
            "a client can only send text, image, audio and file parts",
        ));
    }
    if message.size() > StateLimits::MESSAGE_BYTES {
        return Err(
            too_large("the message", StateLimits::MESSAGE_BYTES).hint("attach large content as a file")
        );
    }
    Ok(())
}

/// The message and its turn, in an idle session.
fn start_turn_with(state: &State, message: Message, turn_id: TurnId, key: Option<String>) -> Vec<EventFor> {
    let mut message_ids = state.unanswered.clone();
    message_ids.push(message.id);
    let added = turn_event(turn_id, Event::Message(MessageEvent::Added { message, idempotency_key: key }));
    vec![added, turn::turn_started(state, turn_id, message_ids)]
}

/// Cancels the running turn in favour of this message, which then runs before all others.
fn interrupt(state: &State, queued: Queued, by: String, facts: &DecisionFacts) -> Vec<EventFor> {
    let mut after = state.clone();
    after.queue.push_front(queued);
    let reason = Some("interrupted by a message".to_owned());
    turn::cancel(&after, CancelTurn { turn_id: None, by, reason }, facts).events
}
