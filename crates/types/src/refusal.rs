//! Refusals: why a command changed nothing.

use serde::{Deserialize, Serialize};

/// What sort of refusal it is; doors turn it into their own codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The thing named does not exist.
    NotFound,
    /// It conflicts with how the session stands.
    Conflict,
    /// It is well-formed but not valid.
    Invalid,
    /// It is too large.
    TooLarge,
    /// There are too many of them.
    TooMany,
}

/// A command was refused; nothing was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What sort.
    pub kind: RefusalKind,
    /// A stable word for programs.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Refusal {
    /// The named thing does not exist.
    pub fn not_found(code: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::NotFound, code, message)
    }

    /// The command conflicts with how the session stands.
    pub fn conflict(code: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Conflict, code, message)
    }

    /// The command is well-formed but not valid.
    pub fn invalid(code: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Invalid, code, message)
    }

    /// Makes one of any kind.
    pub fn new(kind: RefusalKind, code: &str, message: impl Into<String>) -> Refusal {
        Refusal { kind, code: code.to_owned(), message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }
}
