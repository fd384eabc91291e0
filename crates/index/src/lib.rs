//! What can be rebuilt from the logs: list, filter, full-text search, usage.
//!
//! The index is a view. It may lag behind the logs and never leads; it can be deleted at any time, and
//! is then made again. Who feeds it, from which log, and when to rebuild are left to the engine.
//!
//! One thread writes ([`Index::update`] and its like put into its queue), a few connections read.
//! A failed write stops nothing: it is kept and tried again, and [`Index::position`] always says
//! how much of a session's log is in. `schema` describes the file, `apply` what an update does to it,
//! `list`, `search` and `usage` how it is asked.

mod apply;
mod error;
mod index;
mod list;
mod readers;
mod schema;
mod search;
mod sqlite_index;
mod update;
mod usage;
mod workspaces;
mod writer;

pub use error::IndexError;
pub use index::Index;
pub use list::{IndexedSession, ListFilter, MatchedMessage, SessionListing};
pub use schema::OpenedIndex;
pub use sqlite_index::{IndexCounts, SqliteIndex};
pub use update::{IndexUpdate, IndexedText, ModelUse};
pub use usage::{UsageGroup, UsageGrouping, UsageQuery, UsageReport, UsageTotal};
pub use workspaces::workspaces;
