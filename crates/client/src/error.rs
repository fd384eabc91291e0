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
    #[error("{}", refusal_text(message, hint.as_deref()))]
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
    /// What came back is not what the http door says.
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

fn refusal_text(message: &str, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message.to_owned(),
    }
}

/// A refusal may quote what a model or a file said, which must not drive the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
