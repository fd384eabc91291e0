//! Taking requests apart, with an error that says what was wrong and what was expected.

use std::time::Duration;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde::de::{Deserialize, DeserializeOwned, IgnoredAny};

use super::error::ApiError;

/// Bytes in a request's body.
pub(super) const MAX_BODY: usize = 2 << 20;
/// How long a client may take to send it.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to send a file.
const FILE_TIMEOUT: Duration = Duration::from_secs(120);

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        refuse_unless_json(request.headers())?;
        let bytes = read(request).await?;
        parse(&bytes).map(Body)
    }
}

/// A JSON body that may be absent.
pub(super) struct OptionalBody<T>(pub(super) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let json = refuse_unless_json(request.headers());
        let bytes = read(request).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(OptionalBody(T::default()));
        }
        json?;
        parse(&bytes).map(OptionalBody)
    }
}

/// Parameters of the path. What cannot be an id names nothing.
pub(super) struct Ids<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Ids<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(ids)) => Ok(Ids(ids)),
            Err(rejection) => {
                let message = format!("the path names nothing: {}", why(&rejection));
                Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", message)
                    .hint("ids are `sess_`, `turn_` or `msg_` and 32 lower-case hex digits"))
            }
        }
    }
}

/// What is wrong with a path, without repeating it, however long it is.
fn why(rejection: &PathRejection) -> &str {
    let PathRejection::FailedToDeserializePathParams(failed) = rejection else { return "it has no ids" };
    match failed.kind() {
        ErrorKind::DeserializeError { message, .. } | ErrorKind::Message(message) => message,
        _ => "it cannot be read",
    }
}

/// Parameters of the query; unknown ones are refused, since they are most likely misspelt.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Params(params)),
            Err(rejection) => {
                let message = rejection.body_text();
                let message =
                    message.strip_prefix("Failed to deserialize query string: ").unwrap_or(&message);
                Err(ApiError::bad_request("bad_query", format!("the query is not valid: {message}")))
            }
        }
    }
}

/// Reads a body that may be larger than others into one piece, in which it can be taken apart without a
/// copy. `expected` is how long it most likely is.
pub(super) async fn read_whole(
    body: axum::body::Body,
    limit: usize,
    expected: usize,
) -> Result<Vec<u8>, ApiError> {
    let reading = async {
        let (mut body, mut whole) = (Limited::new(body, limit), Vec::with_capacity(expected));
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(|error| unreadable(&*error, limit))?.into_data() {
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole)
    };
    tokio::time::timeout(FILE_TIMEOUT, reading).await.map_err(|_| late())?
}

/// Whether a body says that it is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json")
}

/// A page of another origin can send other types without asking, so a body of those is not looked at.
fn refuse_unless_json(headers: &HeaderMap) -> Result<(), ApiError> {
    if is_json(headers) {
        return Ok(());
    }
    let message = "the body must be JSON, sent as `content-type: application/json`";
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message))
}

/// Reads a body, within the limits of every request.
pub(crate) async fn read(request: Request) -> Result<bytes::Bytes, ApiError> {
    // A length that is told beforehand is refused before the first byte is waited for.
    if request.body().size_hint().lower() > MAX_BODY as u64 {
        return Err(too_large(MAX_BODY));
    }
    let body = Limited::new(request.into_body(), MAX_BODY).collect();
    let collected = tokio::time::timeout(BODY_TIMEOUT, body).await.map_err(|_| late())?;
    collected.map(|body| body.to_bytes()).map_err(|error| unreadable(&*error, MAX_BODY))
}

pub(super) fn late() -> ApiError {
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body did not arrive in time")
}

pub(super) fn unreadable(error: &(dyn std::error::Error + Send + Sync + 'static), limit: usize) -> ApiError {
    if error.is::<LengthLimitError>() {
        too_large(limit)
    } else {
        ApiError::bad_request("bad_body", "the body could not be read to its end")
    }
}

pub(super) fn too_large(limit: usize) -> ApiError {
    let message = format!("the body is larger than {limit} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
}

/// A struct could also be read from an array, by the order of its fields; that order is nobody's business.
pub(super) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ApiError> {
    let is_object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    match serde_json::from_slice(bytes) {
        Ok(body) if is_object => Ok(body),
        Ok(_) => Err(invalid("it must be an object")),
        // Not every mistake of the shape is told apart from one of the syntax, so that is looked at again.
        Err(error) if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() => Err(invalid(&error.to_string())),
        Err(error) => Err(ApiError::bad_request("malformed_json", format!("the body is not JSON: {error}"))),
    }
}

pub(super) fn invalid(what: &str) -> ApiError {
    let message = format!("the body does not have the right shape: {what}");
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", message)
        .hint("/openapi.json describes it")
}
