//! The native agent's loop, driven by a scripted model and small tools in a host without disk.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod answers;
mod batches;
mod calls;
mod cancel;
mod checkpoints;
mod fixture;
mod limits;
mod lineup;
mod resume;
mod reviews;
mod steering;
mod tools;
mod verify;
