//! A checkpoint of a large repository: the first one, which stores every file, and one of a tree that has
//! not changed, which most turns begin with. Git, which has to look at the same files, stands beside it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ostler_checkpoint::{CaptureOptions, CheckpointStore};

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::process::megabytes;
use crate::report::FigureRow;
use crate::samples::{Samples, millis, seconds};
use crate::tree::git;

const TARGET: Duration = Duration::from_millis(150);

pub(super) fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let tree = bench.tree(20_000, 2_000)?;
    tree.track()?;
    let options = CaptureOptions::default();
    let (mut first, mut unchanged, mut status) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..bench.count(3, 1) {
        let folder = tempfile::Builder::new().prefix("checkpoints-").tempdir_in(bench.work.path())?;
        let store = CheckpointStore::open(folder.path())?;
        let start = Instant::now();
        let checkpoint = store.capture(&tree.root, &options)?;
        first.push(start.elapsed());
        ensure!(checkpoint.files > tree.files as u64, "not all files are in the checkpoint: {checkpoint:?}");
        // What was changed just before a capture is read once more by the next.
        store.capture(&tree.root, &options)?;
        for _ in 0..bench.count(10, 1) {
            let start = Instant::now();
            let again = store.capture(&tree.root, &options)?;
            unchanged.push(start.elapsed());
            ensure!(again == checkpoint, "an unchanged tree has another checkpoint: {again:?}");
            let start = Instant::now();
            git(&tree.root, &["status", "--porcelain"])?;
            status.push(start.elapsed());
        }
    }
    let (median, worst) = (millis(unchanged.median()), millis(unchanged.percentile(100)));
    let files = tree.files;
    Ok(vec![
        FigureRow::information(
            format!("first checkpoint of {files} files of {}, each stored and synced", megabytes(tree.bytes)),
            seconds(first.median()),
        )
        .number(BenchNumber::seconds("first", first.median())),
        FigureRow::new(
            "a checkpoint of the same, unchanged",
            "< 150 ms",
            format!("{median}, worst of {} {worst}", unchanged.count()),
            unchanged.median() < TARGET,
        )
        .bare(format!("`git status` {}", millis(status.median())))
        .number(BenchNumber::millis("unchanged", unchanged.median())),
    ])
}
