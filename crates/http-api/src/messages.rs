//! Messages and turns: say something, read what was said, run, retry, cancel.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ostler_door_kit::{DoorContext, DoorError, requester};
use ostler_engine::EngineError;
use ostler_types::{
    Accepted, CancelTurn, Command, Delivery, Message, MessageId, Part, Queued, Refusal, RequeueMessage, Role,
    SessionId, SubmitMessage, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Body, Ids, OptionalBody, Params};

/// Something to say.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageBody {
    /// Who says it.
    role: Speaker,
    /// What is said.
    #[schemars(length(min = 1))]
    parts: Vec<InputPart>,
    /// Whether to answer it now; the session's own setting when absent.
    auto_run: Option<bool>,
    /// What to do when a turn is running.
    delivery: Option<Delivery>,
    /// Asking twice with one key adds one message.
    idempotency_key: Option<String>,
}

/// Who a client can speak as.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    User,
    System,
}

/// A piece of a message, as a client sends it.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum InputPart {
    Text { text: String },
    Image(Attached),
    Audio(Attached),
    File(Attached),
}

/// A file that was attached before.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Attached {
    /// Where it lies: `attachments/NAME`.
    #[serde(rename = "ref")]
    reference: String,
    /// Not looked at: the type is told from the content.
    #[serde(default, rename = "mime_type")]
    _mime_type: Option<String>,
}

/// The message is in.
#[derive(Serialize, JsonSchema)]
pub(super) struct Sent {
    message_id: MessageId,
    /// The turn that answers it; null when none was asked for.
    turn_id: Option<TurnId>,
}

pub(super) async fn send(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    headers: HeaderMap,
    Body(body): Body<MessageBody>,
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
        parts.push(checked(&context, id, part).await?);
    }
    let command = Command::Submit(SubmitMessage {
        message: Message { id: message_id, role, parts, created_at },
        turn_id,
        delivery: body.delivery.unwrap_or_default(),
        auto_run: body.auto_run,
        idempotency_key: body.idempotency_key,
        by: requester(&headers),
    });
    let sent = match context.engine.submit(id, command).await? {
        Accepted::Message { message_id, turn_id } => Sent { message_id, turn_id },
        _ => Sent { message_id, turn_id: None },
    };
    Ok((StatusCode::ACCEPTED, Json(sent)))
}

/// Where to read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PageParams {
    /// Messages before this place, as given in the page after it.
    before: Option<u64>,
    /// How many at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

/// Some messages, oldest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Page {
    messages: Vec<Message>,
    /// Pass this as `before` for the page before; null on the first one.
    before: Option<u64>,
}

pub(super) async fn list(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    Params(params): Params<PageParams>,
) -> Result<Json<Page>, DoorError> {
    let limit = match params.limit {
        None => 50,
        Some(limit @ 1..=200) => limit as usize,
        Some(_) => return Err(DoorError::bad_request("bad_query", "`limit` must be from 1 to 200")),
    };
    let page = context.engine.messages(id, params.before, limit).await?;
    Ok(Json(Page { messages: page.messages, before: page.before }))
}

/// What waits for its turn.
#[derive(Serialize, JsonSchema)]
pub(super) struct Queue {
    queue: Vec<Queued>,
}

pub(super) async fn queue(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
) -> Result<Json<Queue>, DoorError> {
    Ok(Json(Queue { queue: context.engine.view(id).await?.queue }))
}

/// What is to change of a message that waits; what is absent stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueuedBody {
    /// What it says now.
    #[schemars(length(min = 1))]
    parts: Option<Vec<InputPart>>,
    /// Whether it waits for a turn of its own or goes to the running one.
    delivery: Option<Waits>,
    /// The waiting message that it is to stand before; null puts it last.
    #[serde(default, deserialize_with = "super::sessions::given")]
    before: Option<Option<MessageId>>,
}

/// How a message that waits can be delivered.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Waits {
    /// It is a turn of its own.
    Queue,
    /// The model gets it before its next step.
    Steer,
}

pub(super) async fn requeue(
    State(context): State<DoorContext>,
    Ids((id, message_id)): Ids<(SessionId, MessageId)>,
    headers: HeaderMap,
    Body(body): Body<QueuedBody>,
) -> Result<Json<Queue>, DoorError> {
    let parts = match body.parts {
        Some(given) => {
            let mut parts = Vec::new();
            for part in given {
                parts.push(checked(&context, id, part).await?);
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
    let (before, by) = (body.before, requester(&headers));
    context
        .engine
        .submit(id, Command::Requeue(RequeueMessage { message_id, turn_id, parts, delivery, before, by }))
        .await?;
    queue(State(context), Ids(id)).await
}

/// The message is taken back.
#[derive(Serialize, JsonSchema)]
pub(super) struct Withdrawn {
    message_id: MessageId,
}

pub(super) async fn withdraw(
    State(context): State<DoorContext>,
    Ids((id, message_id)): Ids<(SessionId, MessageId)>,
    headers: HeaderMap,
) -> Result<Json<Withdrawn>, DoorError> {
    context.engine.submit(id, Command::Withdraw { message_id, by: requester(&headers) }).await?;
    Ok(Json(Withdrawn { message_id }))
}

/// The turn begins.
#[derive(Serialize, JsonSchema)]
pub(super) struct Started {
    pub(super) turn_id: TurnId,
}

pub(super) async fn run(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::Run { turn_id }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}

pub(super) async fn retry(
    State(context): State<DoorContext>,
    Ids((id, retry_of)): Ids<(SessionId, TurnId)>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::Retry { retry_of, turn_id }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}

/// What to stop, and why.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CancelBody {
    /// The turn that is meant. Only this one is stopped; whichever runs when absent.
    turn_id: Option<TurnId>,
    /// Shown to everybody who looks on.
    reason: Option<String>,
}

/// Whether there was anything to stop.
#[derive(Serialize, JsonSchema)]
pub(super) struct Canceled {
    canceled: bool,
}

pub(super) async fn cancel(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody<CancelBody>,
) -> Result<Json<Canceled>, DoorError> {
    let CancelBody { turn_id, reason } = body;
    let command = Command::Cancel(CancelTurn { turn_id, by: requester(&headers), reason });
    let accepted = context.engine.submit(id, command).await?;
    Ok(Json(Canceled { canceled: accepted != Accepted::Unchanged }))
}

/// A part as it is kept. A reference must name a file that is there, and the part is of the kind that
/// its bytes are: what is called a picture or a sound and is none is a file.
async fn checked(context: &DoorContext, id: SessionId, part: InputPart) -> Result<Part, DoorError> {
    Ok(match part {
        InputPart::Text { text } => Part::Text { text },
        InputPart::Image(Attached { reference, .. }) => {
            let (reference, mime_type) = stored(context, id, reference).await?;
            if mime_type.starts_with("image/") {
                Part::Image { reference, mime_type }
            } else {
                Part::File { reference, mime_type }
            }
        }
        InputPart::Audio(Attached { reference, .. }) => {
            let (reference, mime_type) = stored(context, id, reference).await?;
            if mime_type.starts_with("audio/") {
                Part::Audio { reference, mime_type }
            } else {
                Part::File { reference, mime_type }
            }
        }
        InputPart::File(Attached { reference, .. }) => {
            let (reference, mime_type) = stored(context, id, reference).await?;
            Part::File { reference, mime_type }
        }
    })
}

/// The reference of an attachment that is there, and what its bytes are.
async fn stored(
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
