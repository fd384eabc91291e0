//! Sends messages over HTTP and takes the answers, none of them longer than a message may be. The SDK's own
//! client reads a body to its end, however long it is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::bounded_lines::MESSAGE_BYTES;
use crate::server_text::head;

const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// How much of a body that is no message an error quotes.
const QUOTED_BYTES: usize = 500;

/// A client that takes no more than a message may have.
#[derive(Clone)]
pub(crate) struct BoundedClient(pub(crate) Client);

type HttpClientFailure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpClientFailure> {
        let body = serde_json::to_vec(&message)?;
        let mut request = self.0.post(&*uri).headers(headers.into_iter().collect()).body(body);
        request = request.header(ACCEPT, [EVENTS, JSON].join(", ")).header(CONTENT_TYPE, JSON);
        if let Some(session) = session.as_deref() {
            request = request.header(SESSION, session);
        }
        let response = request.send().await?;
        parse_response(&message, session.is_some(), response).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpClientFailure> {
        self.0.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpClientFailure> {
        self.0
            .get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, MESSAGE_BYTES)
            .await
    }
}

/// What a response says to a message.
async fn parse_response(
    message: &ClientJsonRpcMessage,
    in_session: bool,
    response: Response,
) -> Result<StreamableHttpPostResponse, HttpClientFailure> {
    let status = response.status();
    match status {
        StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
        StatusCode::NOT_FOUND if in_session => return Err(StreamableHttpError::SessionExpired),
        _ => {}
    }
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let session = header(SESSION);
    if status.is_success() && header(CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(EVENTS)) {
        return Ok(StreamableHttpPostResponse::Sse(event_stream(response), session));
    }
    let body = read_bounded(response).await?;
    let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
    let text = String::from_utf8_lossy(&body);
    let unexpected = || {
        let text = format!("HTTP {status}: {}", head(&text, QUOTED_BYTES));
        StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
    };
    match (message, parsed) {
        (_, Ok(parsed)) if status.is_success() => Ok(StreamableHttpPostResponse::Json(parsed, session)),
        (_, _) if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Err(unexpected()),
        // A server that does not know the newest version answers in any way it likes; what is meant is that
        // the handshake is to be tried.
        (ClientJsonRpcMessage::Request(request), parsed)
            if status.is_client_error() && matches!(request.request, ClientRequest::DiscoverRequest(_)) =>
        {
            let error = match parsed {
                Ok(ServerJsonRpcMessage::Error(error)) => error.error,
                Ok(_) | Err(_) => ErrorData::invalid_request(unexpected().to_string(), None),
            };
            let told = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            Ok(StreamableHttpPostResponse::Json(told, session))
        }
        (_, Ok(told @ ServerJsonRpcMessage::Error(_))) => Ok(StreamableHttpPostResponse::Json(told, session)),
        (ClientJsonRpcMessage::Request(_), _) => Err(unexpected()),
        // Nobody waits for a body.
        (_, _) if status.is_success() => Ok(StreamableHttpPostResponse::Accepted),
        (_, _) => Err(unexpected()),
    }
}

async fn read_bounded(mut response: Response) -> Result<Vec<u8>, HttpClientFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MESSAGE_BYTES {
            return Err(too_long().into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn event_stream(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut event = EventLength::default();
    let bytes = response.bytes_stream().map_err(io::Error::other).map(move |chunk| {
        let chunk = chunk?;
        if event.add(&chunk) > MESSAGE_BYTES { Err(too_long()) } else { Ok(chunk) }
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

fn too_long() -> io::Error {
    io::Error::other(format!("the answer is longer than {} MiB", MESSAGE_BYTES / (1024 * 1024)))
}

/// How long the event is that is being received: what has come since the last empty line.
#[derive(Default)]
struct EventLength {
    event: usize,
    line: usize,
}

impl EventLength {
    /// Takes more bytes, and says how long the longest event in them is so far.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let mut longest = 0;
        for &byte in bytes {
            self.event += 1;
            longest = longest.max(self.event);
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::EventLength;

    #[test]
    fn events_are_measured_from_one_empty_line_to_the_next() {
        let mut event = EventLength::default();
        assert_eq!(event.add(b"data: 1\r\n\r\ndata"), 11);
        assert_eq!(event.add(b": 2\n"), 8);
        assert_eq!(event.add(b"\nid: 1\n"), 9);
        assert_eq!(event.add(&[b'x'; 100]), 106);
    }
}
