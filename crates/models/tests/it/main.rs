//! The models as their callers see them: the network client against a server on this machine, and the
//! embedded model against plain requests.

#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod anthropic;
mod choice;
mod conversation;
mod demo;
mod demo_turns;
mod discovery;
mod faults;
mod openai_responses;
mod raw;
mod recording;
mod refusals;
mod replay;
mod request;
mod retry;
mod retry_wire;
mod server;
