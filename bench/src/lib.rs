//! Measures the daemon as its users meet it: the released program, over its http door, with a model
//! server that keeps exact time. Its tools, its sandbox and its checkpoints are measured by themselves.
//! `README.md` says what each figure is; `main.rs` runs them.
//!
//! Nothing here is linked into the daemon, and nothing is asserted about time: the table says what
//! was measured, and people decide.

pub mod agent;
pub mod answer;
pub mod client;
pub mod clock;
pub mod daemon;
pub mod figures;
pub mod fixture;
pub mod gateway;
pub mod http_connection;
pub mod load;
pub mod mock;
pub mod number;
pub mod peers;
pub mod process;
pub mod recorded_server;
pub mod report;
pub mod samples;
pub mod sse;
pub mod terminal;
pub mod tls_server;
pub mod tool_caller;
pub mod tree;
