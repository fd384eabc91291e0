//! One append-only log per session: append, read from a cursor, follow, recover.
//!
//! [`Log`] is all that the engine knows of storage. [`FileLog`] keeps a folder per session, with the
//! log as lines of JSON; `docs/log-format.md` describes it byte by byte. What a session means is
//! not known here: the log stores records, and says what is damaged.

mod blobs;
mod check;
mod committer;
mod disk;
mod drafts;
mod feed;
mod feed_reader;
mod feed_repair;
mod file_log;
mod layout;
mod lock;
mod log;
mod log_heads;
mod log_walk;
mod markers;
mod nested_sessions;
mod permissions;
mod quarantine;
mod reader;
mod seal;
mod sealed_line;
mod seek;
mod shared;

pub use check::{CheckReport, LogDamage, SalvageReport};
pub use disk::{Disk, DiskFile, RealDisk};
pub use file_log::{FileLog, OpenError};
pub use log::{Blob, BlobEntry, BlobWrite, Claim, Epoch, FeedPosition, FeedRecord, Log, LogError, LogLine};
pub use seal::{seal_records, unseal_lines};
