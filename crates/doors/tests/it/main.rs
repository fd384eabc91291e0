//! The http door over real sockets, byte for byte: who is let in, what is refused, what is answered
//! and what streams.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod access;
mod agent;
mod bodies;
mod daemon;
mod events;
mod feed;
mod paths;
mod protocol;
mod stream;
mod table;
mod token;
mod wire;
