//! Session actors: the only way a session changes.
//!
//! [`Engine`] finds or wakes the actor of a session and hands it what clients ask. The actor decides
//! by the pure rules, records, and publishes; agents run beside it and report to it. The engine
//! knows no model, tool, protocol or socket.

#![warn(clippy::wildcard_enum_match_arm)]

mod accepted_rules;
mod actor;
mod changes;
mod children;
mod config;
mod create;
mod delta_line;
mod encoding_slot;
mod engine;
mod error;
mod feed;
mod files;
mod fork;
mod history;
mod hub;
mod index_sync;
mod loaded_session;
mod lost_session;
mod masked_streams;
mod new_log;
mod projects;
mod prompts;
mod purge;
mod record_line;
mod recovery;
mod rules;
mod session_folder;
mod session_names;
mod session_queries;
mod subscriber_queue;
mod subscription;
mod transfer;
mod trust;
mod turn;
mod undo;
mod usage;
mod view_files;
mod wake;

pub use changes::TurnChanges;
pub use config::{EngineConfig, SystemClock};
pub use delta_line::DeltaLine;
pub use engine::Engine;
pub use error::EngineError;
pub use feed::{FeedItem, FeedSubscription};
pub use files::{
    AttachmentPermit, MAX_ATTACHMENT, OpenBlob, StoredBlob, StoredBlobList, check_attachment_limits,
};
pub use history::HistoryPage;
pub use projects::Project;
pub use record_line::RecordLine;
pub use session_queries::SubmittedMessage;
pub use subscriber_queue::SubscriptionItem;
pub use subscription::Subscription;
pub use undo::{UndoReport, UndoRequest};
