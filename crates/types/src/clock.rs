//! Where times and ids come from. The rules take them as arguments; everybody else is handed a
//! [`Clock`], so that tests can fix both.

use jiff::Timestamp;
use uuid::Uuid;

/// A source of times and ids. The daemon's reads the system; a test's counts.
pub trait Clock: Send + Sync + 'static {
    /// The time now, to the millisecond.
    fn now(&self) -> Timestamp;
    /// A new UUIDv7, greater than every one before.
    fn uuid(&self) -> Uuid;
}
