//! What can go wrong with an index, told apart only where a caller does something else about it.

use rusqlite::ErrorCode;

/// Why the index did not do what was asked. Sessions and their logs are not touched by any of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The cursor of a listing was not one that a listing gave out.
    #[error("the cursor is not one that a listing returned; ask again without a cursor")]
    BadCursor,
    /// The file's content makes no sense any more; only a rebuild helps.
    #[error("the index is damaged ({0}); `ostler doctor --rebuild` makes it again from the logs")]
    Damaged(String),
    /// The file cannot be read or written now; it may well work later.
    #[error(
        "the index cannot be read or written ({0}); check the disk's space and the file's permissions, \
         after which it catches up by itself; if it does not, run `ostler doctor --rebuild`"
    )]
    Storage(String),
    /// The thread that writes has ended, which only a bug can do.
    #[error("the index has stopped; restart the daemon, and run `ostler doctor --rebuild` if it stops again")]
    Stopped,
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                IndexError::Damaged(error.to_string())
            }
            _ => IndexError::Storage(error.to_string()),
        }
    }
}
