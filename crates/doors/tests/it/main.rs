//! The http door over real sockets, byte for byte: who is let in, what is refused, what is answered
//! and what streams.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod access;
mod acp;
mod agent;
mod approvals;
mod attachments;
mod bodies;
mod branch;
mod daemon;
mod document;
mod downloads;
mod events;
mod feed;
mod gateway;
mod ide;
mod jsonl;
mod login;
mod messages;
mod origins;
mod page;
mod paths;
mod places;
mod pool;
mod protocol;
mod queue;
mod refusals;
mod sessions;
mod stream;
mod table;
mod token;
mod transfer;
mod turns;
mod usage;
mod wire;
