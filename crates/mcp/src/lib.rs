//! Tools of MCP servers: starts the configured servers, keeps them going, and offers what they offer
//! as tools of ours.
//!
//! A server runs once for each workspace that uses it, whatever the number of sessions there. Which
//! servers there are, what confines their processes and who may call their tools is settled elsewhere.
//! Types of the protocol do not leave this crate.

mod bounded_lines;
mod call;
mod config;
mod connect;
mod handler;
mod http_client;
mod http_transport;
mod launch;
mod result;
mod server_pool;
mod server_text;
mod servers;
mod status;
mod supervised_server;
mod tool;
mod tool_listing;
mod tool_names;

pub use config::{ServerConfig, Transport};
pub use launch::{ServerLaunch, ServerSpawnFn};
pub use ostler_process::PreparedChild;
pub use servers::{McpLimits, McpServers};
pub use status::{ServerState, ServerStatus};
