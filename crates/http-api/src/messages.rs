//! Messages and turns: say something, read what was said, run, retry, cancel.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ostler_api_types::{
    AttachmentReference, CancelRequest, Canceled, ChangeQueued, InputPart, MessagePage, MessageQueue,
    MessageWithdrawn, SendMessage, Sent, Speaker, Started, Waits,
};
use ostler_door_kit::{DoorContext, DoorError, caller};
use ostler_engine::EngineError;
use ostler_types::{
    Accepted, CancelTurn, Command, Delivery, Message, MessageId, Part, Refusal, RequeueMessage, Role,
    SessionId, SubmitMessage, TurnId,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{JsonBody, OptionalJsonBody, PathParams, QueryParams};

pub(super) async fn send(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<SendMessage>,
) -> Result<(StatusCode, Json<Sent>), DoorError> {
    let clock = context.engine.clock();
    let (message_id, turn_id) = (MessageId::new(clock.uuid()), TurnId::new(clock.uuid()));
    let created_at = clock.now();
    let role = match body.role {
        Speaker::User => Role::User,
        Speaker::System => Role::System,
    };
    let mut parts = Vec::new();
    for part in body.parts {
        parts.push(checked_part(&context, id, part).await?);
    }
    let command = Command::Submit(SubmitMessage {
        message: Message { id: message_id, role, parts, created_at },
        turn_id,
        delivery: body.delivery.unwrap_or_default(),
        auto_run: body.auto_run,
        idempotency_key: body.idempotency_key,
        by: caller(&headers),
    });
    let mut sent = Sent { message_id, turn_id: None };
    if let Accepted::Message { message_id, turn_id } = context.engine.submit(id, command).await? {
        sent = Sent { message_id, turn_id };
    }
    Ok((StatusCode::ACCEPTED, Json(sent)))
}

/// Where to read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessagePageParams {
    /// Messages before this place, as given in the page after it.
    before: Option<u64>,
    /// How many at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

pub(super) async fn list(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    QueryParams(params): QueryParams<MessagePageParams>,
) -> Result<Json<MessagePage>, DoorError> {
    let limit = match params.limit {
        None => 50,
        Some(limit @ 1..=200) => limit as usize,
        Some(_) => return Err(DoorError::bad_request("bad_query", "`limit` must be from 1 to 200")),
    };
    let page = context.engine.messages(id, params.before, limit).await?;
    Ok(Json(MessagePage { messages: page.messages, before: page.before }))
}

pub(super) async fn queue(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
) -> Result<Json<MessageQueue>, DoorError> {
    Ok(Json(MessageQueue { queue: context.engine.view(id).await?.queue }))
}

pub(super) async fn requeue(
    State(context): State<DoorContext>,
    PathParams((id, message_id)): PathParams<(SessionId, MessageId)>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<ChangeQueued>,
) -> Result<Json<MessageQueue>, DoorError> {
    let parts = match body.parts {
        Some(given) => {
            let mut parts = Vec::new();
            for part in given {
                parts.push(checked_part(&context, id, part).await?);
            }
            Some(parts)
        }
        None => None,
    };
    let delivery = body.delivery.map(|waits| match waits {
        Waits::Queue => Delivery::Queue,
        Waits::Steer => Delivery::Steer,
    });
    let turn_id = TurnId::new(context.engine.clock().uuid());
    let (before, by) = (body.before, caller(&headers));
    context
        .engine
        .submit(id, Command::Requeue(RequeueMessage { message_id, turn_id, parts, delivery, before, by }))
        .await?;
    queue(State(context), PathParams(id)).await
}

pub(super) async fn withdraw(
    State(context): State<DoorContext>,
    PathParams((id, message_id)): PathParams<(SessionId, MessageId)>,
    headers: HeaderMap,
) -> Result<Json<MessageWithdrawn>, DoorError> {
    context.engine.submit(id, Command::Withdraw { message_id, by: caller(&headers) }).await?;
    Ok(Json(MessageWithdrawn { message_id }))
}

pub(super) async fn run(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::Run { turn_id }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}

pub(super) async fn retry(
    State(context): State<DoorContext>,
    PathParams((id, retry_of)): PathParams<(SessionId, TurnId)>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::Retry { retry_of, turn_id }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}

pub(super) async fn cancel(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    headers: HeaderMap,
    OptionalJsonBody(body): OptionalJsonBody<CancelRequest>,
) -> Result<Json<Canceled>, DoorError> {
    let CancelRequest { turn_id, reason } = body;
    let command = Command::Cancel(CancelTurn { turn_id, by: caller(&headers), reason });
    let accepted = context.engine.submit(id, command).await?;
    Ok(Json(Canceled { canceled: accepted != Accepted::Unchanged }))
}

/// A part as it is kept. A reference must name a file that is there, and the part is of the kind that
/// its bytes are: what is called a picture or a sound and is none is a file.
async fn checked_part(context: &DoorContext, id: SessionId, part: InputPart) -> Result<Part, DoorError> {
    Ok(match part {
        InputPart::Text { text } => Part::Text { text },
        InputPart::Image(AttachmentReference { reference, .. }) => {
            let (reference, mime_type) = stored_attachment(context, id, reference).await?;
            if mime_type.starts_with("image/") {
                Part::Image { reference, mime_type }
            } else {
                Part::File { reference, mime_type }
            }
        }
        InputPart::Audio(AttachmentReference { reference, .. }) => {
            let (reference, mime_type) = stored_attachment(context, id, reference).await?;
            if mime_type.starts_with("audio/") {
                Part::Audio { reference, mime_type }
            } else {
                Part::File { reference, mime_type }
            }
        }
        InputPart::File(AttachmentReference { reference, .. }) => {
            let (reference, mime_type) = stored_attachment(context, id, reference).await?;
            Part::File { reference, mime_type }
        }
    })
}

/// The reference of an attachment that is there, and what its bytes are.
async fn stored_attachment(
    context: &DoorContext,
    id: SessionId,
    reference: String,
) -> Result<(String, String), DoorError> {
    let name = reference.strip_prefix("attachments/").unwrap_or_default();
    match context.engine.get_attachment(id, name).await {
        Ok(open) => Ok((reference, open.file.mime_type.to_owned())),
        Err(EngineError::Refused(_)) => {
            let message = format!("this session has no attachment `{}`", reference.escape_debug());
            Err(Refusal::invalid("unknown_attachment", message)
                .hint("POST the file to the session's attachments first, and use the `ref` of the answer")
                .into())
        }
        Err(error) => Err(error.into()),
    }
}
