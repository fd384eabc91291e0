//! JSON-RPC 2.0, as much of it as this door speaks: one request a body, parameters by name. What the methods
//! mean is left to the others.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ostler_door_kit::DoorError;
use ostler_engine::EngineError;
use ostler_types::{Failure, Refusal, RefusalKind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A request, or a notification if it has no id.
#[derive(Debug, PartialEq)]
pub(super) struct PoolCall {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// An answer that is not a result.
#[derive(Debug, PartialEq)]
pub(super) struct PoolRpcError {
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
/// What was asked is right, but the agent cannot do it now, or its turn failed.
const SERVER_ERROR: i32 = -32000;

impl PoolCall {
    /// Takes a body apart. On an error, also the id to answer to: null where there is none to be seen.
    pub(super) fn parse(body: &[u8]) -> Result<PoolCall, Box<(Value, PoolRpcError)>> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| (Value::Null, PoolRpcError::new(PARSE_ERROR, format!("Parse error: {error}"))))
            .map_err(Box::new)?;
        let mut members = match value {
            Value::Object(members) => members,
            Value::Array(_) => {
                let message = "batches are not supported; send each request in a body of its own";
                return Err(Box::new((Value::Null, PoolRpcError::invalid_request(message))));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(Box::new((
                    Value::Null,
                    PoolRpcError::invalid_request("Request must be a JSON object"),
                )));
            }
        };
        let id = members.remove("id");
        if id.as_ref().is_some_and(|id| !(id.is_string() || id.is_number() || id.is_null())) {
            let error = PoolRpcError::invalid_request("id must be a string, a number or null");
            return Err(Box::new((Value::Null, error)));
        }
        let refused = |message: &str| {
            Box::new((id.clone().unwrap_or(Value::Null), PoolRpcError::invalid_request(message)))
        };
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(refused("jsonrpc must be \"2.0\""));
        }
        let method = members.remove("method").as_ref().and_then(Value::as_str).map(str::to_owned);
        let method = method.filter(|method| !method.is_empty());
        let method = method.ok_or_else(|| refused("method must be a non-empty string"))?;
        let params = match members.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(Value::Array(_)) => {
                return Err(refused("Positional params (array) not supported, use named params (object)"));
            }
            Some(_) => return Err(refused("params must be an object")),
        };
        Ok(PoolCall { id, method, params })
    }

    /// The parameters, of which these must be there.
    pub(super) fn params<T: DeserializeOwned>(&self, required: &[&str]) -> Result<T, PoolRpcError> {
        for name in required {
            if self.params.get(*name).is_none_or(Value::is_null) {
                return Err(PoolRpcError::invalid_params(format!("Missing required parameter: {name}")));
            }
        }
        serde_json::from_value(Value::Object(self.params.clone()))
            .map_err(|error| PoolRpcError::invalid_params(format!("Invalid params: {error}")))
    }
}

impl PoolRpcError {
    fn new(code: i32, message: impl Into<String>) -> PoolRpcError {
        PoolRpcError { code, message: message.into(), data: None }
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> PoolRpcError {
        PoolRpcError::new(INVALID_REQUEST, message)
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> PoolRpcError {
        PoolRpcError::new(INVALID_PARAMS, message)
    }

    pub(super) fn unknown_method(method: &str) -> PoolRpcError {
        let method: String = method.chars().take(128).collect();
        PoolRpcError::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    pub(super) fn internal(message: impl Into<String>) -> PoolRpcError {
        PoolRpcError::new(INTERNAL_ERROR, message)
    }

    /// The agent cannot, and this is why.
    pub(super) fn failed(failure: &Failure) -> PoolRpcError {
        let data = json!({"code": failure.code, "hint": failure.hint});
        PoolRpcError { code: SERVER_ERROR, message: failure.message.clone(), data: Some(data) }
    }

    /// Adds to what programs are told.
    pub(super) fn with(mut self, name: &str, value: Value) -> PoolRpcError {
        let data = self.data.get_or_insert_with(|| json!({}));
        data[name] = value;
        self
    }
}

impl From<Refusal> for PoolRpcError {
    fn from(refusal: Refusal) -> PoolRpcError {
        let Refusal { kind, code, message, hint } = refusal;
        match kind {
            RefusalKind::Invalid | RefusalKind::TooLarge => PoolRpcError::invalid_params(message)
                .with("code", code.as_str().into())
                .with("hint", hint.into()),
            RefusalKind::NotFound | RefusalKind::Conflict | RefusalKind::TooMany => {
                PoolRpcError::failed(&Failure { code: code.into(), message, hint })
            }
        }
    }
}

impl From<EngineError> for PoolRpcError {
    fn from(error: EngineError) -> PoolRpcError {
        let EngineError::Refused(refusal) = error else { return DoorError::from(error).into() };
        refusal.into()
    }
}

impl From<DoorError> for PoolRpcError {
    fn from(error: DoorError) -> PoolRpcError {
        let failure = error.body.error;
        match error.status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY | StatusCode::PAYLOAD_TOO_LARGE => {
                PoolRpcError::invalid_params(failure.message)
                    .with("code", failure.code.into())
                    .with("hint", failure.hint.into())
            }
            _ => PoolRpcError::failed(&failure),
        }
    }
}

/// The answer to a call. A notification is told nothing, whatever came of it.
pub(super) fn to_http_response(id: Option<&Value>, result: Result<Value, PoolRpcError>) -> Response {
    match id {
        Some(id) => axum::Json(response_object(id, result)).into_response(),
        None => StatusCode::OK.into_response(),
    }
}

/// The answer to what is no call.
pub(super) fn error_response(status: StatusCode, id: &Value, error: PoolRpcError) -> Response {
    (status, axum::Json(response_object(id, Err(error)))).into_response()
}

/// A response object.
pub(super) fn response_object(id: &Value, result: Result<Value, PoolRpcError>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(PoolRpcError { code, message, data: None }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
        Err(PoolRpcError { code, message, data }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}})
        }
    }
}
