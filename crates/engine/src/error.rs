//! What can go wrong when a session is asked for something.

use ostler_eventlog::LogError;
use ostler_index::IndexError;
use ostler_types::Refusal;

/// Why the engine did not do what was asked. Nothing was recorded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// There is no such session.
    #[error("there is no such session")]
    NotFound,
    /// The rules forbid it.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The log cannot be read or written.
    #[error("{0}")]
    Log(LogError),
    /// The index cannot answer.
    #[error("{0}")]
    Index(String),
    /// The cursor is not one that the index gave out.
    #[error("the cursor is not one that this daemon gave out")]
    BadCursor,
    /// The index is being made from the logs.
    #[error("the list of sessions is being rebuilt from their logs")]
    Rebuilding,
    /// The daemon is about to end.
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

impl From<LogError> for EngineError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::NotFound => EngineError::NotFound,
            LogError::Conflict { .. }
            | LogError::Owned { .. }
            | LogError::Fenced
            | LogError::Lost
            | LogError::Taken { .. }
            | LogError::Exists
            | LogError::TooLarge { .. }
            | LogError::Damaged { .. }
            | LogError::Full
            | LogError::Io(_) => EngineError::Log(error),
        }
    }
}

impl From<IndexError> for EngineError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::BadCursor => EngineError::BadCursor,
            IndexError::Stopped | IndexError::Damaged(_) | IndexError::Storage(_) => {
                EngineError::Index(error.to_string())
            }
        }
    }
}
