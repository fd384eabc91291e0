//! How fast wrong tokens are answered, over all sockets together. Whoever shows the right one never waits, and a
//! program that guesses gets a few answers a second however many sockets it opens.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Refusals that are given at once.
const BURST: u32 = 20;
/// The time between two of them after that.
const EVERY: Duration = Duration::from_millis(200);

/// Lets refusals through one after the other.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the last one was, or will be, let through.
    last: Mutex<Option<Instant>>,
}

impl Pace {
    /// Waits for the turn of one more.
    pub(super) async fn wait(&self) {
        tokio::time::sleep_until(self.next(Instant::now())).await;
    }

    fn next(&self, now: Instant) -> Instant {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // As if the burst had been used up that long ago, at the earliest.
        let earliest = now.checked_sub(EVERY * BURST).unwrap_or(now);
        let next = last.map_or(earliest, |last| last.max(earliest)) + EVERY;
        *last = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::{BURST, EVERY, Pace};

    #[test]
    fn the_first_ones_are_let_through_and_the_others_in_time() {
        let (pace, mut now) = (Pace::default(), Instant::now() + EVERY * BURST);
        for _ in 0..2 {
            for _ in 0..BURST {
                assert!(pace.next(now) <= now);
            }
            for number in 1..=3 {
                assert_eq!(pace.next(now), now + EVERY * number);
            }
            // After a while there is room again, and no more than before.
            now += EVERY * BURST * 10;
        }
    }
}
