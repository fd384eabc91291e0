//! Which run of the machine this is. What was written in an earlier run and never synced may have been lost
//! with it.

use std::fs;

/// A name for the time since the machine came up; empty where the system does not tell.
pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Whether files that were left open then are still what was written to them.
pub(super) fn is_current_boot(then: &str) -> bool {
    !then.is_empty() && then == boot_id()
}
