//! The binary from outside: its arguments and configuration, and the daemon as a real process.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod acceptance;
mod acp;
mod approvals_answers;
mod approvals_bypasses;
mod args;
mod attachments;
mod branch;
mod canary;
mod config;
mod context;
mod context_checks;
mod context_child_approvals;
mod context_children;
mod context_compaction;
mod context_files;
mod context_interleavings;
mod context_loop;
mod context_window;
mod crash;
mod daemons;
mod damage;
mod doors_together;
mod escapes;
mod escapes_processes;
mod escapes_repositories;
mod gateway;
mod golden;
mod ide;
mod mcp;
mod models;
#[path = "../../../../tests/place.rs"]
mod place;
mod pool;
mod process;
mod project;
mod provider;
mod raw;
mod raw_server;
mod render;
mod rpc;
mod scenario;
mod scripted;
mod streams;
mod tools_read;
mod tools_review;
mod tools_run;
mod tools_verification;
mod tools_write;
mod transfer;
mod undo;
mod usage;
