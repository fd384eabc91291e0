//! The jsonl door over pipes in memory, and over upgraded connections: every line that it says is checked against
//! the schema.

mod client;
mod commands;
mod connection_ends;
mod dialogs;
mod events;
mod files;
mod framing;
mod fuzz;
mod golden;
pub(crate) mod schema;
mod slow_client;
mod upgrade;
