//! Scripted model and agent, fixed clock and ids, fault-injecting disk; for tests only.

pub mod agent;
pub mod clock;
pub mod disk;
pub mod fault_agent;
pub mod host;
pub mod model;
