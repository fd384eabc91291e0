//! The binary `ostler` as a library, so that it can be tested: arguments, output, exit codes. What they start is in
//! the crate `daemon`.
//!
//! Only this crate reads arguments, environment, home and configuration; the others are handed what
//! they need.

#[macro_use]
mod output;

pub mod args;
mod commands;
pub mod config;
mod connect;
pub mod exit;
pub mod paths;
mod programs;
pub mod render;
mod resolve;
mod running_daemon;
pub mod upgrade;

pub use commands::dispatch;
