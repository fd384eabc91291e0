//! The client against a hand-written daemon on loopback, byte for byte.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod canned_server;
mod errors;
mod events;
mod files;
mod requests;
