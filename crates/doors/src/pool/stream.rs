//! `send` with `Accept: text/event-stream`: the session's events as they come, framed as the http door frames
//! them, and at last the response, as an event called `result`.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use ostler_door_kit::{AccessGrant, Framing};
use ostler_engine::SubscriptionItem;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::json_rpc::{PoolCall, PoolRpcError, response_object};
use super::send::PendingSend;

/// How often a silent stream shows that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Bytes that are put into one chunk.
const CHUNK: usize = 64 << 10;

/// A stream in the making.
struct SendEventStream {
    waiting: PendingSend,
    /// What the response answers to.
    id: Value,
    pass: AccessGrant,
    done: bool,
}

/// The answer that streams.
pub(super) fn respond(waiting: PendingSend, call: PoolCall, pass: AccessGrant) -> Response {
    let events = SendEventStream { waiting, id: call.id.unwrap_or(Value::Null), pass, done: false };
    let chunks = stream::unfold(events, |mut events| async move {
        let chunk = events.next_chunk().await?;
        Some((Ok::<Bytes, Infallible>(chunk), events))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let kind = HeaderValue::from_static(Framing::Sse.content_type());
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl SendEventStream {
    /// All that is ready, or the next thing that comes; `None` once the result has been given out.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        let mut chunk = BytesMut::new();
        while !self.done && chunk.len() < CHUNK {
            match self.waiting.subscription.ready().await {
                Ok(Some(item)) => self.append_item(&mut chunk, &item),
                Ok(None) if !chunk.is_empty() => break,
                Ok(None) => self.wait_for_item(&mut chunk).await,
                Err(error) => {
                    let error = self.waiting.engine_error(error);
                    self.finish(&mut chunk, Err(error));
                }
            }
        }
        (!chunk.is_empty()).then(|| chunk.freeze())
    }

    /// Waits for something to happen. A token that was replaced opens nothing any more.
    async fn wait_for_item(&mut self, chunk: &mut BytesMut) {
        let silence = tokio::time::sleep_until(Instant::now() + HEARTBEAT);
        let next = tokio::select! {
            next = self.waiting.subscription.next() => next,
            () = silence => {
                self.done = !self.pass.is_valid();
                let last_seq = self.waiting.subscription.seen();
                let data = json!({"type": "heartbeat", "data": {"last_seq": last_seq}}).to_string().into();
                return Framing::Sse.append_event(chunk, None, Some("heartbeat"), &data);
            }
        };
        match next {
            Ok(Some(item)) => self.append_item(chunk, &item),
            Ok(None) => {
                let error = self.waiting.stopping_error();
                self.finish(chunk, Err(error));
            }
            Err(error) => {
                let error = self.waiting.engine_error(error);
                self.finish(chunk, Err(error));
            }
        }
    }

    fn append_item(&mut self, chunk: &mut BytesMut, item: &SubscriptionItem) {
        match item {
            SubscriptionItem::Record(line) => {
                Framing::Sse.append_event(chunk, Some(line.seq), Some(line.event_type()), &line.bytes)
            }
            SubscriptionItem::Delta(line) => {
                Framing::Sse.append_event(chunk, None, Some(line.name()), line.bytes())
            }
        }
        if let Some(outcome) = self.waiting.handle_item(item) {
            self.finish(chunk, outcome);
        }
    }

    fn finish(&mut self, chunk: &mut BytesMut, outcome: Result<Value, PoolRpcError>) {
        let data = response_object(&self.id, outcome).to_string().into();
        Framing::Sse.append_event(chunk, None, Some("result"), &data);
        self.done = true;
    }
}
