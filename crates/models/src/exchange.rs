//! One request and its response, from the connection to the last event, for every provider alike.
//!
//! Every wait has an end. Dropping an exchange drops the response, which closes the connection. What
//! is asked, under which headers, and what the events mean is left to the protocols. Trying again is
//! left to the caller, who knows whether anything of the answer has been used.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Response, Url};
use tokio::time::{Instant, timeout_at};

use crate::failure;
use crate::http::Http;
use crate::sse::SseDecoder;
use crate::{ModelError, ModelEvent, ProviderConfig};

/// The largest response that is read.
const MAX_RESPONSE: usize = 64 * 1024 * 1024;
/// How much is read of a response that only says what went wrong.
const MAX_ERROR_BODY: usize = 64 * 1024;

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
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) provider: Arc<ProviderConfig>,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Asks, once the stream is polled.
pub(crate) fn ask<D: Decode>(
    http: Arc<Http>,
    question: Question,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    // Boxed because the stream moves its state with every event.
    let exchange = Box::new(Exchange::<D>::new(http, question));
    stream::unfold(
        exchange,
        |mut exchange| async move { exchange.next().await.map(|event| (event, exchange)) },
    )
    .boxed()
}

/// The headers that every protocol wants, and the key under this name, written as it is to be sent.
pub(crate) fn headers(
    provider: &ProviderConfig,
    key_header: HeaderName,
    key: Option<String>,
) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = key {
        let mut value = HeaderValue::try_from(key).map_err(|_| {
            let message =
                format!("the key of provider `{}` holds characters that no key can hold", provider.name);
            failure::of_provider(provider, ModelError::new("unauthorized", message))
        })?;
        value.set_sensitive(true);
        headers.insert(key_header, value);
    }
    Ok(headers)
}

/// An exchange in progress. Nothing is sent before the first call of [`Exchange::next`].
struct Exchange<D> {
    provider: Arc<ProviderConfig>,
    url: Url,
    http: Arc<Http>,
    phase: Phase,
    decoder: D,
    /// Events that are decoded and not yet handed on; no more than one chunk brings.
    ready: VecDeque<ModelEvent>,
    /// What ended the exchange, told after the events that came before it.
    failed: Option<ModelError>,
}

enum Phase {
    Unsent(HeaderMap, Vec<u8>),
    Reading(Box<Reading>),
    Over,
}

struct Reading {
    response: Response,
    format: Format,
    received: usize,
    /// When the first byte must be here.
    first_byte: Instant,
    /// When the last byte must be here.
    last_byte: Instant,
}

/// What the body turns out to be.
enum Format {
    /// Nothing but white space so far.
    Unknown,
    Events(SseDecoder),
    /// A whole answer, from a server that does not stream.
    Whole(Vec<u8>),
}

