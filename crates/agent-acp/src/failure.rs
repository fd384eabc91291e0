//! What a turn says when the agent fails it, and what to do about it.

use agent_client_protocol::v1::schema::{Error, ErrorCode};
use ostler_acp::to_plain_line;
use ostler_agent::FailedTurn;
use ostler_types::{Failure, LoginMethod};
use serde_json::Value;

use crate::config::AgentProgram;
use crate::connection::NoAnswer;

/// Why a turn fails whose agent wants somebody to log in.
pub(crate) const LOGIN_REQUIRED: &str = "agent_login_required";
/// How much of an agent's error output an error quotes.
pub(crate) const QUOTED_BYTES: usize = 1_500;
/// How long an agent's own words may be in an error.
const MAX_ERROR_CHARS: usize = 2_000;

pub(crate) fn failure(code: &str, message: String, hint: Option<String>) -> Failure {
    Failure { code: code.to_owned(), message, hint }
}

/// A turn that fails for a reason of this name.
pub(crate) fn failed(code: &str, message: String, hint: Option<String>) -> FailedTurn {
    FailedTurn { error: failure(code, message, hint), reason: code.to_owned() }
}

/// A turn whose agent ended under it.
pub(crate) fn crashed(program: &AgentProgram, how: &str) -> FailedTurn {
    let message =
        format!("the agent {} ended in the middle of the turn: {}", program.name, program.redact(how));
    let hint = "what it said so far is kept; it is started again, so retry the turn".to_owned();
    failed("agent_crashed", message, Some(hint))
}

/// A turn whose agent wants somebody to log in first.
pub(crate) fn login_required(program: &AgentProgram, methods: &[LoginMethod]) -> FailedTurn {
    let message = format!("the agent {} wants you to log in first", program.name);
    let ways: Vec<String> =
        methods.iter().map(|method| format!("`{}` ({})", method.id, method.name)).collect();
    let hint = match (&program.login, ways.is_empty()) {
        (Some(login), true) => login.clone(),
        (Some(login), false) => format!("{login}; its own ways to log in are {}", ways.join(", ")),
        (None, false) => format!("its ways to log in are {}", ways.join(", ")),
        (None, true) => "it does not say how; see its own documentation".to_owned(),
    };
    failed(LOGIN_REQUIRED, message, Some(hint))
}

/// Whether an agent refuses because nobody has logged in.
pub(crate) fn wants_login(error: &Error) -> bool {
    error.code == ErrorCode::AuthRequired
}

/// Why something besides the turn's prompt came to nothing; a crash is described by the caller.
pub(crate) fn no_answer(agent: &str, what: &str, error: &NoAnswer) -> FailedTurn {
    let why = match error {
        NoAnswer::Refused(error) => error_text(error),
        NoAnswer::TooLate(time) => format!("it has not answered in {} s", time.as_secs()),
        NoAnswer::Closed => "it has ended".to_owned(),
    };
    failed("agent_error", format!("the agent {agent} could not {what}: {why}"), None)
}

/// An agent's error in words.
pub(crate) fn error_text(error: &Error) -> String {
    let more = match &error.data {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(data) => {
            let named =
                ["details", "message", "error", "reason"].iter().find_map(|name| data.get(name)?.as_str());
            named.map_or_else(|| data.to_string(), str::to_owned)
        }
    };
    let message = error.message.trim_end_matches('.');
    let text = if more.is_empty() { message.to_owned() } else { format!("{message}: {more}") };
    to_plain_line(&text, MAX_ERROR_CHARS)
}
