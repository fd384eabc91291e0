//! An agent that speaks the Agent Client Protocol and does what its prompt says, the bad things included. It is
//! a script, since no library would let it send what it sends.

use std::path::PathBuf;

/// The script, to be run by `python3`. Its own head says what prompts it knows.
pub fn script() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/agents/fault_agent.py"))
}
