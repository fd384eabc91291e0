//! Taking requests apart, with an error that says what was wrong and what was expected.

use std::time::Duration;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Limited};
use ostler_door_kit::{DoorError, body_timed_out, is_json, read_body, unreadable_body};
use serde::de::{Deserialize, DeserializeOwned, IgnoredAny};

/// How long a client may take to send a file.
const FILE_TIMEOUT: Duration = Duration::from_secs(120);

/// A JSON body.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = DoorError;

    async fn from_request(request: Request, _: &S) -> Result<Self, DoorError> {
        refuse_unless_json(request.headers())?;
        let bytes = read_body(request).await?;
        parse(&bytes).map(JsonBody)
    }
}

/// A JSON body that may be absent.
pub(super) struct OptionalJsonBody<T>(pub(super) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = DoorError;

    async fn from_request(request: Request, _: &S) -> Result<Self, DoorError> {
        let json = refuse_unless_json(request.headers());
        let bytes = read_body(request).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(OptionalJsonBody(T::default()));
        }
        json?;
        parse(&bytes).map(OptionalJsonBody)
    }
}

/// Parameters of the path. What cannot be an id names nothing.
pub(super) struct PathParams<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = DoorError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, DoorError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(ids)) => Ok(PathParams(ids)),
            Err(rejection) => {
                let message = format!("the path names nothing: {}", rejection_reason(&rejection));
                Err(DoorError::new(StatusCode::NOT_FOUND, "not_found", message)
                    .hint("ids are `sess_`, `turn_` or `msg_` and 32 lower-case hex digits"))
            }
        }
    }
}

/// What is wrong with a path, without repeating it, however long it is.
fn rejection_reason(rejection: &PathRejection) -> &str {
    let PathRejection::FailedToDeserializePathParams(failed) = rejection else { return "it has no ids" };
    let (ErrorKind::DeserializeError { message, .. } | ErrorKind::Message(message)) = failed.kind() else {
        return "it cannot be read";
    };
    message
}

/// Parameters of the query; unknown ones are refused, since they are most likely misspelt.
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = DoorError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, DoorError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(QueryParams(params)),
            Err(rejection) => {
                let message = rejection.body_text();
                let message =
                    message.strip_prefix("Failed to deserialize query string: ").unwrap_or(&message);
                Err(DoorError::bad_request("bad_query", format!("the query is not valid: {message}")))
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
) -> Result<Vec<u8>, DoorError> {
    let reading = async {
        let (mut body, mut whole) = (Limited::new(body, limit), Vec::with_capacity(expected));
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(|error| unreadable_body(&*error, limit))?.into_data() {
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole)
    };
    tokio::time::timeout(FILE_TIMEOUT, reading).await.map_err(|_| body_timed_out())?
}

/// A page of another origin can send other types without asking, so a body of those is not looked at.
fn refuse_unless_json(headers: &HeaderMap) -> Result<(), DoorError> {
    if is_json(headers) {
        return Ok(());
    }
    let message = "the body must be JSON, sent as `content-type: application/json`";
    Err(DoorError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message))
}

/// A struct could also be read from an array, by the order of its fields; that order is nobody's business.
pub(super) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DoorError> {
    let is_object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    match serde_json::from_slice(bytes) {
        Ok(body) if is_object => Ok(body),
        Ok(_) => Err(invalid_body("it must be an object")),
        // Not every mistake of the shape is told apart from one of the syntax, so that is looked at again.
        Err(error) if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() => {
            Err(invalid_body(&error.to_string()))
        }
        Err(error) => Err(DoorError::bad_request("malformed_json", format!("the body is not JSON: {error}"))),
    }
}

pub(super) fn invalid_body(what: &str) -> DoorError {
    let message = format!("the body does not have the right shape: {what}");
    DoorError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", message)
        .hint("/openapi.json describes it")
}
