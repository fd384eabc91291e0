//! Tests of the pure rules, from outside: random histories against the laws that every log keeps,
//! tables of refusals and outcomes, and the exact shapes that clients read.
//!
//! [`world`] drives a session as an engine would, [`audit`] reads its log and knows only the laws.
//! Disk, time and agents are left to the crates that own them.

mod approvals;
mod audit;
mod children;
mod commands;
mod conversation;
mod history_moves;
mod history_player;
mod judgement;
mod limits;
mod properties;
mod refusals;
mod reports;
mod session_driver;
mod sessions;
mod turns;
mod views;
mod wire;
