//! The binary from outside: its arguments and configuration, and the daemon as a real process.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod acceptance;
mod approvals_answers;
mod approvals_bypasses;
mod args;
mod attachments;
mod canary;
mod config;
mod crash;
mod daemons;
mod damage;
mod escapes;
mod escapes_processes;
mod golden;
mod mcp;
mod models;
#[path = "../../../../tests/place.rs"]
mod place;
mod process;
mod provider;
mod raw;
mod raw_server;
mod render;
mod scenario;
mod scripted;
mod streams;
mod tools_read;
mod tools_review;
mod tools_run;
mod tools_verification;
mod tools_write;
mod undo;
mod usage;
