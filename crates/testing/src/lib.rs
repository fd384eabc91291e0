//! Scripted model and agent, fixed clock and ids, fault-injecting disk, a log that engines share; for tests only.

pub mod agent;
pub mod clock;
pub mod disk;
pub mod fault_agent;
pub mod host;
pub mod model;
pub mod shared_log;
