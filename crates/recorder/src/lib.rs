//! The files of a session beside its log.
//!
//! Views of the log: `session.json` for programs that look into the folder, `snapshot.json` so that a session
//! wakes without folding its whole log, and `session.db`, `context.md`, `transcript.jsonl` and `verbose.md` for
//! people and for the tools of theirs that know these formats. Each can be deleted at any time and made again
//! from the log. And `raw.jsonl`, which is no view but what providers were sent and answered, when asked for.
//!
//! Beside that, a session as one file to take away ([`export`]), and the way back ([`import`]). Where the log lies
//! and how it is read is left to the engine, which hands the records in.

// A new event must be looked at wherever one is told from another.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod export;
mod folder_names;
pub mod import;
mod plain_text;
mod raw;
mod recorder;
mod replace;
mod session_json;
mod snapshot;
mod text;
mod views;

pub use folder_names::{child_folder, link_child, log_folder, log_id};
pub use raw::RawWriter;
pub use recorder::{RecordSource, RecordSourceError, Recorder, ViewFolder, WriteDelay};
pub use replace::RecorderError;
pub use session_json::write_session;
pub use snapshot::{StateSnapshot, decode_snapshot, encode_snapshot};
pub use views::{SessionViews, rebuild};
