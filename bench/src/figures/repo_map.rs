//! The tool `repo_map`: the first map of a repository, the next one, and the first one after a restart.

use std::time::Duration;

use anyhow::{Result, ensure};
use ostler_tools::{ToolSettings, Tools};
use serde_json::json;

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};
use crate::tool_caller::ToolCaller;
use crate::tree::SourceTree;

const COLD_TARGET: Duration = Duration::from_secs(2);
const WARM_TARGET: Duration = Duration::from_millis(100);

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let tree = bench.tree(2_000, 6_000)?;
    let (mut cold, mut warm, mut restarted) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..bench.count(5, 1) {
        let folder = tempfile::Builder::new().prefix("maps-").tempdir_in(bench.work.path())?;
        let caller = || {
            let map_cache = Some(folder.path().to_owned());
            ToolCaller::new(Tools::new(ToolSettings { map_cache, ..ToolSettings::default() }), &tree.root)
        };
        let first = caller();
        cold.push(map(&first, &tree).await?);
        warm.push(map(&first, &tree).await?);
        warm.push(map(&first, &tree).await?);
        restarted.push(map(&caller(), &tree).await?);
    }
    let files = tree.files;
    let worst = |samples: &Samples| {
        let (median, worst) = (millis(samples.median()), millis(samples.percentile(100)));
        format!("{median}, worst of {} {worst}", samples.count())
    };
    Ok(vec![
        FigureRow::new(
            format!("first `repo_map` of a repository with {files} source files in six languages"),
            "< 2 s",
            worst(&cold),
            cold.median() < COLD_TARGET,
        )
        .number(BenchNumber::millis("cold", cold.median())),
        FigureRow::new(
            "the next `repo_map`, nothing changed",
            "< 100 ms",
            worst(&warm),
            warm.median() < WARM_TARGET,
        )
        .number(BenchNumber::millis("warm", warm.median())),
        FigureRow::information("the first `repo_map` after a restart, nothing changed", worst(&restarted))
            .number(BenchNumber::millis("restarted", restarted.median())),
    ])
}

/// Makes a map once, and fails unless it knows every file.
async fn map(caller: &ToolCaller, tree: &SourceTree) -> Result<Duration> {
    let (details, took) = caller.call("repo_map", &json!({})).await?;
    ensure!(
        details["all_files"] == tree.files,
        "`repo_map` knows {} of {} files",
        details["all_files"],
        tree.files
    );
    Ok(took)
}
