//! Scripted model and agent, fixed clock and ids, fault-injecting disk; for tests only.
