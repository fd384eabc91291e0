//! Many sessions that stream at once: whether all text arrives, and what it costs.

use std::time::Duration;

use anyhow::Result;

use super::Bench;
use crate::answer::Plan;
use crate::load::{self, Outcome};
use crate::process::{kilobytes, megabytes};
use crate::report::Row;
use crate::samples::{millis, seconds};

/// Memory that a streaming session may add.
const SESSION_TARGET: u64 = 150_000;

/// What many streams cost a daemon.
struct Cost {
    outcome: Outcome,
    processor: Duration,
    peak: u64,
    added: u64,
}

pub(super) async fn thousand(bench: &Bench) -> Result<Vec<Row>> {
    let (count, plan) = (bench.count(1000, 20), Plan::new(bench.count(100, 10), 20));
    let bare = load::bare(bench.mock.address, count, plan).await?;
    let Cost { outcome, processor, added, .. } = cost(bench, count, plan).await?;
    let each = added / count as u64;
    let ratio = outcome.wall.as_secs_f64() / bare.wall.as_secs_f64();
    let finished = format!("all, in {} ({ratio:.2} × bare)", seconds(outcome.wall));
    Ok(vec![
        Row::new(format!("{count} sessions that stream at once, without loss"), "all", finished, true)
            .bare(seconds(bare.wall)),
        Row::new("memory that each adds at most", "< 150 KB", kilobytes(each), each < SESSION_TARGET),
        Row::information("processor time of the daemon for them", seconds(processor)),
        Row::information(
            "latency of a delta among them, p50 and p99",
            format!(
                "{} and {}",
                millis(outcome.latencies.median()),
                millis(outcome.latencies.percentile(99))
            ),
        )
        .bare(format!(
            "{} and {}",
            millis(bare.latencies.median()),
            millis(bare.latencies.percentile(99))
        )),
    ])
}

pub(super) async fn fifty(bench: &Bench) -> Result<Vec<Row>> {
    let (count, plan) = (bench.count(50, 5), Plan::new(bench.count(100, 10), 20));
    let bare = load::bare(bench.mock.address, count, plan).await?;
    let Cost { outcome, processor, peak, .. } = cost(bench, count, plan).await?;
    let measured = format!(
        "{} wall, {} processor, {} peak memory, first delta {}",
        seconds(outcome.wall),
        seconds(processor),
        megabytes(peak),
        millis(outcome.firsts.median())
    );
    let figure =
        format!("{count} sessions at once, {} deltas each (ideal {})", plan.deltas, seconds(plan.ideal()));
    let bare = format!("{} wall, first delta {}", seconds(bare.wall), millis(bare.firsts.median()));
    Ok(vec![Row::information(figure, measured).bare(bare)])
}

/// Streams through a new daemon.
async fn cost(bench: &Bench, count: usize, plan: Plan) -> Result<Cost> {
    let (daemon, _data) = bench.start_empty()?;
    std::thread::sleep(Duration::from_millis(500));
    let idle = daemon.memory()?.now;
    let mut clients = load::clients(&daemon.door, &bench.workspace(), count).await?;
    let before = daemon.processor()?;
    let outcome = load::through(&mut clients, plan).await?;
    let processor = daemon.processor()? - before;
    let peak = daemon.memory()?.peak;
    daemon.stop()?;
    Ok(Cost { outcome, processor, peak, added: peak.saturating_sub(idle) })
}
