//! One monotonic clock for the mock server and the clients, so that a delta can carry the time at
//! which it was sent. Both run in this process; the daemon's clock is never asked.

use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds since this process first asked.
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).expect("a process does not run for 584 years")
}
