//! One monotonic clock for whoever sends deltas and whoever takes them, so that a delta can carry the time at which it was
//! sent. Both run in this process, or the sender in a child that is told when the count began; the daemon's clock
//! is never asked.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// When the count of this process began, and what it began with.
static START: OnceLock<(Instant, u64)> = OnceLock::new();

/// Nanoseconds since this process first asked, or since the one that it follows did.
pub fn now() -> u64 {
    let (start, before) = START.get_or_init(|| (Instant::now(), 0));
    let elapsed = start.elapsed();
    before + u64::try_from(elapsed.as_nanos()).expect("a process does not run for 584 years")
}

/// When the count began, as nanoseconds of the system's clock, for another process to follow.
pub fn epoch() -> u128 {
    let count = now();
    system() - u128::from(count)
}

/// Counts on from where another process is. To be called before anybody asks.
pub fn follow(epoch: u128) {
    let before = u64::try_from(system().saturating_sub(epoch)).unwrap_or_default();
    _ = START.set((Instant::now(), before));
}

fn system() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_nanos()).unwrap_or_default()
}
