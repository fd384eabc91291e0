//! What clients send: the envelope of a request and the params of each method. Each value is checked by hand, so
//! that an error says which one was wrong and what was expected; members that are not known are passed over.

use ostler_types::SessionId;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::frames::{GatewayRequestId, RpcError};

/// The longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 32_000;
/// The longest reason.
const MAX_REASON_CHARS: usize = 1000;
/// How much of a history may be asked for, and how much there is when nobody says.
const HISTORY: (u64, u64) = (500, 100);

/// A request that can be carried out.
#[derive(Debug)]
pub(super) struct GatewayRequest {
    pub(super) id: GatewayRequestId,
    pub(super) call: GatewayCall,
}

/// What is asked for.
#[derive(Debug)]
pub(super) enum GatewayCall {
    Health,
    Agents,
    Create { agent_id: Option<String> },
    List,
    Get { session: SessionId },
    Send { session: SessionId, message: String },
    History { session: SessionId, limit: usize },
    Abort { run_id: Uuid },
    Answer { approval_id: Uuid, approve: bool, reason: Option<String> },
    Approvals,
}

impl GatewayCall {
    /// Whether it need not wait for the requests before it. It may not, where it would not do what was meant
    /// if it came too early.
    pub(super) fn is_urgent(&self) -> bool {
        match self {
            GatewayCall::Health
            | GatewayCall::Abort { .. }
            | GatewayCall::Answer { .. }
            | GatewayCall::Approvals => true,
            GatewayCall::Agents
            | GatewayCall::Create { .. }
            | GatewayCall::List
            | GatewayCall::Get { .. }
            | GatewayCall::Send { .. }
            | GatewayCall::History { .. } => false,
        }
    }
}

/// Why a frame is no request, and to which id that is said.
pub(super) type RefusedFrame = (Option<GatewayRequestId>, RpcError);

/// Reads a request.
pub(super) fn parse_request(message: &[u8]) -> Result<GatewayRequest, RefusedFrame> {
    let value = json_value(message).map_err(|error| (None, error))?;
    let Value::Object(mut members) = value else {
        return Err((None, RpcError::request("expected an object with id and method")));
    };
    let id = members.remove("id").filter(is_id).map(GatewayRequestId);
    let method = members.remove("method").as_ref().and_then(Value::as_str).map(str::to_owned);
    let method = method.filter(|method| !method.is_empty());
    let (Some(id), Some(method)) = (id.clone(), method) else {
        return Err((id, RpcError::request("id and method are required")));
    };
    let params = match members.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(other) => {
            let error = RpcError::params(format!("expected an object, not {}", describe_value(&other)));
            return Err((Some(id), error));
        }
    };
    match call(&method, &GatewayParams(params)) {
        Ok(call) => Ok(GatewayRequest { id, call }),
        Err(error) => Err((Some(id), error)),
    }
}

/// The JSON in a message.
pub(super) fn json_value(message: &[u8]) -> Result<Value, RpcError> {
    let text = std::str::from_utf8(message).map_err(|_| RpcError::parse("the message is not UTF-8"))?;
    serde_json::from_str(text).map_err(|error| RpcError::parse(&error.to_string()))
}

/// A UUID as this wire writes it: with hyphens.
fn parse_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == 36)
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(id) => !id.is_empty(),
        Value::Number(id) => id.as_f64() != Some(0.0),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn call(method: &str, params: &GatewayParams) -> Result<GatewayCall, RpcError> {
    Ok(match method {
        "health.check" => GatewayCall::Health,
        "agents.list" => GatewayCall::Agents,
        "sessions.create" => {
            GatewayCall::Create { agent_id: params.optional_text("agentId", MAX_MESSAGE_CHARS)? }
        }
        "sessions.list" => GatewayCall::List,
        "sessions.get" => GatewayCall::Get { session: params.session()? },
        "chat.send" => GatewayCall::Send {
            session: params.session()?,
            message: params.text("message", MAX_MESSAGE_CHARS)?,
        },
        "chat.history" => GatewayCall::History { session: params.session()?, limit: params.limit()? },
        "chat.abort" => GatewayCall::Abort { run_id: params.uuid("runId")? },
        "exec.approve" => GatewayCall::Answer {
            approval_id: params.uuid("approvalId")?,
            approve: true,
            reason: params.optional_text("reason", MAX_REASON_CHARS)?,
        },
        "exec.deny" => GatewayCall::Answer {
            approval_id: params.uuid("approvalId")?,
            approve: false,
            reason: params.optional_text("reason", MAX_REASON_CHARS)?,
        },
        "approvals.list" => GatewayCall::Approvals,
        unknown => return Err(RpcError::method(unknown)),
    })
}

struct GatewayParams(Map<String, Value>);

impl GatewayParams {
    fn session(&self) -> Result<SessionId, RpcError> {
        self.uuid("sessionKey").map(SessionId::new)
    }

