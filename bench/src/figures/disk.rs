//! The disk by itself, without a daemon: what every durable answer has to wait for on this machine.

use std::io::Write;
use std::time::Instant;

use anyhow::Result;

use super::BenchSetup;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

/// About a small record.
const BYTES: [u8; 400] = [b'.'; 400];

pub(super) fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let mut file = std::fs::File::create(bench.work.path().join("disk"))?;
    let mut samples = Samples::default();
    for _ in 0..bench.count(200, 10) {
        let start = Instant::now();
        file.write_all(&BYTES)?;
        file.sync_data()?;
        samples.push(start.elapsed());
    }
    let measured = format!("{}, p99 {}", millis(samples.median()), millis(samples.percentile(99)));
    Ok(vec![FigureRow::information("the disk alone: a small append and its `fdatasync`", measured)])
}
