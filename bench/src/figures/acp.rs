//! What the daemon adds to an update of someone else's agent, and what its sessions share.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::load;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};
use crate::{agent, process};

const TARGET: (Duration, &str) = (Duration::from_millis(2), "< 2 ms added");

/// From the agent to the client, with fifty sessions on one process.
pub(super) async fn updates(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (count, plan) = (bench.count(50, 5), AnswerPlan::new(bench.count(100, 10), 20));
    let bare = agent::bare(count, plan).await?;
    let (daemon, _data) = bench.start_empty()?;
    let begun = Instant::now();
    let mut clients = load::agent_clients(&daemon.endpoint, &bench.workspace(), 1).await?;
    let first = begun.elapsed();
    let mut others = Samples::default();
    while clients.len() < count {
        let begun = Instant::now();
        clients.extend(load::agent_clients(&daemon.endpoint, &bench.workspace(), 1).await?);
        others.push(begun.elapsed());
    }
    let ours = load::through_daemon(&mut clients, plan).await?.latencies;
    let processes = process::children(daemon.id())?.len();
    daemon.stop()?;
    let row = |name: &str, percent: usize| {
        let (ours, bare) = (ours.percentile(percent), bare.percentile(percent));
        let added = ours.saturating_sub(bare);
        let measured = format!("{} in all, {} added", millis(ours), millis(added));
        let figure = format!("an update of an ACP agent with {count} sessions that stream, {name}");
        FigureRow::new(figure, TARGET.1, measured, added < TARGET.0)
            .bare(millis(bare))
            .number(BenchNumber::millis(format!("update_{name}"), ours))
    };
    let shared = format!("{processes} for {count} sessions");
    let made = format!("{}; the first one {}, which starts it", millis(others.median()), millis(first));
    Ok(vec![
        row("p50", 50),
        row("p99", 99),
        FigureRow::new("processes of that agent", "1", shared, processes == 1)
            .number(BenchNumber::count("processes", processes)),
        FigureRow::information("a further session of that agent", made)
            .number(BenchNumber::millis("session", others.median())),
    ])
}
