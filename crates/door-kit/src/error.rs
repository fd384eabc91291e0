//! What doors answer when something is refused or fails: a status of HTTP, and a body
//! `{"error":{"code","message","hint"}}`. Doors of other wires take their own words from it.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ostler_engine::EngineError;
use ostler_eventlog::LogError;
use ostler_types::{Failure, Refusal, RefusalCode, RefusalKind};
use schemars::JsonSchema;
use serde::Serialize;

/// An answer that is not a success.
#[derive(Debug)]
pub struct DoorError {
    /// The status.
    pub status: StatusCode,
    /// The body.
    pub body: ErrorBody,
}

/// The body of every answer that is not a success.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorBody {
    #[expect(missing_docs, reason = "a doc comment would become a part of the OpenAPI document")]
    pub error: Failure,
}

impl DoorError {
    /// An answer without a hint.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> DoorError {
        let error = Failure { code: code.to_owned(), message: message.into(), hint: None };
        DoorError { status, body: ErrorBody { error } }
    }

    /// The same, and what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> DoorError {
        self.body.error.hint = Some(hint.into());
        self
    }

    /// The request cannot be understood.
    pub fn bad_request(code: &str, message: impl Into<String>) -> DoorError {
        DoorError::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The request names a session that is not there.
    pub fn no_session() -> DoorError {
        DoorError::new(StatusCode::NOT_FOUND, "session_not_found", "there is no such session")
    }
}

/// What a client of any door is told of an error.
pub fn failure(error: impl Into<DoorError>) -> Failure {
    error.into().body.error
}

/// Answers requests to paths that there are not.
pub(crate) fn no_such_path(hint: Option<&'static str>) -> DoorError {
    let error = DoorError::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path");
    hint.into_iter().fold(error, DoorError::hint)
}

/// Answers requests whose path takes other methods.
pub async fn wrong_method() -> DoorError {
    let message = "this path does not take this method";
    DoorError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
}

/// An extension of answers with a [`DoorError`] that has no hint: a door adds one that its own clients can follow.
#[derive(Debug, Clone)]
pub struct MissingHint(pub ErrorBody);

impl IntoResponse for DoorError {
    fn into_response(self) -> Response {
        let missing = self.body.error.hint.is_none().then(|| MissingHint(self.body.clone()));
        let mut response = (self.status, axum::Json(self.body)).into_response();
        if let Some(missing) = missing {
            response.extensions_mut().insert(missing);
        }
        response
    }
}

impl From<Refusal> for DoorError {
    fn from(refusal: Refusal) -> DoorError {
        let status = match refusal.kind {
            RefusalKind::NotFound => StatusCode::NOT_FOUND,
            RefusalKind::Conflict => StatusCode::CONFLICT,
            RefusalKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            RefusalKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            RefusalKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        };
        let error = Failure { code: refusal.code.into(), message: refusal.message, hint: refusal.hint };
        DoorError { status, body: ErrorBody { error } }
    }
}

impl From<EngineError> for DoorError {
    fn from(error: EngineError) -> DoorError {
        let unavailable = |code, hint: &str| {
            DoorError::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string()).hint(hint)
        };
        match &error {
            EngineError::NotFound => DoorError::no_session(),
            EngineError::Refused(refusal) => refusal.clone().into(),
            EngineError::Log(log) => from_log(log),
            EngineError::BadCursor => {
                DoorError::bad_request("bad_cursor", error.to_string()).hint("start again without a cursor")
            }
            EngineError::Index(_) => unavailable("index_unavailable", "run `ostler doctor --rebuild`"),
            EngineError::Rebuilding => unavailable("index_rebuilding", "try again in a moment"),
            EngineError::ShuttingDown => unavailable("shutting_down", "try again when the daemon is back"),
        }
    }
}

fn from_log(error: &LogError) -> DoorError {
    let message = error.to_string();
    let unavailable =
        |code, hint: &str| DoorError::new(StatusCode::SERVICE_UNAVAILABLE, code, message.clone()).hint(hint);
    match error {
        LogError::NotFound => DoorError::no_session(),
        LogError::Damaged { .. } => DoorError::new(StatusCode::CONFLICT, "log_damaged", message.clone())
            .hint("`ostler doctor` says more; `ostler doctor --salvage ID` keeps what is before the damage"),
        LogError::TooLarge { .. } => {
            DoorError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message.clone())
        }
        LogError::Full => unavailable("disk_full", "nothing was recorded; free some space and try again"),
        LogError::Io(_) => unavailable("disk_failed", "nothing was recorded; look at the disk and try again"),
        LogError::Conflict { .. } | LogError::Owned { .. } | LogError::Fenced => {
            unavailable("not_owner", "try again")
        }
        LogError::Lost => unavailable("not_known", "read the session to see whether it was recorded"),
        LogError::Exists => DoorError::new(StatusCode::CONFLICT, "file_exists", message.clone()),
        LogError::Taken { .. } => {
            DoorError::new(StatusCode::CONFLICT, RefusalCode::NameTaken.as_str(), message.clone())
        }
    }
}
