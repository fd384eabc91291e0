//! Why a request came to nothing, in words fit for a terminal.

use hyper::StatusCode;
use serde::Deserialize;

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// No daemon answers, or it stopped answering.
    #[error("cannot reach the daemon at {endpoint}: {reason}; start it with `ostler serve`")]
    Unreachable {
        /// Where the daemon should be.
        endpoint: String,
        /// What the system said.
        reason: String,
    },
    /// The daemon understood and said no.
    #[error("{}", refusal_text(code, message, hint.as_deref()))]
    Refused {
        /// The HTTP status.
        status: u16,
        /// A stable word for programs.
        code: String,
        /// What happened.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
    /// What came back is not what the HTTP API specifies.
    #[error("unexpected answer: {0}; check that the daemon and this program are of the same version")]
    Protocol(String),
}

impl ClientError {
    /// Whether the same request may succeed a little later without anybody doing anything.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            ClientError::Unreachable { .. } => true,
            ClientError::Refused { status, .. } => matches!(status, 429 | 503),
            ClientError::Protocol(_) => false,
        }
    }
}

/// Reads the body of an answer that is not a success. A body in another shape is quoted, because
/// something else than a daemon may be listening there.
pub(crate) fn refused(status: StatusCode, body: &[u8]) -> ClientError {
    let status_code = status.as_u16();
    if let Ok(ErrorDocument { error }) = serde_json::from_slice(body) {
        let hint = error.hint.map(|hint| printable(&hint));
        let message = printable(&error.message);
        return ClientError::Refused { status: status_code, code: printable(&error.code), message, hint };
    }
    let quoted: String = printable(&String::from_utf8_lossy(body)).chars().take(MAX_QUOTED_CHARS).collect();
    let message = match quoted.trim() {
        "" => format!("the daemon answered {status}"),
        text => format!("the daemon answered {status}: {text}"),
    };
    ClientError::Refused { status: status_code, code: format!("http_{status_code}"), message, hint: None }
}

/// How much of a foreign body is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 200;

#[derive(Deserialize)]
struct ErrorDocument {
    error: ErrorDetail,
}

#[derive(Deserialize)]
struct ErrorDetail {
    code: String,
    message: String,
    hint: Option<String>,
}

/// The refusal in words for a person at a terminal. The server's hints name routes, which help programs; a person
/// gets the command that does the same, or no hint.
fn refusal_text(code: &str, message: &str, hint: Option<&str>) -> String {
    match command_hint(code).or(hint.filter(|hint| !names_a_route(hint))) {
        Some(hint) => format!("{message}; {hint}"),
        None => message.to_owned(),
    }
}

/// The command that shows what should have been named.
fn command_hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "session_not_found" => "`ostler sessions` lists all sessions",
        "unknown_agent" => "`ostler agents` lists the agents",
        "message_not_queued" => "it may have been delivered already",
        "before_not_queued" => "the queue has changed; try again",
        "not_waiting" | "tool_call_not_found" => "`ostler approve` lists pending approvals",
        "project_exists" | "project_not_found" => "`ostler projects` lists all projects",
        _ => return None,
    })
}

fn names_a_route(hint: &str) -> bool {
    ["GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "/v1/", "/openapi.json"]
        .iter()
        .any(|part| hint.contains(part))
}

/// A refusal may quote what a model or a file said, which must not drive the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
