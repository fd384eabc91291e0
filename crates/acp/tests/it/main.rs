//! The protocol and our words, as tables: what comes in, and what it becomes.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod calls;
mod lines;
mod pieces;
mod states;
