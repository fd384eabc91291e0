//! The protocol and our words, as tables: what comes in, and what it becomes.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]
#![allow(clippy::needless_pass_by_value, reason = "tables of values are easier to read without references")]

mod calls;
mod content;
mod lines;
mod states;
