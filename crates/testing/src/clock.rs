//! Times and ids that are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use ostler_types::Clock;
use uuid::Uuid;

/// The first time that a clock tells: 2026-01-01T00:00:00Z, in milliseconds.
const START: i64 = 1_767_225_600_000;

/// A clock that moves on by a millisecond whenever it is read, and counts ids. Share one between two
/// engines on the same directory, so that the second makes no id of the first again.
#[derive(Debug, Default)]
pub struct FixedClock {
    times: AtomicU64,
    ids: AtomicU64,
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        let passed = self.times.fetch_add(1, Ordering::Relaxed);
        let passed = i64::try_from(passed).expect("no test reads the clock 2^63 times");
        Timestamp::from_millisecond(START + passed).expect("the first years of the count are times")
    }

    /// The counter stands in the digits of the time, so that the ids sort like those of version 7, and
    /// again in the last digits, which are the ones that people compare.
    fn uuid(&self) -> Uuid {
        let number = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        let time = START.unsigned_abs() + number;
        let version_and_variant: u128 = 0x7000_8000_0000_0000_0000;
        Uuid::from_u128((u128::from(time) << 80) | version_and_variant | u128::from(number))
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::Clock;

    use super::FixedClock;

    #[test]
    fn times_and_ids_grow_and_repeat_in_the_next_run() {
        let (one, two) = (FixedClock::default(), FixedClock::default());
        assert_eq!(one.now().to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(one.now().to_string(), "2026-01-01T00:00:00.001Z");
        let ids: Vec<_> = (0..300).map(|_| one.uuid()).collect();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        assert!(ids.iter().all(|id| id.get_variant() == uuid::Variant::RFC4122));
        assert_eq!(two.uuid(), ids[0]);
    }
}
