//! Event streams: one session's, or everybody's. A chunk holds all that is ready, so a burst costs
//! one write; between two chunks nothing is held but the subscription's bounded queue.

use std::borrow::Cow;
use std::collections::HashSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use ostler_door_kit::{AccessGrant, DoorContext, DoorError, Framing};
use ostler_engine::{EngineError, FeedItem, FeedSubscription, Subscription, SubscriptionItem};
use ostler_eventlog::FeedPosition;
use ostler_types::SessionId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::extract::{PathParams, QueryParams};

/// How often a silent stream shows that it is alive. As data, since page code cannot see comments.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often a stream asks whether its client may still be there.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Bytes that are put into one chunk.
const CHUNK: usize = 64 * 1024;

/// Where to start, and what to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionEventParams {
    /// Go on after this seq.
    after: Option<u64>,
    /// Whether to stay for what is to come; true when absent.
    follow: Option<bool>,
    /// Only events of these names, separated by commas.
    types: Option<String>,
    /// Whether server-sent events have their name in an `event:` line too; false when absent.
    named: Option<bool>,
}

/// Where to start, and what to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FeedParams {
    /// Go on after this cursor; `start` is the very beginning. Without it, only what is to come.
    after: Option<String>,
    /// Only events of these names, separated by commas.
    types: Option<String>,
    /// Whether server-sent events have their name in an `event:` line too; false when absent.
    named: Option<bool>,
}

pub(super) async fn session_events(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    QueryParams(params): QueryParams<SessionEventParams>,
    Extension(pass): Extension<AccessGrant>,
    headers: HeaderMap,
) -> Result<Response, DoorError> {
    let after = last_event_id(&headers)?.or(params.after).unwrap_or(0);
    let subscription = context.engine.subscribe(id, after).await?;
    let follow = params.follow.unwrap_or(true);
    let source = EventSource::Session { id, subscription: Box::new(subscription), follow };
    let shape = FrameShape::new(&headers, params.types.as_deref(), params.named);
    Ok(respond(&context, source, pass, shape))
}

pub(super) async fn feed_events(
    State(context): State<DoorContext>,
    QueryParams(params): QueryParams<FeedParams>,
    Extension(pass): Extension<AccessGrant>,
    headers: HeaderMap,
) -> Result<Response, DoorError> {
    let after = match (last_event_id(&headers)?, params.after.as_deref()) {
        (Some(position), _) => Some(FeedPosition(position)),
        (None, Some("start")) => Some(FeedPosition(0)),
        (None, Some(cursor)) => Some(FeedPosition(parse_cursor(cursor)?)),
        (None, None) => None,
    };
    let subscription = context.engine.subscribe_all(after)?;
    let shape = FrameShape::new(&headers, params.types.as_deref(), params.named);
    Ok(respond(&context, EventSource::All(Box::new(subscription)), pass, shape))
}

/// Which events a client wants, and how they are written.
struct FrameShape {
    framing: Framing,
    /// The names of the events that are shown; all when absent.
    types: Option<HashSet<String>>,
    /// Whether a frame has its name in an `event:` line.
    named: bool,
}

impl FrameShape {
    fn new(headers: &HeaderMap, types: Option<&str>, named: Option<bool>) -> FrameShape {
        let types = types.map(|types| types.split(',').map(|name| name.trim().to_owned()).collect());
        FrameShape { framing: Framing::from_accept_header(headers), types, named: named.unwrap_or(false) }
    }
}

/// A stream in the making.
struct HttpEventStream {
    source: EventSource,
    shape: FrameShape,
    stopping: watch::Receiver<bool>,
    /// What the client was let in with, and when that was last looked at.
    pass: AccessGrant,
    checked: Instant,
    /// When the client last got something.
    sent: Instant,
    /// The first chunk goes out at once, so that the client knows that it is connected.
    greeted: bool,
    done: bool,
}

enum EventSource {
    Session { id: SessionId, subscription: Box<Subscription>, follow: bool },
    All(Box<FeedSubscription>),
}

/// Something to put into a chunk.
struct EventFrame {
    id: Option<u64>,
    name: Cow<'static, str>,
    data: Bytes,
}

