//! Sending a question: the key is found at the last moment, and looked for once more when it is refused.
//!
//! A refusal is worded here, with as much of the server's own words as come in time. Reading an answer
//! is left to the exchange.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, StatusCode};
use tokio::time::Instant;

use super::retry_after::requested_wait;
use super::{ExchangeRequest, before_deadline};
use crate::failure::{self, ProviderPeer, RefusedResponse};
use crate::http::{HttpClientLease, HttpClients};
use crate::raw_traffic;
use crate::secret::{KeyFreshness, Secret};
use crate::{ModelError, RawTrafficSink};

/// How much is read of a response that only says what went wrong.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// How a protocol wants its key.
#[derive(Debug, Clone)]
pub(crate) struct KeyHeader {
    pub(crate) name: HeaderName,
    /// What stands before the key.
    pub(crate) prefix: &'static str,
}

/// The head of a 2xx response, and the place that it takes among the connections.
pub(super) struct AcceptedResponse {
    pub(super) response: Response,
    pub(super) lease: HttpClientLease,
}

/// Sends the question, and waits for the head of its answer until `deadline`. When the key is refused and
/// another one can be found, it is sent once more with that one.
pub(super) async fn send(
    http: &HttpClients,
    peer: &mut ProviderPeer,
    question: &ExchangeRequest,
    deadline: Instant,
) -> Result<AcceptedResponse, ModelError> {
    let key = find_key(peer, KeyFreshness::Any, deadline).await?;
    let refusal = match attempt(http, peer, question, key.as_ref(), deadline).await {
        Ok(sent) => return Ok(sent),
        Err(refusal) => refusal,
    };
    let Some(old) = key.filter(|_| refusal.wants_key && peer.provider.api_key.can_change()) else {
        return Err(refusal.error);
    };
    let new = find_key(peer, KeyFreshness::Replacing(old.clone()), deadline).await?;
    if new.as_ref() == Some(&old) {
        return Err(refusal.error);
    }
    attempt(http, peer, question, new.as_ref(), deadline).await.map_err(|refusal| refusal.error)
}

struct SendRefusal {
    error: ModelError,
    /// Whether another key could help.
    wants_key: bool,
}

impl From<ModelError> for SendRefusal {
    fn from(error: ModelError) -> SendRefusal {
        SendRefusal { error, wants_key: false }
    }
}

/// From here on the key is hidden in whatever is shown of the exchange.
async fn find_key(
    peer: &mut ProviderPeer,
    fresh: KeyFreshness,
    deadline: Instant,
) -> Result<Option<Secret>, ModelError> {
    let found = before_deadline(deadline, peer.provider.api_key.find(fresh)).await;
    let key = found.unwrap_or_else(|| {
        let name = &peer.provider.name;
        let message = format!("no key for provider `{name}` was found in time");
        let place = peer.provider.key_source_text();
        let hint = format!("check where the key of [providers.{name}] comes from: {place}");
        Err(ModelError::new("unauthorized", message).hint(hint))
    })?;
    if let Some(key) = &key {
        peer.hidden.add(key.clone());
    }
    Ok(key)
}

async fn attempt(
    http: &HttpClients,
    peer: &ProviderPeer,
    question: &ExchangeRequest,
    key: Option<&Secret>,
    deadline: Instant,
) -> Result<AcceptedResponse, SendRefusal> {
    let ExchangeRequest { url, body, raw, .. } = question;
    let headers = headers(peer, question, key)?;
    let lease = http.lease_client(url).await?;
    if let Some(sink) = raw {
        raw_traffic::show_request(sink, &peer.hidden, url, body);
    }
    let request = lease.post(url.clone()).headers(headers).body(body.clone()).send();
    let response = match before_deadline(deadline, request).await {
        Some(response) => response.map_err(|error| failure::from_transport(peer, error))?,
        None => {
            return Err(failure::timed_out(peer, "did not begin to answer", http.timeouts.first_byte).into());
        }
    };
    if response.status().is_success() {
        return Ok(AcceptedResponse { response, lease });
    }
    let wants_key = response.status() == StatusCode::UNAUTHORIZED;
    let deadline = deadline.min(Instant::now() + http.timeouts.idle);
    Err(SendRefusal { error: refused(peer, response, raw.as_ref(), deadline).await, wants_key })
}

/// The headers that every protocol wants, its own, and the key.
fn headers(
    peer: &ProviderPeer,
    question: &ExchangeRequest,
    key: Option<&Secret>,
) -> Result<HeaderMap, ModelError> {
    let mut headers = question.headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = key {
        let KeyHeader { name, prefix } = &question.key_header;
        let mut value = HeaderValue::try_from(format!("{prefix}{}", key.expose())).map_err(|_| {
            let message = "the key holds characters that no key can hold";
            failure::with_provider(peer, ModelError::new("unauthorized", message))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Words an answer other than 2xx; as much of its body as comes in time is quoted.
async fn refused(
    peer: &ProviderPeer,
    mut response: Response,
    raw: Option<&RawTrafficSink>,
    deadline: Instant,
) -> ModelError {
    let mut body = Vec::new();
    while let Some(Ok(Some(chunk))) = before_deadline(deadline, response.chunk()).await {
        body.extend_from_slice(&chunk);
        if body.len() >= MAX_ERROR_BODY {
            body.truncate(MAX_ERROR_BODY);
            break;
        }
    }
    let body = String::from_utf8_lossy(&body);
    if let Some(sink) = raw {
        raw_traffic::show_response(sink, &peer.hidden, response.status(), &body);
    }
    let (status, headers) = (response.status(), response.headers());
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let refused = RefusedResponse { status, retry_after: requested_wait(headers), location, body: &body };
    failure::from_status(peer, &refused)
}
