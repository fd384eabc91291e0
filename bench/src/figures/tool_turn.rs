//! The cost of confinement in a whole turn that runs a command, measured alternately on two daemons: one with the sandbox,
//! one without.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::time::timeout;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::client::DaemonClient;
use crate::daemon::MeasuredDaemon;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

/// Time limit of a turn. Where the sandbox is unavailable, the command would wait for an approval.
const LIMIT: Duration = Duration::from_secs(30);
const UNCONFINED: &str = "[sandbox]\nmode = \"off\"\n";

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let plan = AnswerPlan::new(3, 0).after_tool();
    let folder = || tempfile::Builder::new().prefix("data-").tempdir_in(bench.work.path());
    let (data, other) = (folder()?, folder()?);
    let daemons = [bench.starter.start(data.path())?, bench.starter.start_with(other.path(), UNCONFINED)?];
    let mut clients = [client(bench, &daemons[0]).await?, client(bench, &daemons[1]).await?];
    let mut samples = [Samples::default(), Samples::default()];
    // The first turn of a daemon sets up its HTTP client; it is not counted.
    for round in 0..=bench.count(30, 2) {
        for (client, samples) in clients.iter_mut().zip(&mut samples) {
            let begun = Instant::now();
            let turn = timeout(LIMIT, client.turn(plan)).await;
            turn.context("the command does not run; `ostler doctor` says what confines programs here")??;
            if round > 0 {
                samples.push(begun.elapsed());
            }
        }
    }
    daemons.into_iter().try_for_each(MeasuredDaemon::stop)?;
    let [confined, unconfined] = samples;
    let (median, worst) = (millis(confined.median()), millis(confined.percentile(100)));
    Ok(vec![
        FigureRow::information(
            "a turn that runs `true` by the tool `shell`, confined",
            format!("{median}, worst of {} {worst}", confined.count()),
        )
        .bare(format!("unconfined {}", millis(unconfined.median())))
        .number(BenchNumber::millis("confined", confined.median()))
        .number(BenchNumber::millis("unconfined", unconfined.median())),
    ])
}

/// A client with a session that runs commands without approval.
async fn client(bench: &BenchSetup, daemon: &MeasuredDaemon) -> Result<DaemonClient> {
    let policy = json!({"approval": {"require_for_kinds": []}});
    DaemonClient::with_session(
        &daemon.endpoint,
        json!({"workspace_path": bench.workspace(), "policy": policy}),
    )
    .await
}
