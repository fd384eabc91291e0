//! The http door over real sockets, byte for byte: who is let in, what is refused, what is answered
//! and what streams.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod access;
mod acp;
mod api_routes;
mod approvals;
mod attachments;
mod auth_throttle;
mod bodies;
mod daemon;
mod downloads;
mod events;
mod export_import;
mod feed;
mod fork_and_compact;
mod gateway;
mod ide;
mod jsonl;
mod login;
mod message_driven_agent;
mod messages;
mod openapi_document;
mod origins;
mod page;
mod paths;
mod pickers;
mod pool;
mod protocol;
mod queue;
mod raw_http;
mod sessions;
mod stream;
mod token;
mod turns;
mod usage;
