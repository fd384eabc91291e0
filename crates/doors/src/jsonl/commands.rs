//! What a client says on this wire: every command, read with an error that says what was wrong and what was
//! expected. Fields that are not known are left alone, since clients may add their own.

use ostler_types::Delivery;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The names of the commands, for whoever misspells one.
pub(super) const COMMANDS: &str = "prompt, stats, abort, reset, save, list_sessions, list_running_sessions, \
    start_session, close_session, set_active_session, ui_response, list_models, ping, debug, quit";

/// Bytes of a name that are repeated in an error.
const MAX_QUOTED_BYTES: usize = 100;

/// One line of the client.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientFrame {
    /// Say something. While a turn runs it waits, unless `delivery` says otherwise.
    Prompt {
        /// What to say.
        text: String,
        /// The session; the active one when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// What to do when a turn runs; `queue` when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        delivery: Option<Delivery>,
    },
    /// How does a session stand?
    Stats(OfSession),
    /// Stop the running turn. There is no answer but the end of the turn.
    Abort(OfSession),
    /// Stop the running turn and forget the conversation; the session keeps its id.
    Reset(OfSession),
    /// Where is a session kept? It is on disk already.
    Save(OfSession),
    /// Which sessions of this directory are on disk?
    ListSessions {},
    /// Which sessions has this connection?
    ListRunningSessions {},
    /// Make a session, or go on with one.
    StartSession(StartSession),
    /// Close a session.
    CloseSession(OfSession),
    /// Say where commands go that name no session.
    SetActiveSession {
        /// The session.
        session_id: String,
    },
    /// Answer a question.
    UiResponse(UiResponse),
    /// Which models are there?
    ListModels {},
    /// Is anybody there?
    Ping {},
    /// How does this connection stand?
    Debug {},
    /// End.
    Quit {},
}

/// A command to one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OfSession {
    /// The session; the active one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// What a new session is to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StartSession {
    /// The directory that it works in; that of the connection when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// As `provider:model`; that of the active session when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Instructions for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// A session to go on with, or where a new one is saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    /// The session that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Whether it becomes the active one; false when absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub set_active: bool,
}

/// An answer. Null and null is none; an error beats a result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UiResponse {
    /// The question.
    pub id: String,
    /// What was answered, in the form that the question calls for.
    #[schemars(default)]
    pub result: Value,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonlCommandError {
    /// What happened.
    pub message: String,
    /// What was expected.
    pub hint: Option<String>,
    /// The session that it was meant for, if it said so.
    pub session_id: Option<String>,
}

impl JsonlCommandError {
    fn new(message: impl Into<String>) -> JsonlCommandError {
        JsonlCommandError { message: message.into(), hint: None, session_id: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> JsonlCommandError {
        self.hint = Some(hint.into());
        self
    }
}

/// Reads a line.
pub fn read_command(line: &[u8]) -> Result<ClientFrame, JsonlCommandError> {
    let text = std::str::from_utf8(line).map_err(|error| {
        JsonlCommandError::new(format!("the line is not UTF-8: byte {} is wrong", error.valid_up_to() + 1))
    })?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        JsonlCommandError::new(format!("the line is not JSON: {error}"))
            .hint("a line is one JSON object, ended by a line feed")
    })?;
    let Value::Object(fields) = value else {
        return Err(JsonlCommandError::new("the line is not a JSON object")
            .hint("a line looks like {\"type\":\"ping\"}"));
    };
    let fields = CommandFields(fields);
    fields.parse_command().map_err(|mut error| {
        error.session_id = fields.0.get("session_id").and_then(Value::as_str).map(quoted);
        error
    })
}

/// The members of a line.
struct CommandFields(Map<String, Value>);

impl CommandFields {
    fn parse_command(&self) -> Result<ClientFrame, JsonlCommandError> {
        let of_session = || Ok(OfSession { session_id: self.optional("session_id")? });
        Ok(match self.string("type")?.as_str() {
            "prompt" => self.prompt()?,
            "stats" => ClientFrame::Stats(of_session()?),
            "abort" => ClientFrame::Abort(of_session()?),
            "reset" => ClientFrame::Reset(of_session()?),
            "save" => ClientFrame::Save(of_session()?),
            "list_sessions" => ClientFrame::ListSessions {},
            "list_running_sessions" => ClientFrame::ListRunningSessions {},
            "start_session" => ClientFrame::StartSession(self.start_session()?),
            "close_session" => ClientFrame::CloseSession(of_session()?),
            "set_active_session" => {
                let session_id = self.optional("session_id")?;
                let needed = || JsonlCommandError::new("session_id required for set_active_session");
                ClientFrame::SetActiveSession { session_id: session_id.ok_or_else(needed)? }
            }
            "ui_response" => self.ui_response()?,
            "list_models" => ClientFrame::ListModels {},
            "ping" => ClientFrame::Ping {},
            "debug" => ClientFrame::Debug {},
            "quit" => ClientFrame::Quit {},
            other => {
                let hint = format!("`{}` is none of {COMMANDS}", quoted(other));
                return Err(JsonlCommandError::new("unknown command").hint(hint));
            }
        })
    }

