//! The size of the program.

use std::process::Command;

use anyhow::Result;

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::process::megabytes;
use crate::report::FigureRow;

/// The size of the binary without symbols. Release builds are stripped already.
pub(super) fn size(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let stripped = bench.work.path().join("stripped");
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(bench.starter.binary()).output();
    let is_stripped = done.is_ok_and(|output| output.status.success());
    let measured = if is_stripped { &stripped } else { bench.starter.binary() };
    let bytes = std::fs::metadata(measured)?.len();
    let note = if is_stripped { "" } else { ", as it was built: `strip` does not work here" };
    Ok(vec![
        FigureRow::information("size of the stripped binary", format!("{}{note}", megabytes(bytes)))
            .number(BenchNumber::megabytes("size", bytes)),
    ])
}
