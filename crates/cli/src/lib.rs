//! The binary `ostler` as a library, so that it can be tested: arguments, configuration, wiring.
//!
//! Only this crate reads arguments, environment, home and configuration; the others are handed what
//! they need.

#[macro_use]
mod output;

pub mod agents;
pub mod args;
mod commands;
pub mod config;
pub mod daemon;
pub mod editors;
pub mod exit;
pub mod gateway;
mod gauge;
pub mod models;
pub mod paths;
mod previews;
pub mod programs;
pub mod project;
mod reach;
pub mod render;
mod secrets;
pub mod workshop;

pub use commands::dispatch;
