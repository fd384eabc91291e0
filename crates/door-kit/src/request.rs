//! What doors that are spoken to in requests of HTTP have in common: a body within its limits, and who sent it.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;

use crate::error::DoorError;

/// Bytes in a request's body.
pub const MAX_BODY: usize = 2 << 20;
/// How long a client may take to send it.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a body, within the limits of every request.
pub async fn read_body(request: Request) -> Result<bytes::Bytes, DoorError> {
    // A length that is told beforehand is refused before the first byte is waited for.
    if request.body().size_hint().lower() > MAX_BODY as u64 {
        return Err(body_too_large(MAX_BODY));
    }
    let body = Limited::new(request.into_body(), MAX_BODY).collect();
    let collected = tokio::time::timeout(BODY_TIMEOUT, body).await.map_err(|_| body_timed_out())?;
    collected.map(|body| body.to_bytes()).map_err(|error| unreadable_body(&*error, MAX_BODY))
}

/// Whether a body says that it is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json")
}

/// The answer to a body that took too long.
pub fn body_timed_out() -> DoorError {
    DoorError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body did not arrive in time")
}

/// The answer to a body that could not be read.
pub fn unreadable_body(error: &(dyn std::error::Error + Send + Sync + 'static), limit: usize) -> DoorError {
    if error.is::<LengthLimitError>() {
        body_too_large(limit)
    } else {
        DoorError::bad_request("bad_body", "the body could not be read to its end")
    }
}

/// The answer to a body beyond its limit.
pub fn body_too_large(limit: usize) -> DoorError {
    let message = format!("the body is larger than {limit} bytes");
    DoorError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
}

/// Who a request says it comes from, for the log: the page, or `http` and the program. A browser says
/// of which origin a page is, and those of others are turned away before.
pub fn caller(headers: &HeaderMap) -> String {
    if headers.contains_key("origin")
        || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
    {
        return "page".to_owned();
    }
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let program: String = agent.split_whitespace().next().unwrap_or_default().chars().take(64).collect();
    if program.is_empty() { "http".to_owned() } else { format!("http {program}") }
}
