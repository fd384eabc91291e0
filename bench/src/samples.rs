//! Times that were measured, and what is said of many of them.

use std::time::Duration;

/// Durations of one kind of thing.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Duration>);

impl IntoIterator for Samples {
    type Item = Duration;
    type IntoIter = std::vec::IntoIter<Duration>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Samples {
    /// Adds one.
    pub fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// Adds all of these.
    pub fn extend(&mut self, samples: impl IntoIterator<Item = Duration>) {
        self.0.extend(samples);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The one in the middle.
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// The smallest one that is not below so many of a hundred; zero when there are none.
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted.get(rank).copied().unwrap_or_default()
    }
}

/// Milliseconds with as many digits as mean something.
pub fn millis(duration: Duration) -> String {
    let millis = duration.as_secs_f64() * 1000.0;
    match millis {
        millis if millis < 10.0 => format!("{millis:.2} ms"),
        millis if millis < 100.0 => format!("{millis:.1} ms"),
        millis => format!("{millis:.0} ms"),
    }
}

/// Microseconds with two digits after the point.
pub fn micros(duration: Duration) -> String {
    format!("{:.2} µs", duration.as_secs_f64() * 1e6)
}

/// Seconds with two digits after the point.
pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Samples, millis};

    #[test]
    fn percentiles_are_samples_that_were_taken() {
        let mut samples = Samples::default();
        assert_eq!(samples.median(), Duration::ZERO);
        samples.extend((1..=200).rev().map(Duration::from_millis));
        assert_eq!(samples.median(), Duration::from_millis(100));
        assert_eq!(samples.percentile(99), Duration::from_millis(198));
        assert_eq!(samples.percentile(100), Duration::from_millis(200));
        assert_eq!(millis(samples.percentile(1)), "2.00 ms");
    }
}
