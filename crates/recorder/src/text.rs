//! What each record adds to the text files. Pure: where the text goes, and how far a file has come, is left to
//! the views and the exports.

pub(crate) mod context;
pub(crate) mod transcript;
pub(crate) mod verbose;

use jiff::Timestamp;

/// The time of day, in UTC like all times in a session's files.
fn time_of_day(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

fn day_and_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}
