//! The tool `search` against ripgrep, over the same files and for the same lines. Ripgrep is started anew
//! each time, as the alternative to the tool would be.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ostler_tools::Tools;
use serde_json::json;
use tokio::process::Command;

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::process::megabytes;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};
use crate::tool_caller::ToolCaller;
use crate::tree::{NEEDLE, SourceTree};

const TARGET: f64 = 1.3;
/// How many lines are asked for: the most that the tool gives, and more than there are.
const MAX_RESULTS: usize = 1_000;

/// What is searched for.
struct Query {
    name: &'static str,
    what: &'static str,
    text: &'static str,
    is_regex: bool,
}

const QUERIES: [Query; 3] = [
    Query { name: "text", what: "a text", text: NEEDLE, is_regex: false },
    Query {
        name: "regex_with_word",
        what: "a regular expression with a word in it",
        text: r"needle\s+in \w+ stack\b",
        is_regex: true,
    },
    Query {
        name: "regex",
        what: "a regular expression without one",
        text: r"\b[a-z]+_[a-z]+_\d*77_9\(",
        is_regex: true,
    },
];

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let tree = bench.tree(10_000, 6_000)?;
    let caller = ToolCaller::new(Tools::builtin(), &tree.root);
    let has_ripgrep = Command::new("rg").arg("--version").output().await.is_ok();
    if !has_ripgrep {
        eprintln!("there is no `rg` to compare with; install it with `apt-get install ripgrep`");
    }
    let mut rows = Vec::new();
    for query in QUERIES {
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        // The first round brings the files into the page cache.
        for round in 0..=bench.count(15, 1) {
            let (found, took) = ours_once(&caller, &query).await?;
            let other = if has_ripgrep { Some(theirs_once(&tree, &query).await?) } else { None };
            if let Some((lines, _)) = other {
                ensure!(found == lines, "`search` finds {found} lines for {}, `rg` {lines}", query.text);
            }
            if round > 0 {
                ours.push(took);
                theirs.extend(other.map(|(_, took)| took));
            }
        }
        rows.push(row(&tree, &query, &ours, &theirs));
    }
    Ok(rows)
}

fn row(tree: &SourceTree, query: &Query, ours: &Samples, theirs: &Samples) -> FigureRow {
    let number = BenchNumber::millis(query.name, ours.median());
    let figure = format!("`search` for {} in {} files of {}", query.what, tree.files, megabytes(tree.bytes));
    let (median, target) = (ours.median(), "≤ 1.3 × `rg`");
    if theirs.count() == 0 {
        return FigureRow { ok: None, ..FigureRow::new(figure, target, millis(median), false) }
            .bare("–")
            .number(number);
    }
    let ratio = median.as_secs_f64() / theirs.median().as_secs_f64();
    let measured = format!("{} ({ratio:.2} × `rg`)", millis(median));
    FigureRow::new(figure, target, measured, ratio <= TARGET)
        .bare(format!("`rg` {}", millis(theirs.median())))
        .number(number)
}

/// How many lines the tool finds, and how long it takes.
async fn ours_once(caller: &ToolCaller, query: &Query) -> Result<(usize, Duration)> {
    let input = json!({"query": query.text, "regex": query.is_regex, "max_results": MAX_RESULTS});
    let (details, took) = caller.call("search", &input).await?;
    ensure!(details["truncated"] == false, "there are too many lines with {}", query.text);
    let found = details["matches"].as_u64().context("`search` does not say how much it found")?;
    ensure!(found > 0, "`search` does not find {}", query.text);
    Ok((usize::try_from(found)?, took))
}

/// The same of ripgrep, which is told to search hidden files as the tool does.
async fn theirs_once(tree: &SourceTree, query: &Query) -> Result<(usize, Duration)> {
    let mut command = Command::new("rg");
    command.args([
        "--no-config",
        "--hidden",
        "--glob=!.git",
        "--line-number",
        "--no-heading",
        "--color=never",
    ]);
    if !query.is_regex {
        command.arg("--fixed-strings");
    }
    command.args(["--", query.text, "."]).current_dir(&tree.root).stdin(Stdio::null());
    let start = Instant::now();
    let output = command.output().await.context("cannot start rg")?;
    let took = start.elapsed();
    ensure!(output.status.success(), "rg: {}", String::from_utf8_lossy(&output.stderr));
    Ok((output.stdout.iter().filter(|byte| **byte == b'\n').count(), took))
}
