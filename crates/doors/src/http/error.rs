//! How refusals and failures look on this wire: a status, and
//! `{"error":{"code","message","hint"}}`.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ostler_engine::EngineError;
use ostler_eventlog::LogError;
use ostler_types::{Failure, Refusal, RefusalCode, RefusalKind};
use schemars::JsonSchema;
use serde::Serialize;

/// An answer that is not a success.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) body: ErrorBody,
}

/// The body of every answer that is not a success.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    pub(crate) error: Failure,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> ApiError {
        let error = Failure { code: code.to_owned(), message: message.into(), hint: None };
        ApiError { status, body: ErrorBody { error } }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> ApiError {
        self.body.error.hint = Some(hint.into());
        self
    }

    pub(crate) fn bad_request(code: &str, message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn no_session() -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "session_not_found", "there is no such session")
            .hint("GET /v1/sessions lists those that there are")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, axum::Json(self.body)).into_response()
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        let status = match refusal.kind {
            RefusalKind::NotFound => StatusCode::NOT_FOUND,
            RefusalKind::Conflict => StatusCode::CONFLICT,
            RefusalKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            RefusalKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            RefusalKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        };
        let hint = refusal.hint.or_else(|| route_for(refusal.code.as_str()).map(str::to_owned));
        let error = Failure { code: refusal.code.into(), message: refusal.message, hint };
        ApiError { status, body: ErrorBody { error } }
    }
}

/// Where a client of this wire finds what it should have named.
fn route_for(code: &str) -> Option<&'static str> {
    match code {
        "message_not_queued" => Some("it may have been delivered already; GET the session to see its queue"),
        "before_not_queued" => Some("GET the session to see its queue"),
        "not_waiting" => Some("GET /v1/approvals lists those that do"),
        "project_exists" | "project_not_found" => Some("GET /v1/projects lists those that there are"),
        _ => None,
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> ApiError {
        let unavailable = |code, hint: &str| {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string()).hint(hint)
        };
        match &error {
            EngineError::NotFound => ApiError::no_session(),
            EngineError::Refused(refusal) => refusal.clone().into(),
            EngineError::Log(log) => from_log(log),
            EngineError::BadCursor => {
                ApiError::bad_request("bad_cursor", error.to_string()).hint("start again without a cursor")
            }
            EngineError::Index(_) => unavailable("index_unavailable", "run `ostler doctor --rebuild`"),
            EngineError::Rebuilding => unavailable("index_rebuilding", "try again in a moment"),
            EngineError::ShuttingDown => unavailable("shutting_down", "try again when the daemon is back"),
        }
    }
}

fn from_log(error: &LogError) -> ApiError {
    let message = error.to_string();
    let unavailable =
        |code, hint: &str| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message.clone()).hint(hint);
    match error {
        LogError::NotFound => ApiError::no_session(),
        LogError::Damaged { .. } => ApiError::new(StatusCode::CONFLICT, "log_damaged", message.clone())
            .hint("`ostler doctor` says more; `ostler doctor --salvage ID` keeps what is before the damage"),
        LogError::TooLarge { .. } => {
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message.clone())
        }
        LogError::Full => unavailable("disk_full", "nothing was recorded; free some space and try again"),
        LogError::Io(_) => unavailable("disk_failed", "nothing was recorded; look at the disk and try again"),
        LogError::Conflict { .. } | LogError::Owned { .. } | LogError::Fenced => {
            unavailable("not_owner", "try again")
        }
        LogError::Lost => unavailable("not_known", "read the session to see whether it was recorded"),
        LogError::Exists => ApiError::new(StatusCode::CONFLICT, "file_exists", message.clone()),
        LogError::Taken { .. } => {
            ApiError::new(StatusCode::CONFLICT, RefusalCode::NameTaken.as_str(), message.clone())
        }
    }
}
