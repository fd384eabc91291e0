//! How fast those are answered who show a wrong token, cookie or code, over all doors together. Whoever shows the right
//! one never waits and is counted nowhere, and neither is a request that shows nothing: it guesses nothing.
//!
//! A program that guesses gets a few answers a second however many connections it opens. What waits for such an answer is
//! bounded too, so that nobody fills the daemon with connections that wait: who comes later is told to try again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many refusals are given, and how fast.
#[derive(Debug, Clone, Copy)]
pub struct AuthThrottleLimits {
    /// Those that are given at once.
    pub burst: u32,
    /// The time between two of them after that.
    pub interval: Duration,
    /// How many may wait for theirs.
    pub max_pending: u32,
}

impl Default for AuthThrottleLimits {
    fn default() -> AuthThrottleLimits {
        AuthThrottleLimits { burst: 20, interval: Duration::from_millis(200), max_pending: 32 }
    }
}

/// Lets refusals through one after the other.
#[derive(Debug, Default)]
pub(crate) struct AuthThrottle {
    limits: AuthThrottleLimits,
    /// When the last one was, or will be, let through.
    last: Mutex<Option<Instant>>,
}

/// So many wait for their refusal that one more is not taken.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyAuthFailures {
    /// When it can be tried again.
    pub retry_after: Duration,
}

impl AuthThrottle {
    pub(crate) fn new(pace: AuthThrottleLimits) -> AuthThrottle {
        AuthThrottle { limits: pace, last: Mutex::new(None) }
    }

    /// Waits for the turn of one more, unless too many do.
    pub(crate) async fn wait(&self) -> Result<(), TooManyAuthFailures> {
        tokio::time::sleep_until(self.next(Instant::now())?).await;
        Ok(())
    }

    /// When one more is let through. A client that hangs up keeps its place: what is bounded is the time that all
    /// of them take, and with it how many there can be.
    fn next(&self, now: Instant) -> Result<Instant, TooManyAuthFailures> {
        let AuthThrottleLimits { burst: at_once, interval: every, max_pending: waiting } = self.limits;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // As if those at once had been used up that long ago, at the earliest.
        let earliest = now.checked_sub(every * at_once).unwrap_or(now);
        let next = last.map_or(earliest, |last| last.max(earliest)) + every;
        if next > now + every * waiting {
            return Err(TooManyAuthFailures { retry_after: next - now });
        }
        *last = Some(next);
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::{AuthThrottle, AuthThrottleLimits, TooManyAuthFailures};

    #[test]
    fn the_first_ones_are_let_through_the_next_in_time_and_the_others_are_told() {
        let AuthThrottleLimits { burst: at_once, interval: every, max_pending: waiting } =
            AuthThrottleLimits::default();
        let (refusals, mut now) = (AuthThrottle::default(), Instant::now() + every * at_once);
        for _ in 0..2 {
            for _ in 0..at_once {
                assert!(refusals.next(now).unwrap() <= now);
            }
            for number in 1..=waiting {
                assert_eq!(refusals.next(now), Ok(now + every * number));
            }
            for _ in 0..1000 {
                // However many are told so, the wait grows no longer.
                assert_eq!(
                    refusals.next(now),
                    Err(TooManyAuthFailures { retry_after: every * (waiting + 1) })
                );
            }
            assert_eq!(refusals.next(now + every), Ok(now + every * (waiting + 1)));
            // After a while there is room again, and no more than before.
            now += every * at_once * 10;
        }
    }
}
