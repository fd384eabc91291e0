//! The Agent Client Protocol and our words, both ways.
//!
//! Pure: it reads and writes nothing, keeps no session and waits for nobody. Each part of the protocol has a
//! `from_…` that takes what an agent or an editor says, and a `to_…` that says it to them; `line` frames both.
//! The protocol's own types come from its official crate and go no further than this crate's two users: the
//! agent in a child process, and the door for editors.

mod agent_state;
mod call;
mod content;
mod diffs;
mod json_rpc_line;
mod mcp;
mod outcome;
mod permission_options;
mod plain_text;
mod replay;
mod settings;
mod stop_reason;
mod update;

pub use agent_state::{apply_update, from_login_methods, to_commands, to_plan};
pub use call::{AGENT_TOOL_PREFIX, Subjects, call_kind, from_call, has_ended, subjects, summary, to_call};
pub use content::{AcceptedContent, AcpContentPiece, from_block, to_block};
pub use diffs::to_diffs;
pub use json_rpc_line::{
    AcpIncoming, AcpLineError, error_line, notification_line, parse, request_line, result_line,
};
pub use mcp::{McpDescription, McpTransport, from_mcp_server, to_mcp_server};
pub use outcome::{AcpCallOutcome, from_outcome, to_call_update};
pub use permission_options::{from_options, from_permission_answer, to_options, to_permission_answer};
pub use plain_text::to_plain_line;
pub use replay::{ReplayedItem, SessionReplay};
pub use settings::{OfferedSettings, SettingRequest, to_config_options};
pub use stop_reason::{from_stop_reason, to_stop_reason};
pub use update::{AcpUpdate, AgentStateChange, from_update};