    fn uuid(&self, name: &str) -> Result<Uuid, RpcError> {
        let expected = "a UUID such as 0190f3c4-a5b6-7c8d-9e0f-112233445566";
        let value = self.required(name, expected)?;
        value.as_str().and_then(parse_uuid).ok_or_else(|| wrong_param(name, expected, value))
    }

    fn text(&self, name: &str, longest: usize) -> Result<String, RpcError> {
        let expected = format!("a text of 1 to {longest} characters");
        let value = self.required(name, &expected)?;
        let fits = |text: &&str| !text.is_empty() && text.chars().nth(longest).is_none();
        value.as_str().filter(fits).map(str::to_owned).ok_or_else(|| wrong_param(name, &expected, value))
    }

    fn optional_text(&self, name: &str, longest: usize) -> Result<Option<String>, RpcError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(_) => self.text(name, longest).map(Some),
        }
    }

    fn limit(&self) -> Result<usize, RpcError> {
        let (most, usual) = HISTORY;
        let Some(value) = self.0.get("limit").filter(|limit| !limit.is_null()) else {
            return Ok(usize::try_from(usual).unwrap_or(usize::MAX));
        };
        let whole = value.as_u64().or_else(|| value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as u64));
        let limit = whole.filter(|limit| (1..=most).contains(limit));
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        limit.ok_or_else(|| wrong_param("limit", &format!("a whole number from 1 to {most}"), value))
    }

    fn required(&self, name: &str, expected: &str) -> Result<&Value, RpcError> {
        let missing = || RpcError::params(format!("`{name}` is missing, expected {expected}"));
        self.0.get(name).ok_or_else(missing)
    }
}

fn wrong_param(name: &str, expected: &str, value: &Value) -> RpcError {
    RpcError::params(format!("`{name}` must be {expected}, not {}", describe_value(value)))
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.len() <= 60 => format!("{text:?}"),
        Value::String(text) => format!("a text of {} characters", text.chars().count()),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The schemas of all that a client may send.
pub(super) fn client_frames(generator: &mut SchemaGenerator) -> Vec<Value> {
    let id = generator.subschema_for::<GatewayRequestId>();
    let key = json!({"type": "string", "format": "uuid", "minLength": 36, "maxLength": 36});
    let text = |longest: usize| json!({"type": "string", "minLength": 1, "maxLength": longest});
    let limit = json!({"type": "integer", "minimum": 1, "maximum": HISTORY.0, "default": HISTORY.1});
    let reason = json!({"type": ["string", "null"], "maxLength": MAX_REASON_CHARS});
    let agent = json!({"type": ["string", "null"]});
    let methods = [
        ("health.check", json!({}), vec![]),
        ("agents.list", json!({}), vec![]),
        ("sessions.create", json!({"agentId": agent}), vec![]),
        ("sessions.list", json!({}), vec![]),
        ("sessions.get", json!({"sessionKey": key}), vec!["sessionKey"]),
        (
            "chat.send",
            json!({"sessionKey": key, "message": text(MAX_MESSAGE_CHARS)}),
            vec!["sessionKey", "message"],
        ),
        ("chat.history", json!({"sessionKey": key, "limit": limit}), vec!["sessionKey"]),
        ("chat.abort", json!({"runId": key}), vec!["runId"]),
        ("exec.approve", json!({"approvalId": key, "reason": reason}), vec!["approvalId"]),
        ("exec.deny", json!({"approvalId": key, "reason": reason}), vec!["approvalId"]),
        ("approvals.list", json!({}), vec![]),
    ];
    let frame = |(method, properties, required): (&str, Value, Vec<&str>)| {
        let params = json!({"type": "object", "properties": properties, "required": required});
        let mut members = vec!["id", "method"];
        members.extend((!required.is_empty()).then_some("params"));
        json!({
            "title": method,
            "type": "object",
            "properties": {"id": id, "method": {"const": method}, "params": params},
            "required": members,
        })
    };
    let auth = json!({
        "title": "auth",
        "description": "The first frame of every connection.",
        "type": "object",
        "properties": {"type": {"const": "auth"}, "token": {"type": "string"}},
        "required": ["type", "token"],
    });
    std::iter::once(auth).chain(methods.map(frame)).collect()
}

#[cfg(test)]
mod tests {
    use super::parse_request;

    #[test]
    fn an_error_says_which_value_was_wrong_and_what_was_expected() {
        let refused = |text: &str| parse_request(text.as_bytes()).unwrap_err().1;
        let error = refused(r#"{"id":"1","method":"chat.send","params":{"sessionKey":"x","message":"hi"}}"#);
        assert_eq!(error.code, -32602);
        assert!(error.message.contains("`sessionKey` must be a UUID"), "{}", error.message);
        assert!(error.message.ends_with("not \"x\""), "{}", error.message);
        assert_eq!(refused("{").code, -32700);
        assert_eq!(refused("[]").code, -32600);
        assert_eq!(refused(r#"{"id":0,"method":"health.check"}"#).code, -32600);
        assert_eq!(refused(r#"{"id":"1","method":"no.such"}"#).message, "Method not found: no.such");
    }
}
