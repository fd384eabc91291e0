//! Tools of MCP servers: starts the configured servers, keeps them going, and offers what they offer
//! as tools of ours.
//!
//! A server runs once for each workspace that uses it, whatever the number of sessions there. Which
//! servers there are, what confines their processes and who may call their tools is settled elsewhere.
//! Types of the protocol do not leave this crate.

mod call;
mod config;
mod connect;
mod handler;
mod http;
mod http_client;
mod launch;
mod lines;
mod listing;
mod names;
mod pool;
mod result;
mod server;
mod servers;
mod status;
mod text;
mod tool;

pub use config::{ServerConfig, Transport};
pub use launch::{ServerLaunch, ServerSpawnFn};
pub use ostler_process::PreparedChild;
pub use servers::{McpLimits, McpServers};
pub use status::{ServerState, ServerStatus};
