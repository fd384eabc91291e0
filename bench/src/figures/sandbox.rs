//! What confinement costs: `true` run confined, beside `true` run as it is, and the probe that a daemon
//! makes when it starts.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ostler_process::Program;
use ostler_sandbox::{BackendChoice, Sandbox, SandboxBackend, SandboxProfile, SandboxSettings};
use tempfile::TempDir;
use tokio::process::Command;

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

const TARGET: Duration = Duration::from_millis(25);
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let data = tempfile::Builder::new().prefix("sandbox-").tempdir_in(bench.work.path())?;
    let mut probes = Samples::default();
    for _ in 0..bench.count(9, 1) {
        let start = Instant::now();
        Sandbox::probe(settings(bench, &data, BackendChoice::Best)?).await;
        probes.push(start.elapsed());
    }
    let empty = PathBuf::from(bench.workspace());
    let tree = bench.tree(2_000, 6_000)?;
    let in_the_open = plain(bench, &empty).await?;
    let mut rows = Vec::new();
    for (choice, name) in [(BackendChoice::Bubblewrap, "bubblewrap"), (BackendChoice::Landlock, "Landlock")] {
        let sandbox = Sandbox::probe(settings(bench, &data, choice)?).await;
        for (workspace, files, short) in [
            (&empty, "an empty workspace".to_owned(), "empty"),
            (&tree.root, format!("a repository of {} files", tree.files), "repository"),
        ] {
            let figure = format!("`true` confined by {name} in {files}");
            if sandbox.report().backend == SandboxBackend::None {
                eprintln!("{name} does not work here: {}", sandbox.report().reasons.join(" "));
                rows.push(FigureRow { ok: None, ..FigureRow::new(figure, "< 25 ms", "–", false) });
                continue;
            }
            let samples = confined(bench, &sandbox, workspace).await?;
            rows.push(
                FigureRow::new(figure, "< 25 ms", spread(&samples), samples.median() < TARGET)
                    .bare(format!("plain {}", millis(in_the_open.median())))
                    .number(BenchNumber::millis(
                        format!("{}_{short}", name.to_lowercase()),
                        samples.median(),
                    )),
            );
        }
    }
    rows.push(
        FigureRow::information("finding out what confines programs on this machine", spread(&probes))
            .number(BenchNumber::millis("probe", probes.median())),
    );
    Ok(rows)
}

fn spread(samples: &Samples) -> String {
    let (median, worst) = (millis(samples.median()), millis(samples.percentile(100)));
    format!("{median}, worst of {} {worst}", samples.count())
}

/// What a daemon's sandbox would be given.
fn settings(bench: &BenchSetup, data: &TempDir, choice: BackendChoice) -> Result<SandboxSettings> {
    let program = bench.starter.binary().canonicalize().context("cannot find the daemon's binary")?;
    Ok(SandboxSettings {
        home: std::env::var_os("HOME").map_or_else(|| "/nonexistent".into(), PathBuf::from),
        data_dir: data.path().to_owned(),
        scratch: data.path().join("scratch"),
        helper: Program::at(program),
        helper_arguments: vec!["sandbox-helper".into()],
        hidden: Vec::new(),
        hides_home: true,
        readable: Vec::new(),
        search_path: Vec::new(),
        backend_choice: choice,
        ignore_cached_probe: true,
    })
}

/// Prepares, runs and cleans up each time, as a tool call does.
async fn confined(bench: &BenchSetup, sandbox: &Sandbox, workspace: &Path) -> Result<Samples> {
    let (profile, nothing): (_, [&str; 0]) = (SandboxProfile::new(workspace), []);
    let mut samples = Samples::default();
    for _ in 0..bench.count(30, 2) {
        let start = Instant::now();
        let confined = sandbox.command(&profile, "true", nothing)?.envs([("PATH", PATH)]);
        let (mut command, confinement) = confined.prepare();
        check(command.output().await)?;
        confinement.finish();
        samples.push(start.elapsed());
    }
    Ok(samples)
}

async fn plain(bench: &BenchSetup, workspace: &Path) -> Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..bench.count(30, 2) {
        let start = Instant::now();
        let mut command = Command::new("true");
        check(command.current_dir(workspace).stdin(Stdio::null()).kill_on_drop(true).output().await)?;
        samples.push(start.elapsed());
    }
    Ok(samples)
}

/// Fails unless the command succeeded.
fn check(output: std::io::Result<Output>) -> Result<()> {
    let output = output.context("cannot start `true`")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`true` ended with {}: {errors}", output.status);
    Ok(())
}
