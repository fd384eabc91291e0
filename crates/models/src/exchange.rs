//! One request and its response, from the connection to the last event, for every provider alike.
//!
//! Every wait has an end. Dropping an exchange drops the response, which closes the connection. What
//! is asked, under which headers, and what the events mean is left to the protocols. Trying again is
//! left to the caller, who knows whether anything of the answer has been used.

mod recorded_response;
mod retry_after;
mod send;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use crate::failure::{self, ProviderPeer};
use crate::http::{HttpClientLease, HttpClients};
use crate::sse::SseDecoder;
use crate::{ModelError, ModelEvent, ProviderConfig, RawTrafficSink, raw_traffic};
pub(crate) use recorded_response::{RecordedResponse, replay_response};
pub(crate) use send::KeyHeader;

/// The largest response that is read.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// What a protocol makes of a response. It does no IO, and is asked for nothing after it stopped or
/// failed.
pub(crate) trait Decode: Default + Send + 'static {
    /// Takes one event of the stream, and adds what it means to `events`.
    fn event(&mut self, name: &str, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError>;

    /// Takes a whole answer, from a server that does not stream.
    fn whole(&mut self, body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError>;

    /// Ends the answer at the end of the stream. False if it is not whole.
    fn end(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<bool, ModelError>;

    /// Whether the last word has been said, so that only the usage may follow.
    fn finished(&self) -> bool;

    /// Whether nothing more is expected.
    fn stopped(&self) -> bool;
}

/// What is asked of whom.
#[derive(Clone)]
pub(crate) struct ExchangeRequest {
    pub(crate) provider: Arc<ProviderConfig>,
    pub(crate) url: Url,
    /// How the provider wants its key, which is found only when the question is sent.
    pub(crate) key_header: KeyHeader,
    /// What the protocol wants beside the key and the type of the body.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Is shown what goes over the wire.
    pub(crate) raw: Option<RawTrafficSink>,
}

/// Asks, once the stream is polled.
pub(crate) fn stream_exchange<D: Decode>(
    http: Arc<HttpClients>,
    question: ExchangeRequest,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    // Boxed because the stream moves its state with every event.
    let exchange = Box::new(Exchange::<D>::new(http, question));
    stream::unfold(
        exchange,
        |mut exchange| async move { exchange.next().await.map(|event| (event, exchange)) },
    )
    .boxed()
}

/// An exchange in progress. Nothing is sent before the first call of [`Exchange::next`].
struct Exchange<D> {
    peer: ProviderPeer,
    http: Arc<HttpClients>,
    raw: Option<RawTrafficSink>,
    /// The response's, once there is one.
    status: StatusCode,
    phase: ExchangePhase,
    decoder: D,
    /// Events that are decoded and not yet handed on; no more than one chunk brings.
    ready: VecDeque<ModelEvent>,
    /// What ended the exchange, told after the events that came before it.
    failed: Option<ModelError>,
}

enum ExchangePhase {
    Unsent(Box<ExchangeRequest>),
    ReadingBody(Box<OpenResponse>),
    Over,
}

struct OpenResponse {
    response: Response,
    /// Is given back when the response has been read or dropped.
    _lease: HttpClientLease,
    format: BodyFormat,
    received: usize,
    /// When the first byte must be here.
    first_byte: Instant,
    /// When the last byte must be here.
    last_byte: Instant,
}

/// What the body turns out to be.
enum BodyFormat {
    /// Nothing but white space so far.
    Unknown,
    Events(SseDecoder),
    /// A whole answer, from a server that does not stream.
    Whole(Vec<u8>),
}

impl<D: Decode> Exchange<D> {
    fn new(http: Arc<HttpClients>, question: ExchangeRequest) -> Exchange<D> {
        let (peer, raw) = (ProviderPeer::new(question.provider.clone()), question.raw.clone());
        let (phase, decoder) = (ExchangePhase::Unsent(Box::new(question)), D::default());
        let status = StatusCode::OK;
        Exchange { peer, http, raw, status, phase, decoder, ready: VecDeque::new(), failed: None }
    }

    /// The next event; none after an error or a stop.
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            let outcome = match std::mem::replace(&mut self.phase, ExchangePhase::Over) {
                ExchangePhase::Unsent(question) => self.send(&question).await.map(Some),
                ExchangePhase::ReadingBody(reading) => self.read(reading).await,
                ExchangePhase::Over => return None,
            };
            match outcome {
                Ok(Some(reading)) => self.phase = ExchangePhase::ReadingBody(reading),
                Ok(None) => {}
                Err(error) => self.failed = Some(error),
            }
        }
    }

    async fn send(&mut self, question: &ExchangeRequest) -> Result<Box<OpenResponse>, ModelError> {
        let (timeouts, now) = (self.http.timeouts, Instant::now());
        let (first_byte, last_byte) = (now + timeouts.first_byte, now + timeouts.total);
        let sent = send::send(&self.http, &mut self.peer, question, first_byte.min(last_byte)).await?;
        let (response, _lease) = (sent.response, sent.lease);
        self.status = response.status();
        if let Some(kind) = content_type(&response).filter(|kind| kind.starts_with("text/html")) {
            self.show_response("");
            let error = failure::unreadable(&format!("it is {kind}, not an answer"), "");
            return Err(failure::with_provider(&self.peer, error));
        }
        let format = BodyFormat::Unknown;
        Ok(Box::new(OpenResponse { response, _lease, format, received: 0, first_byte, last_byte }))
    }

    /// Reads one chunk. None when the exchange is over.
    async fn read(
        &mut self,
        mut reading: Box<OpenResponse>,
    ) -> Result<Option<Box<OpenResponse>>, ModelError> {
        let timeouts = self.http.timeouts;
        let (deadline, missed, limit) = if self.decoder.finished() {
            (Instant::now() + timeouts.after_last_word, "did not end its answer", timeouts.after_last_word)
        } else if reading.received == 0 {
            (reading.first_byte, "did not begin to answer", timeouts.first_byte)
        } else {
            (Instant::now() + timeouts.idle, "did not go on with its answer", timeouts.idle)
        };
        let chunk = match before_deadline(deadline.min(reading.last_byte), reading.response.chunk()).await {
            Some(Ok(Some(chunk))) => chunk,
            Some(Ok(None)) => return self.end(reading.format, None).map(|()| None),
            Some(Err(error)) => return self.end(reading.format, Some(error)).map(|()| None),
            None if self.decoder.finished() => return self.end(reading.format, None).map(|()| None),
            None if deadline > reading.last_byte => {
                return Err(failure::timed_out(&self.peer, "did not finish its answer", timeouts.total));
            }
            None => return Err(failure::timed_out(&self.peer, missed, limit)),
        };
        reading.received += chunk.len();
        if reading.received > MAX_RESPONSE_BYTES {
            let error = failure::unreadable("it is larger than 64 MiB", "");
            return Err(failure::with_provider(&self.peer, error));
        }
        self.take(&mut reading.format, &chunk)?;
        Ok((!self.decoder.stopped()).then_some(reading))
    }

    fn take(&mut self, format: &mut BodyFormat, chunk: &[u8]) -> Result<(), ModelError> {
        if matches!(format, BodyFormat::Unknown) {
            match chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
                // No event begins like that, and every JSON object does.
                Some(b'{') => *format = BodyFormat::Whole(Vec::new()),
                Some(_) => {
                    *format = BodyFormat::Events(SseDecoder::new());
                    self.show_response("");
                }
                None => return Ok(()),
            }
        }
        match format {
            BodyFormat::Unknown => Ok(()),
            BodyFormat::Whole(body) => {
                body.extend_from_slice(chunk);
                Ok(())
            }
            BodyFormat::Events(events) => {
                let Exchange { decoder, ready, raw, peer, .. } = self;
                let mut result = Ok(());
                let fits = events.push(chunk, |event| {
                    if result.is_ok() {
                        if let Some(sink) = raw {
                            raw_traffic::show_chunk(sink, &peer.hidden, &event);
                        }
                        result = decoder.event(&event.name, &event.data, ready);
                    }
                });
                let too_large = |_| failure::unreadable("one event of the stream is larger than 8 MiB", "");
                result.and(fits.map_err(too_large)).map_err(|error| failure::with_provider(&self.peer, error))
            }
        }
    }

    /// The body is over: by itself, or by an error of the connection.
    fn end(&mut self, format: BodyFormat, error: Option<reqwest::Error>) -> Result<(), ModelError> {
        let mut result = Ok(());
        match format {
            BodyFormat::Unknown => self.show_response(""),
            BodyFormat::Whole(body) => {
                let body = String::from_utf8_lossy(&body);
                self.show_response(&body);
                if error.is_none() {
                    result = self.decoder.whole(&body, &mut self.ready);
                }
            }
            BodyFormat::Events(mut events) => {
                let Exchange { decoder, ready, raw, peer, .. } = self;
                events.finish(|event| {
                    if let Some(sink) = raw {
                        raw_traffic::show_chunk(sink, &peer.hidden, &event);
                    }
                    result = decoder.event(&event.name, &event.data, ready);
                });
            }
        }
        let whole = result.and_then(|()| self.decoder.end(&mut self.ready));
        match (whole, error) {
            (Ok(true), _) => Ok(()),
            (Ok(false), Some(error)) => Err(failure::from_transport(&self.peer, error)),
            (Ok(false), None) => Err(failure::stream_cut(&self.peer, "the server closed the connection")),
            (Err(error), _) => Err(failure::with_provider(&self.peer, error)),
        }
    }

    /// Shows the head of the response, and its body unless that comes as a stream.
    fn show_response(&self, body: &str) {
        if let Some(sink) = &self.raw {
            raw_traffic::show_response(sink, &self.peer.hidden, self.status, body);
        }
    }
}

fn content_type(response: &Response) -> Option<&str> {
    response.headers().get(CONTENT_TYPE)?.to_str().ok()
}

async fn before_deadline<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    timeout_at(deadline, future).await.ok()
}

#[cfg(test)]
pub(crate) mod replay;
