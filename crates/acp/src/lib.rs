//! The Agent Client Protocol and our words, both ways.
//!
//! Pure: it reads and writes nothing, keeps no session and waits for nobody. Each part of the protocol has a
//! `from_…` that takes what an agent or an editor says, and a `to_…` that says it to them; `line` frames both.
//! The protocol's own types come from its official crate and go no further than this crate's two users: the
//! agent in a child process, and the door for editors.

mod call;
mod content;
mod diffs;
mod line;
mod mcp;
mod options;
mod outcome;
mod plain;
mod replay;
mod settings;
mod state;
mod stop;
mod update;

pub use call::{Subjects, call_kind, from_call, has_ended, subjects, summary, to_call};
pub use content::{AcceptedContent, AcpContentPiece, from_block, to_block};
pub use diffs::to_diffs;
pub use line::{AcpIncoming, AcpLineError, error_line, notification_line, parse, request_line, result_line};
pub use mcp::{McpDescription, McpTransport, from_mcp_server, to_mcp_server};
pub use options::{from_options, from_permission_answer, to_options, to_permission_answer};
pub use outcome::{AcpCallOutcome, from_outcome, to_outcome};
pub use plain::plain;
pub use replay::{ReplayedItem, SessionReplay};
pub use settings::{OfferedSettings, SettingRequest, to_config_options};
pub use state::{from_login_methods, hear, to_commands, to_plan};
pub use stop::{from_stop_reason, to_stop_reason};
pub use update::{AcpUpdate, AgentStateChange, from_update};
