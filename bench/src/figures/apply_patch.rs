//! The tool `apply_patch` on a long file with many hunks, none of which says at which line it belongs.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use ostler_tools::Tools;
use serde_json::json;

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};
use crate::tool_caller::ToolCaller;

const TARGET: Duration = Duration::from_millis(20);
const LINES: usize = 20_000;
const HUNKS: usize = 100;
const NAME: &str = "long.rs";
/// Lines to keep around each change.
const CONTEXT: usize = 3;

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let folder = tempfile::Builder::new().prefix("patch-").tempdir_in(bench.work.path())?;
    let caller = ToolCaller::new(Tools::builtin(), folder.path());
    let (before, after) = (text(|_| false), text(is_changed));
    let input = json!({"patch": patch()});
    let mut samples = Samples::default();
    for _ in 0..bench.count(15, 2) {
        samples.push(patched(&caller, folder.path(), &input, &before, &after).await?);
    }
    let (median, worst) = (millis(samples.median()), millis(samples.percentile(100)));
    Ok(vec![
        FigureRow::new(
            format!("`apply_patch` of {HUNKS} hunks to a file of {LINES} lines"),
            "< 20 ms",
            format!("{median}, worst of {} {worst}", samples.count()),
            samples.median() < TARGET,
        )
        .number(BenchNumber::millis("hunks", samples.median())),
    ])
}

/// Patches a fresh file, and fails unless it comes out as it should.
async fn patched(
    caller: &ToolCaller,
    folder: &Path,
    input: &serde_json::Value,
    before: &str,
    after: &str,
) -> Result<Duration> {
    std::fs::write(folder.join(NAME), before)?;
    let (_, took) = caller.call("apply_patch", input).await?;
    ensure!(std::fs::read_to_string(folder.join(NAME))? == after, "the patch was not applied as it is");
    Ok(took)
}

/// One line in the middle of each of so many equal stretches is changed.
fn is_changed(line: usize) -> bool {
    let stretch = LINES / HUNKS;
    line % stretch == stretch / 2
}

fn text(is_changed: impl Fn(usize) -> bool) -> String {
    (0..LINES).map(|number| line(number, is_changed(number)) + "\n").collect()
}

/// One line in four is the same all over the file, as braces and blank lines are.
fn line(number: usize, is_changed: bool) -> String {
    match number % 4 {
        _ if is_changed => format!("    let changed_{number} = compute(\"another\", {number});"),
        1 => "    }".to_owned(),
        _ => format!("    let value_{number} = compute(\"something\", {number});"),
    }
}

fn patch() -> String {
    let mut patch = format!("*** Begin Patch\n*** Update File: {NAME}\n");
    for changed in (0..LINES).filter(|number| is_changed(*number)) {
        patch += "@@\n";
        for number in changed - CONTEXT..=changed + CONTEXT {
            if number == changed {
                patch += &format!("-{}\n+{}\n", line(number, false), line(number, true));
            } else {
                patch += &format!(" {}\n", line(number, false));
            }
        }
    }
    patch + "*** End Patch\n"
}
