//! The ide door over real sockets: projects, the rules of sessions, and what is told while a turn runs.

mod admission;
mod agents;
mod client;
mod golden;
mod projects;
mod sessions;
mod turns;
