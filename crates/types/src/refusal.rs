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

/// A stable word for a refusal, for programs. The named ones are those that our own code branches on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum RefusalCode {
    /// The turn that an agent reports of is over.
    TurnOver,
    /// A turn is running.
    TurnRunning,
    /// A call was to start that nobody has approved.
    CallNotApproved,
    /// The session has as many children as it may have.
    TooManyChildren,
    /// Another session has the name.
    NameTaken,
    /// No session can work in the directory.
    BadWorkspace,
    /// Any other.
    Other(String),
}

impl RefusalCode {
    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            RefusalCode::TurnOver => "turn_over",
            RefusalCode::TurnRunning => "turn_running",
            RefusalCode::CallNotApproved => "call_not_approved",
            RefusalCode::TooManyChildren => "too_many_children",
            RefusalCode::NameTaken => "name_taken",
            RefusalCode::BadWorkspace => "bad_workspace",
            RefusalCode::Other(word) => word,
        }
    }
}

impl From<&str> for RefusalCode {
    fn from(word: &str) -> RefusalCode {
        RefusalCode::from(word.to_owned())
    }
}

impl From<String> for RefusalCode {
    fn from(word: String) -> RefusalCode {
        let named = [
            RefusalCode::TurnOver,
            RefusalCode::TurnRunning,
            RefusalCode::CallNotApproved,
            RefusalCode::TooManyChildren,
            RefusalCode::NameTaken,
            RefusalCode::BadWorkspace,
        ];
        named.into_iter().find(|code| code.as_str() == word).unwrap_or(RefusalCode::Other(word))
    }
}

impl From<RefusalCode> for String {
    fn from(code: RefusalCode) -> String {
        code.as_str().to_owned()
    }
}

impl std::fmt::Display for RefusalCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl PartialEq<str> for RefusalCode {
    fn eq(&self, word: &str) -> bool {
        self.as_str() == word
    }
}

impl PartialEq<&str> for RefusalCode {
    fn eq(&self, word: &&str) -> bool {
        self.as_str() == *word
    }
}

/// A command was refused; nothing was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What sort.
    pub kind: RefusalKind,
    /// A stable word for programs.
    pub code: RefusalCode,
    /// What happened, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Refusal {
    /// The named thing does not exist.
    pub fn not_found(code: impl Into<RefusalCode>, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::NotFound, code, message)
    }

    /// The command conflicts with how the session stands.
    pub fn conflict(code: impl Into<RefusalCode>, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Conflict, code, message)
    }

    /// The command is well-formed but not valid.
    pub fn invalid(code: impl Into<RefusalCode>, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Invalid, code, message)
    }

    /// Makes one of any kind.
    pub fn new(kind: RefusalKind, code: impl Into<RefusalCode>, message: impl Into<String>) -> Refusal {
        Refusal { kind, code: code.into(), message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }
}
