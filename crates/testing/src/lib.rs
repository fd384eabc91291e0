//! Scripted model and agent, fixed clock and ids, fault-injecting disk; for tests only.

pub mod disk;
pub mod model;
