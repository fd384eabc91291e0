//! Chat: say something, read what was said, stop.

use ostler_engine::{Engine, EngineError};
use ostler_types::{
    Accepted, CancelTurn, Command, Delivery, Message, MessageId, Part, RefusalKind, Role, SessionChange,
    SessionId, SubmitMessage, TurnId,
};
use uuid::Uuid;

use super::{GatewayReply, NamedGatewaySession, engine_error, session_error};
use crate::gateway::frames::{GatewayOutcome, RpcError};
use crate::gateway::transcript::{label, messages};
use crate::gateway::{CALLER, GatewayState};

/// How often a run that is about to begin is tried to be caught.
const MAX_ABORT_ATTEMPTS: u32 = 3;

/// Says something. The run has the UUID of the turn that answers.
pub(super) async fn send(
    door: &GatewayState,
    session: SessionId,
    text: String,
) -> Result<GatewayReply, RpcError> {
    let of_session = |error| session_error(session, error);
    // Whoever sends gets what happens from here on, so this comes first.
    let view = door.engine.view(session).await.map_err(of_session)?;
    let named = NamedGatewaySession::from_view(&view);
    let clock = door.engine.clock();
    let (message_id, turn_id) = (MessageId::new(clock.uuid()), TurnId::new(clock.uuid()));
    let title = label(&text);
    let parts = vec![Part::text(text)];
    let command = Command::Submit(SubmitMessage {
        message: Message { id: message_id, role: Role::User, parts, created_at: clock.now() },
        turn_id,
        delivery: Delivery::Queue,
        auto_run: Some(true),
        idempotency_key: None,
        by: CALLER.to_owned(),
    });
    let accepted = door.engine.submit(session, command).await.map_err(of_session)?;
    // A message that was sent before has the turn that it was given then.
    let turn_id = if let Accepted::Message { turn_id: Some(known), .. } = accepted { known } else { turn_id };
    let run_id = turn_id.uuid();
    if view.session.title.is_none() && !title.is_empty() {
        // By itself: the run has begun, and what it says is held back until this is answered.
        door.tasks.spawn(set_title(door.engine.clone(), session, title));
    }
    Ok(GatewayReply { outcome: GatewayOutcome::Sent { run_id }, named: Some(named) })
}

/// Labels a session. The message is in, whether this succeeds or not.
async fn set_title(engine: Engine, session: SessionId, title: String) {
    let change = SessionChange { title: Some(title), ..SessionChange::default() };
    if let Err(error) = engine.submit(session, Command::Update(change)).await {
        tracing::debug!(%session, %error, "the session gets no label");
    }
}

/// The end of the conversation.
pub(super) async fn history(
    door: &GatewayState,
    session: SessionId,
    limit: usize,
) -> Result<GatewayReply, RpcError> {
    let of_session = |error| session_error(session, error);
    let view = door.engine.view(session).await.map_err(of_session)?;
    let messages = messages(&door.engine, &view, limit).await.map_err(of_session)?;
    Ok(GatewayReply {
        outcome: GatewayOutcome::History { messages },
        named: Some(NamedGatewaySession::from_view(&view)),
    })
}

/// Stops a run, or takes it back if it has not begun. No other run is touched, though the next may begin meanwhile.
pub(super) async fn abort(door: &GatewayState, run_id: Uuid) -> Result<GatewayReply, RpcError> {
    let turn_id = TurnId::new(run_id);
    let over = || RpcError::internal(format!("Run not found or already completed: {run_id}"));
    let session = door.engine.session_of_turn(turn_id).await.map_err(engine_error)?.ok_or_else(over)?;
    for _ in 0..MAX_ABORT_ATTEMPTS {
        let view = door.engine.view(session).await.map_err(engine_error)?;
        let by = CALLER.to_owned();
        let queued = view.queue.iter().find(|queued| queued.turn_id == turn_id);
        let command = match queued {
            Some(queued) => Command::Withdraw { message_id: queued.message.id, by },
            None => Command::Cancel(CancelTurn { turn_id: Some(turn_id), by, reason: None }),
        };
        match door.engine.submit(session, command).await {
            Ok(Accepted::Unchanged) => break,
            Ok(_) => return Ok(GatewayOutcome::Done { ok: true }.into()),
            // It has just begun.
            Err(EngineError::Refused(refusal)) if refusal.kind == RefusalKind::NotFound => {}
            Err(error) => return Err(engine_error(error)),
        }
    }
    Err(over())
}