    fn prompt(&self) -> Result<ClientFrame, JsonlCommandError> {
        let text = self.string("text")?;
        if text.is_empty() {
            return Err(JsonlCommandError::new("`text` is empty").hint("say what the model is to do"));
        }
        let delivery = match self.optional("delivery")?.as_deref() {
            None => None,
            Some("queue") => Some(Delivery::Queue),
            Some("steer") => Some(Delivery::Steer),
            Some("interrupt") => Some(Delivery::Interrupt),
            Some(_) => {
                return Err(JsonlCommandError::new("`delivery` must be `queue`, `steer` or `interrupt`"));
            }
        };
        Ok(ClientFrame::Prompt { text, session_id: self.optional("session_id")?, delivery })
    }

    fn start_session(&self) -> Result<StartSession, JsonlCommandError> {
        let set_active = match self.0.get("set_active") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(set_active)) => *set_active,
            Some(_) => return Err(JsonlCommandError::new("`set_active` must be true or false")),
        };
        Ok(StartSession {
            cwd: self.optional("cwd")?,
            model: self.optional("model")?,
            system_prompt: self.optional("system_prompt")?,
            session_file: self.optional("session_file")?,
            parent_session: self.optional("parent_session")?,
            set_active,
        })
    }

    fn ui_response(&self) -> Result<ClientFrame, JsonlCommandError> {
        let error = match self.0.get("error") {
            None | Some(Value::Null) => None,
            Some(Value::String(error)) => Some(error.clone()),
            Some(other) => Some(other.to_string()),
        };
        let result = self.0.get("result").cloned().unwrap_or(Value::Null);
        Ok(ClientFrame::UiResponse(UiResponse { id: self.string("id")?, result, error }))
    }

    fn string(&self, name: &str) -> Result<String, JsonlCommandError> {
        match self.0.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            None => Err(JsonlCommandError::new(format!("`{name}` is missing"))
                .hint(format!("`{name}` must be a string"))),
            Some(other) => {
                Err(JsonlCommandError::new(format!("`{name}` must be a string, and is {}", type_name(other))))
            }
        }
    }

    fn optional(&self, name: &str) -> Result<Option<String>, JsonlCommandError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.string(name).map(Some),
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// As much of a name as an error repeats.
pub(super) fn quoted(text: &str) -> String {
    text.chars().take(MAX_QUOTED_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ClientFrame, OfSession, read_command};

    fn error(line: &str) -> String {
        read_command(line.as_bytes()).unwrap_err().message
    }

    #[test]
    fn errors_say_what_was_wrong() {
        assert_eq!(error(r#"{"type":"dance"}"#), "unknown command");
        assert_eq!(error(r#"{"text":"hi"}"#), "`type` is missing");
        assert_eq!(error(r#"{"type":"prompt"}"#), "`text` is missing");
        assert_eq!(error(r#"{"type":"prompt","text":5}"#), "`text` must be a string, and is a number");
        assert_eq!(
            error(r#"{"type":"abort","session_id":[]}"#),
            "`session_id` must be a string, and is an array"
        );
        assert_eq!(error(r#"{"type":"set_active_session"}"#), "session_id required for set_active_session");
        assert_eq!(error("[]"), "the line is not a JSON object");
        assert!(error("hello").starts_with("the line is not JSON"));
        let bad = read_command(b"{\"type\":\"\xff\"}").unwrap_err();
        assert_eq!(bad.message, "the line is not UTF-8: byte 10 is wrong");
        let bad = read_command(br#"{"type":"prompt","session_id":"sess_1"}"#).unwrap_err();
        assert_eq!(bad.session_id.as_deref(), Some("sess_1"));
    }

    #[test]
    fn null_is_absent_and_unknown_fields_are_left_alone() {
        let line = json!({"type": "abort", "session_id": null, "server_time": 7}).to_string();
        assert_eq!(read_command(line.as_bytes()), Ok(ClientFrame::Abort(OfSession { session_id: None })));
    }
}