impl<D: Decode> Exchange<D> {
    fn new(http: Arc<Http>, question: Question) -> Exchange<D> {
        let Question { provider, url, headers, body } = question;
        let (phase, decoder) = (Phase::Unsent(headers, body), D::default());
        Exchange { provider, url, http, phase, decoder, ready: VecDeque::new(), failed: None }
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
            let outcome = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Unsent(headers, body) => self.send(headers, body).await.map(Some),
                Phase::Reading(reading) => self.read(reading).await,
                Phase::Over => return None,
            };
            match outcome {
                Ok(Some(reading)) => self.phase = Phase::Reading(reading),
                Ok(None) => {}
                Err(error) => self.failed = Some(error),
            }
        }
    }

    async fn send(&mut self, headers: HeaderMap, body: Vec<u8>) -> Result<Box<Reading>, ModelError> {
        let (timeouts, now) = (self.http.timeouts, Instant::now());
        let (first_byte, last_byte) = (now + timeouts.first_byte, now + timeouts.whole);
        let client = self.http.client(&self.url).await?;
        let request = client.post(self.url.clone()).headers(headers).body(body).send();
        let response = match within(first_byte, request).await {
            Some(response) => response.map_err(|error| failure::of_transport(&self.provider, error))?,
            None => {
                return Err(failure::timed_out(
                    &self.provider,
                    "did not begin to answer",
                    timeouts.first_byte,
                ));
            }
        };
        if !response.status().is_success() {
            return Err(
                refused(&self.provider, response, first_byte.min(Instant::now() + timeouts.idle)).await
            );
        }
        if let Some(kind) = content_type(&response).filter(|kind| kind.starts_with("text/html")) {
            let error = failure::unreadable(&format!("it is {kind}, not an answer"), "");
            return Err(failure::of_provider(&self.provider, error));
        }
        Ok(Box::new(Reading { response, format: Format::Unknown, received: 0, first_byte, last_byte }))
    }

    /// Reads one chunk. None when the exchange is over.
    async fn read(&mut self, mut reading: Box<Reading>) -> Result<Option<Box<Reading>>, ModelError> {
        let timeouts = self.http.timeouts;
        let (deadline, missed, limit) = if self.decoder.finished() {
            (Instant::now() + timeouts.tail, "did not end its answer", timeouts.tail)
        } else if reading.received == 0 {
            (reading.first_byte, "did not begin to answer", timeouts.first_byte)
        } else {
            (Instant::now() + timeouts.idle, "did not go on with its answer", timeouts.idle)
        };
        let chunk = match within(deadline.min(reading.last_byte), reading.response.chunk()).await {
            Some(Ok(Some(chunk))) => chunk,
            Some(Ok(None)) => return self.end(reading.format, None).map(|()| None),
            Some(Err(error)) => return self.end(reading.format, Some(error)).map(|()| None),
            None if self.decoder.finished() => return self.end(reading.format, None).map(|()| None),
            None if deadline > reading.last_byte => {
                return Err(failure::timed_out(&self.provider, "did not finish its answer", timeouts.whole));
            }
            None => return Err(failure::timed_out(&self.provider, missed, limit)),
        };
        reading.received += chunk.len();
        if reading.received > MAX_RESPONSE {
            let error = failure::unreadable("it is larger than 64 MiB", "");
            return Err(failure::of_provider(&self.provider, error));
        }
        self.take(&mut reading.format, &chunk)?;
        Ok((!self.decoder.stopped()).then_some(reading))
    }

    fn take(&mut self, format: &mut Format, chunk: &[u8]) -> Result<(), ModelError> {
        if matches!(format, Format::Unknown) {
            match chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
                // No event begins like that, and every JSON object does.
                Some(b'{') => *format = Format::Whole(Vec::new()),
                Some(_) => *format = Format::Events(SseDecoder::new()),
                None => return Ok(()),
            }
        }
        match format {
            Format::Unknown => Ok(()),
            Format::Whole(body) => {
                body.extend_from_slice(chunk);
                Ok(())
            }
            Format::Events(events) => {
                let Exchange { decoder, ready, .. } = self;
                let mut result = Ok(());
                let fits = events.push(chunk, |event| {
                    if result.is_ok() {
                        result = decoder.event(&event.name, &event.data, ready);
                    }
                });
                let too_large = |_| failure::unreadable("one event of the stream is larger than 8 MiB", "");
                result
                    .and(fits.map_err(too_large))
                    .map_err(|error| failure::of_provider(&self.provider, error))
            }
        }
    }

    /// The body is over: by itself, or by an error of the connection.
    fn end(&mut self, format: Format, error: Option<reqwest::Error>) -> Result<(), ModelError> {
        let Exchange { decoder, ready, provider, .. } = self;
        let mut result = Ok(());
        match format {
            Format::Unknown => {}
            Format::Whole(body) if error.is_none() => {
                result = decoder.whole(&String::from_utf8_lossy(&body), ready)
            }
            Format::Whole(_) => {}
            Format::Events(mut events) => {
                events.finish(|event| result = decoder.event(&event.name, &event.data, ready));
            }
        }
        let whole = result.and_then(|()| decoder.end(ready));
        match (whole, error) {
            (Ok(true), _) => Ok(()),
            (Ok(false), Some(error)) => Err(failure::of_transport(provider, error)),
            (Ok(false), None) => Err(failure::cut(provider, "the server closed the connection")),
            (Err(error), _) => Err(failure::of_provider(provider, error)),
        }
    }
}

fn content_type(response: &Response) -> Option<&str> {
    response.headers().get(CONTENT_TYPE)?.to_str().ok()
}

/// Words an answer other than 2xx; as much of its body as comes in time is quoted.
async fn refused(provider: &ProviderConfig, mut response: Response, deadline: Instant) -> ModelError {
    let mut body = Vec::new();
    while let Some(Ok(Some(chunk))) = within(deadline, response.chunk()).await {
        body.extend_from_slice(&chunk);
        if body.len() >= MAX_ERROR_BODY {
            body.truncate(MAX_ERROR_BODY);
            break;
        }
    }
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    failure::of_status(provider, response.status(), retry_after, &String::from_utf8_lossy(&body))
}

async fn within<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    timeout_at(deadline, future).await.ok()
}

#[cfg(test)]
pub(crate) mod replay;
