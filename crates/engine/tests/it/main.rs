//! The engine with a real log and a real index in a temporary directory, and an agent that does what
//! each test says.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod approvals;
mod checking_subscriber;
mod child_faults;
mod child_restarts;
mod children;
mod faults;
mod feed;
mod fixture;
mod fork;
mod long;
mod ownership;
mod ownership_seeds;
mod readable;
mod restarts;
mod sessions;
mod streams;
mod turns;
mod undo;
mod usage;
mod views;
mod worktrees;
