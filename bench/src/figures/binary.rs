//! The size of the program.

use std::process::Command;

use anyhow::Result;

use super::Bench;
use crate::number::Number;
use crate::process::megabytes;
use crate::report::Row;

/// The size of the binary without symbols. Release builds are stripped already.
pub(super) fn size(bench: &Bench) -> Result<Vec<Row>> {
    let stripped = bench.work.path().join("stripped");
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(bench.starter.binary()).output();
    let is_stripped = done.is_ok_and(|output| output.status.success());
    let measured = if is_stripped { &stripped } else { bench.starter.binary() };
    let bytes = std::fs::metadata(measured)?.len();
    let note = if is_stripped { "" } else { ", as it was built: `strip` does not work here" };
    Ok(vec![
        Row::information("size of the stripped binary", format!("{}{note}", megabytes(bytes)))
            .number(Number::megabytes("size", bytes)),
    ])
}
