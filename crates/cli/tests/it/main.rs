//! Arguments, configuration and drawing, from outside.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod args;
mod config;
mod render;
