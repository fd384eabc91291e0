//! How long to wait between tries to come back to a daemon. Pure arithmetic; others do the waiting.

use std::time::Duration;

/// Waits that double from `first` to `longest`, for at most `tries` tries in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub first: Duration,
    /// No wait is longer.
    pub longest: Duration,
    /// How many tries in a row may fail.
    pub tries: u32,
}

impl Default for Backoff {
    /// From 0.1 s to 5 s, for about half a minute: enough for a daemon that is being restarted.
    fn default() -> Backoff {
        Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(5), tries: 11 }
    }
}

impl Backoff {
    /// How long to wait before try number `attempt`, from 1; `None` when it is time to give up.
    pub(crate) fn wait(&self, attempt: u32) -> Option<Duration> {
        if attempt > self.tries {
            return None;
        }
        let doubled = self.first.saturating_mul(1 << attempt.saturating_sub(1).min(20));
        Some(doubled.min(self.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;

    #[test]
    fn waits_double_up_to_the_longest_and_then_end() {
        let backoff = Backoff::default();
        let waits: Vec<u128> =
            (1..).map_while(|attempt| backoff.wait(attempt)).map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000, 5000]);
    }
}
