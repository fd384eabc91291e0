//! Agents in child processes, in a host without disk: one that does what its prompt says, and real ones.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod checks_and_adoption;
mod client_requests;
mod faults;
mod fixture;
mod processes;
mod questions;
mod real;
mod sessions;
mod turns;
