//! The native agent's loop, driven by a scripted model and small tools in a host without disk.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod answers;
mod batches;
mod calls;
mod cancel;
mod checkpoints;
mod compaction;
mod context;
mod fixture;
mod invariants;
mod late_context;
mod limits;
mod model_fallback;
mod plans;
mod resume;
mod reviews;
mod spending;
mod steering;
mod tasks;
mod tools;
mod verify;