fn respond(context: &DoorContext, source: EventSource, pass: AccessGrant, shape: FrameShape) -> Response {
    let content_type = shape.framing.content_type();
    let stopping = context.engine.stopping();
    let now = Instant::now();
    let events = HttpEventStream {
        source,
        shape,
        stopping,
        pass,
        checked: now,
        sent: now,
        greeted: false,
        done: false,
    };
    let chunks = stream::unfold(events, |mut events| async move {
        let chunk = events.next_chunk().await?;
        Some((Ok::<Bytes, Infallible>(chunk), events))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let kind = header::HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.headers_mut().insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    response
}

impl HttpEventStream {
    /// All that is ready, or the next thing that comes; `None` when the stream is over.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        let mut chunk = BytesMut::new();
        self.check_pass();
        while !self.done && chunk.len() < CHUNK {
            match self.source.ready().await {
                Ok(Some(frame)) => self.append_frame(&mut chunk, &frame),
                Ok(None) if self.source.is_over() => self.done = true,
                Ok(None) if !chunk.is_empty() => break,
                Ok(None) if !self.greeted => self.append_frame(&mut chunk, &self.source.heartbeat()),
                Ok(None) => self.wait_for_frame(&mut chunk).await,
                Err(error) => self.fail(&mut chunk, error),
            }
            self.greeted |= !chunk.is_empty();
        }
        self.sent = Instant::now();
        (!chunk.is_empty()).then(|| chunk.freeze())
    }

    /// Ends the stream of a client whose token was replaced.
    fn check_pass(&mut self) {
        if self.checked.elapsed() >= CHECK_EVERY {
            self.checked = Instant::now();
            self.done |= !self.pass.is_valid();
        }
    }

    /// Waits for something to happen; too long a silence is broken by a heartbeat.
    async fn wait_for_frame(&mut self, chunk: &mut BytesMut) {
        let frame = tokio::select! {
            frame = self.source.next() => frame,
            () = tokio::time::sleep_until(self.sent + HEARTBEAT) => Ok(Some(self.source.heartbeat())),
            // A session's own stream ends with its actor, so that it shows how the turn ended.
            _ = self.stopping.wait_for(|stopping| *stopping), if self.source.is_all() => Ok(None),
        };
        match frame {
            Ok(Some(frame)) => self.append_frame(chunk, &frame),
            Ok(None) => self.done = true,
            Err(error) => self.fail(chunk, error),
        }
    }

    fn append_frame(&self, chunk: &mut BytesMut, frame: &EventFrame) {
        let wanted = self.shape.types.as_ref().is_none_or(|types| types.contains(&*frame.name));
        if wanted || matches!(&*frame.name, "heartbeat" | "error") {
            let name = self.shape.named.then_some(&*frame.name);
            self.shape.framing.append_event(chunk, frame.id, name, &frame.data);
        }
    }

    /// Says why the stream ends, in the stream.
    fn fail(&mut self, chunk: &mut BytesMut, error: EngineError) {
        let body = DoorError::from(error).body;
        let data = json!({"type": "error", "data": body}).to_string().into();
        self.append_frame(chunk, &EventFrame { id: None, name: "error".into(), data });
        self.done = true;
    }
}

impl EventSource {
    async fn next(&mut self) -> Result<Option<EventFrame>, EngineError> {
        match self {
            EventSource::Session { subscription, .. } => Ok(subscription.next().await?.map(from_item)),
            EventSource::All(subscription) => subscription.next().await.map(|item| Some(from_feed(item))),
        }
    }

    async fn ready(&mut self) -> Result<Option<EventFrame>, EngineError> {
        match self {
            EventSource::Session { subscription, .. } => Ok(subscription.ready().await?.map(from_item)),
            EventSource::All(subscription) => Ok(subscription.ready().await?.map(from_feed)),
        }
    }

    /// Whether the client asked for history only, and has it.
    fn is_over(&self) -> bool {
        match self {
            EventSource::Session { subscription, follow, .. } => !follow && subscription.is_live(),
            EventSource::All(_) => false,
        }
    }

    fn is_all(&self) -> bool {
        match self {
            EventSource::Session { .. } => false,
            EventSource::All(_) => true,
        }
    }

    fn heartbeat(&self) -> EventFrame {
        let data = match self {
            EventSource::Session { id, subscription, .. } => {
                json!({"type": "heartbeat", "session_id": id, "data": {"last_seq": subscription.seen()}})
            }
            EventSource::All(subscription) => {
                json!({"type": "heartbeat", "data": {"cursor": subscription.position().0.to_string()}})
            }
        };
        EventFrame { id: None, name: "heartbeat".into(), data: data.to_string().into() }
    }
}

fn from_item(item: SubscriptionItem) -> EventFrame {
    match item {
        SubscriptionItem::Record(line) => EventFrame {
            id: Some(line.seq),
            name: line.event_type().to_owned().into(),
            data: line.bytes.clone(),
        },
        SubscriptionItem::Delta(line) => {
            EventFrame { id: None, name: line.name().into(), data: line.bytes().clone() }
        }
    }
}

fn from_feed(item: FeedItem) -> EventFrame {
    match item {
        FeedItem::Record(record) => {
            let name = record.line.event_type().to_owned().into();
            EventFrame { id: Some(record.next.0), name, data: record.line.bytes }
        }
        FeedItem::Delta(line) => {
            EventFrame { id: None, name: line.name().into(), data: line.bytes().clone() }
        }
    }
}

/// The cursor of a browser that reconnects. It is newer than the one in the address.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, DoorError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().map_err(|_| bad_cursor())?;
    if text.is_empty() { Ok(None) } else { parse_cursor(text).map(Some) }
}

fn parse_cursor(text: &str) -> Result<u64, DoorError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(bad_cursor)
}

fn bad_cursor() -> DoorError {
    DoorError::bad_request("bad_cursor", "the cursor is not one that this daemon gave out")
        .hint("start again without a cursor")
}
