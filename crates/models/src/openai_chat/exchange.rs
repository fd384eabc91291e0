//! One request and its response, from the connection to the last event.
//!
//! Every wait has an end. Dropping an exchange drops the response, which closes the connection. What
//! the bytes mean is left to the decoders.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Response, Url};
use tokio::time::{Instant, timeout_at};

use super::decode::Decoder;
use super::failure;
use crate::http::Http;
use crate::sse::SseDecoder;
use crate::{ModelError, ModelEvent, ProviderConfig};

/// The largest response that is read.
const MAX_RESPONSE: usize = 64 * 1024 * 1024;
/// How much is read of a response that only says what went wrong.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// An exchange in progress. Nothing is sent before the first call of [`Exchange::next`].
pub(super) struct Exchange {
    provider: Arc<ProviderConfig>,
    url: Url,
    http: Arc<Http>,
    phase: Phase,
    decoder: Decoder,
    /// Events that are decoded and not yet handed on; no more than one chunk brings.
    ready: VecDeque<ModelEvent>,
    /// What ended the exchange, told after the events that came before it.
    failed: Option<ModelError>,
}

enum Phase {
    Unsent(Vec<u8>),
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
    /// A whole completion, from a server that does not stream.
    Whole(Vec<u8>),
}

impl Exchange {
    pub(super) fn new(provider: Arc<ProviderConfig>, url: Url, http: Arc<Http>, body: Vec<u8>) -> Exchange {
        let (phase, decoder) = (Phase::Unsent(body), Decoder::default());
        Exchange { provider, url, http, phase, decoder, ready: VecDeque::new(), failed: None }
    }

    /// The next event; none after an error or a stop.
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            let outcome = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Unsent(body) => self.send(body).await.map(Some),
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

    async fn send(&mut self, body: Vec<u8>) -> Result<Box<Reading>, ModelError> {
        let (timeouts, now) = (self.http.timeouts, Instant::now());
        let (first_byte, last_byte) = (now + timeouts.first_byte, now + timeouts.whole);
        let client = self.http.client(&self.url).await?;
        let request = client.post(self.url.clone()).headers(headers(&self.provider)?).body(body).send();
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

fn headers(provider: &ProviderConfig) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = &provider.api_key {
        let value = HeaderValue::try_from(format!("Bearer {}", key.expose()));
        let mut value = value.map_err(|_| {
            let message =
                format!("the key of provider `{}` holds characters that no key can hold", provider.name);
            failure::of_provider(provider, ModelError::new("unauthorized", message))
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
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
mod tests;
