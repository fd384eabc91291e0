//! Figures as data. A number keeps its name when the wording of its row changes, so that `cargo xtask bench --compare`
//! can compare runs of different revisions.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

/// The version of the file that [`write`] writes.
const FORMAT: u32 = 1;

/// One measured number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchNumber {
    /// Its name within its figure; in a file the figure's name and a dot stand before it.
    pub name: String,
    /// The measured value.
    pub value: f64,
    /// The unit of the value.
    pub unit: BenchUnit,
    /// The direction of an improvement.
    pub better: BetterDirection,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum BenchUnit {
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
    /// Microseconds.
    #[serde(rename = "µs")]
    Micros,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Millions of bytes.
    #[serde(rename = "MB")]
    Megabytes,
    /// Thousands of bytes.
    #[serde(rename = "KB")]
    Kilobytes,
    /// A number of things, such as connections.
    #[serde(rename = "")]
    Count,
    /// A multiple of another value of the same run.
    #[serde(rename = "×")]
    Ratio,
    /// A percentage.
    #[serde(rename = "%")]
    Percent,
}

/// The direction in which a number improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BetterDirection {
    /// Lower values are better.
    Lower,
    /// Higher values are better.
    Higher,
}

impl BenchNumber {
    /// A number for which lower is better, which is the common case.
    pub fn new(name: impl Into<String>, value: f64, unit: BenchUnit) -> BenchNumber {
        BenchNumber { name: name.into(), value, unit, better: BetterDirection::Lower }
    }

    /// A time in milliseconds.
    pub fn millis(name: impl Into<String>, time: Duration) -> BenchNumber {
        BenchNumber::new(name, time.as_secs_f64() * 1e3, BenchUnit::Millis)
    }

    /// A time in microseconds.
    pub fn micros(name: impl Into<String>, time: Duration) -> BenchNumber {
        BenchNumber::new(name, time.as_secs_f64() * 1e6, BenchUnit::Micros)
    }

    /// A time in seconds.
    pub fn seconds(name: impl Into<String>, time: Duration) -> BenchNumber {
        BenchNumber::new(name, time.as_secs_f64(), BenchUnit::Seconds)
    }

    /// A size in millions of bytes.
    pub fn megabytes(name: impl Into<String>, bytes: u64) -> BenchNumber {
        BenchNumber::new(name, bytes as f64 / 1e6, BenchUnit::Megabytes)
    }

    /// A size in thousands of bytes.
    pub fn kilobytes(name: impl Into<String>, bytes: u64) -> BenchNumber {
        BenchNumber::new(name, bytes as f64 / 1e3, BenchUnit::Kilobytes)
    }

    /// A count.
    pub fn count(name: impl Into<String>, count: usize) -> BenchNumber {
        BenchNumber::new(name, count as f64, BenchUnit::Count)
    }
}

/// Writes the numbers of a run, with the load of the machine when it began. Names must include their figure.
pub fn write(file: &Path, load: &str, numbers: &[BenchNumber]) -> Result<()> {
    let text = serde_json::to_string_pretty(
        &serde_json::json!({"format": FORMAT, "load": load, "numbers": numbers}),
    )?;
    std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BenchNumber, BenchUnit, BetterDirection, write};

    #[test]
    fn numbers_are_written_with_their_unit_and_direction() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("numbers.json");
        let delivered = BenchNumber {
            better: BetterDirection::Higher,
            ..BenchNumber::new("events.delivered", 99.5, BenchUnit::Percent)
        };
        write(&file, "0.5", &[BenchNumber::millis("start.empty", Duration::from_micros(12_500)), delivered])
            .unwrap();
        let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let expected = serde_json::json!({"format": 1, "load": "0.5", "numbers": [
            {"name": "start.empty", "value": 12.5, "unit": "ms", "better": "lower"},
            {"name": "events.delivered", "value": 99.5, "unit": "%", "better": "higher"},
        ]});
        assert_eq!(written, expected);
        assert!(write(directory.path(), "", &[]).is_err());
    }
}
