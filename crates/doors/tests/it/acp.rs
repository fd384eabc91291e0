//! The door for editors: one in this process over a pipe, and the protocol's own client.

mod client;
mod official;
mod prompts;
mod questions;
mod sessions;
