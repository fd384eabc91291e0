//! The binary from outside: its arguments and configuration, and the daemon as a real process.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod acceptance;
mod args;
mod attachments;
mod canary;
mod config;
mod crash;
mod daemons;
mod damage;
mod golden;
mod models;
mod process;
mod provider;
mod raw;
mod raw_server;
mod render;
mod scenario;
mod streams;
mod usage;
