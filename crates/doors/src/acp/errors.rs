//! What an editor is told when something is refused or fails.

use agent_client_protocol::v1::schema::Error;
use ostler_door_kit::failure;
use ostler_engine::EngineError;
use ostler_types::{Failure, Refusal, RefusalKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The codes of JSON-RPC, and the one that the protocol adds for what is not there.
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
const NOT_FOUND: i32 = -32002;

/// Bytes of a name that are repeated in an error.
const MAX_QUOTED_BYTES: usize = 100;

/// Reads what comes with a request.
pub(super) fn parse_params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params)
        .map_err(|error| invalid_params(format!("the parameters are not as they should be: {error}")))
}

/// The parameters are wrong.
pub(super) fn invalid_params(message: impl Into<String>) -> Error {
    Error::new(INVALID_PARAMS, message)
}

/// The line is wrong.
pub(super) fn bad_line(message: impl Into<String>) -> Error {
    Error::new(INVALID_REQUEST, message)
}

/// Nobody here knows this method.
pub(super) fn unknown_method(method: &str) -> Error {
    Error::new(METHOD_NOT_FOUND, format!("there is no method `{}`", quoted(method)))
}

/// There is no such session.
pub(super) fn session_not_found(given: &str) -> Error {
    Error::new(NOT_FOUND, format!("there is no session `{}`", quoted(given)))
        .data(json!({"code": "session_not_found", "hint": "session/list tells which there are"}))
}

/// Why the engine did not do what was asked.
pub(super) fn from_engine_error(error: EngineError) -> Error {
    match error {
        EngineError::Refused(refusal) => from_refusal(refusal),
        EngineError::NotFound => Error::new(NOT_FOUND, "there is no such session"),
        EngineError::BadCursor => invalid_params("the cursor is not one that this daemon gave out"),
        other @ (EngineError::Log(_)
        | EngineError::Index(_)
        | EngineError::Rebuilding
        | EngineError::ShuttingDown) => from_failure(&failure(other)),
    }
}

/// Why something was refused.
pub(super) fn from_refusal(Refusal { kind, code, message, hint }: Refusal) -> Error {
    let number = match kind {
        RefusalKind::NotFound => NOT_FOUND,
        RefusalKind::Conflict | RefusalKind::TooMany => INVALID_REQUEST,
        RefusalKind::Invalid | RefusalKind::TooLarge => INVALID_PARAMS,
    };
    Error::new(number, message).data(json!({"code": code, "hint": hint}))
}

/// How something failed.
pub(super) fn from_failure(Failure { code, message, hint }: &Failure) -> Error {
    Error::new(INTERNAL, message.clone()).data(json!({"code": code, "hint": hint}))
}

fn quoted(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_QUOTED_BYTES)]
}
