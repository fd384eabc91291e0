//! Lines of the protocol: JSON-RPC 2.0, one message a line. Reading bytes and matching answers to requests is
//! left to whoever holds the connection.

use agent_client_protocol::v1::schema::{Error, RequestId};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What the other side sent.
#[derive(Debug, Clone, PartialEq)]
pub enum AcpIncoming {
    /// It wants an answer.
    Request {
        /// What the answer is to be named by.
        id: RequestId,
        /// What it wants.
        method: String,
        /// The particulars.
        params: Value,
    },
    /// It tells something.
    Notification {
        /// What.
        method: String,
        /// The particulars.
        params: Value,
    },
    /// It answers one of our requests.
    Answer {
        /// Which.
        id: RequestId,
        /// With what.
        outcome: Result<Value, Error>,
    },
}

/// A line that is no message.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpLineError {
    /// What the sender is to be told under. None where it must not be told, because its line was an answer.
    pub id: Option<RequestId>,
    /// What it is to be told.
    pub error: Box<Error>,
}

/// Reads a line.
pub fn parse(line: &str) -> Result<AcpIncoming, AcpLineError> {
    let value: Value =
        serde_json::from_str(line).map_err(|error| line_error(Some(RequestId::Null), parse_error(&error)))?;
    let Value::Object(mut members) = value else {
        return Err(line_error(Some(RequestId::Null), invalid_request("a message is one JSON object")));
    };
    let id = members.remove("id").map(serde_json::from_value::<RequestId>);
    let params = members.remove("params").unwrap_or(Value::Null);
    match (id, members.remove("method")) {
        (None, Some(Value::String(method))) => Ok(AcpIncoming::Notification { method, params }),
        (Some(Ok(id)), Some(Value::String(method))) => Ok(AcpIncoming::Request { id, method, params }),
        (Some(Ok(id)), None) => parse_answer(id, members),
        (Some(Ok(id)), Some(_)) => Err(line_error(Some(id), invalid_request("`method` is a string"))),
        (Some(Err(_)), Some(_)) => {
            Err(line_error(Some(RequestId::Null), invalid_request("`id` is a string or a whole number")))
        }
        (Some(Err(_)), None) => Err(line_error(None, invalid_request("an answer has the id of its request"))),
        (None, _) => {
            Err(line_error(Some(RequestId::Null), invalid_request("a message has a `method` or an `id`")))
        }
    }
}

fn parse_answer(id: RequestId, mut members: Map<String, Value>) -> Result<AcpIncoming, AcpLineError> {
    let outcome = match (members.remove("error"), members.remove("result")) {
        (Some(error), _) if !error.is_null() => {
            Err(serde_json::from_value(error.clone()).unwrap_or_else(|_| Error::internal_error().data(error)))
        }
        (_, Some(result)) => Ok(result),
        (_, None) => return Err(line_error(None, invalid_request("an answer has a `result` or an `error`"))),
    };
    Ok(AcpIncoming::Answer { id, outcome })
}

/// A request of ours, without the end of its line.
pub fn request_line(id: i64, method: &str, params: &impl Serialize) -> serde_json::Result<String> {
    let params = serde_json::to_value(params)?;
    Ok(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
}

/// A notification of ours.
pub fn notification_line(method: &str, params: &impl Serialize) -> serde_json::Result<String> {
    let params = serde_json::to_value(params)?;
    Ok(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
}

/// An answer of ours.
pub fn result_line(id: &RequestId, result: &impl Serialize) -> serde_json::Result<String> {
    let result = serde_json::to_value(result)?;
    Ok(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

/// A refusal of ours.
pub fn error_line(id: &RequestId, error: &Error) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

fn line_error(id: Option<RequestId>, error: Error) -> AcpLineError {
    AcpLineError { id, error: Box::new(error) }
}

fn parse_error(error: &serde_json::Error) -> Error {
    Error::parse_error().data(Value::String(error.to_string()))
}

fn invalid_request(what: &str) -> Error {
    Error::invalid_request().data(Value::String(what.to_owned()))
}
