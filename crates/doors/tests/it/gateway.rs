//! The gateway over real sockets, frame by frame. Every frame that comes is checked against the JSON Schema.

mod admission;
mod approvals;
mod chat;
mod client;
mod following;
mod frames;
mod golden;
mod many;
mod schema;
