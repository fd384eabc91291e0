//! The views of a log that lie beside it as files: `session.json` for people and programs that look
//! into the folder, `snapshot.json` so that a session wakes without folding its whole log. And
//! `raw.jsonl`, which is no view of the log but what providers were sent and answered, when asked for.
//!
//! Each view can be deleted at any time and made again from the log, so nothing here is synced to disk.
//! When to write, and whether a snapshot still fits its log, is left to the engine.

mod raw;
mod replace;
mod session;
mod snapshot;

pub use raw::RawWriter;
pub use replace::RecorderError;
pub use session::write_session;
pub use snapshot::{read_snapshot, write_snapshot};
