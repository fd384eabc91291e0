//! Many sessions that stream at once: whether all text arrives, and what it costs.

use std::time::Duration;

use anyhow::Result;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::load::{self, LoadOutcome};
use crate::number::BenchNumber;
use crate::process::{kilobytes, megabytes};
use crate::report::FigureRow;
use crate::samples::{millis, seconds};

/// Memory that a streaming session may add.
const SESSION_TARGET: u64 = 150_000;

/// What many streams cost, bare and through a daemon.
struct StreamCost {
    count: usize,
    plan: AnswerPlan,
    bare: LoadOutcome,
    outcome: LoadOutcome,
    processor: Duration,
    peak: u64,
    added: u64,
}

pub(super) async fn thousand(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let cost = cost(bench, bench.count(1000, 20)).await?;
    let each = cost.added / cost.count as u64;
    let both = |outcome: &LoadOutcome| {
        format!("{} and {}", millis(outcome.latencies.median()), millis(outcome.latencies.percentile(99)))
    };
    Ok(vec![
        cost.row(),
        FigureRow::new(
            "memory that each of them adds at most",
            "< 150 KB",
            kilobytes(each),
            each < SESSION_TARGET,
        )
        .number(BenchNumber::kilobytes("each", each)),
        FigureRow::information("latency of a delta among them, p50 and p99", both(&cost.outcome))
            .bare(both(&cost.bare))
            .number(BenchNumber::millis("latency_p50", cost.outcome.latencies.median())),
    ])
}

pub(super) async fn two_hundred(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    Ok(vec![cost(bench, bench.count(200, 10)).await?.row()])
}

pub(super) async fn fifty(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    Ok(vec![cost(bench, bench.count(50, 5)).await?.row()])
}

impl StreamCost {
    fn row(&self) -> FigureRow {
        let StreamCost { count, plan, bare, outcome, processor, peak, .. } = self;
        let ratio = outcome.wall.as_secs_f64() / bare.wall.as_secs_f64();
        let measured = format!(
            "all, in {} ({ratio:.2} × bare), {} processor, {} peak memory, first delta {}",
            seconds(outcome.wall),
            seconds(*processor),
            megabytes(*peak),
            millis(outcome.firsts.median())
        );
        let (deltas, ideal) = (plan.deltas, seconds(plan.ideal()));
        let figure = format!("{count} sessions at once, {deltas} deltas each (ideal {ideal}), without loss");
        let alone = format!("{} wall, first delta {}", seconds(bare.wall), millis(bare.firsts.median()));
        FigureRow::new(figure, "all", measured, true)
            .bare(alone)
            .number(BenchNumber::seconds("wall", outcome.wall))
            .number(BenchNumber::seconds("processor", *processor))
            .number(BenchNumber::megabytes("peak", *peak))
            .number(BenchNumber::millis("first_delta", outcome.firsts.median()))
    }
}

/// Streams straight from the mock, then through a new daemon.
async fn cost(bench: &BenchSetup, count: usize) -> Result<StreamCost> {
    let plan = AnswerPlan::new(bench.count(100, 10), 20);
    let bare = load::bare(bench.mock.address, count, plan).await?;
    let (daemon, _data) = bench.start_empty()?;
    std::thread::sleep(Duration::from_millis(500));
    let idle = daemon.memory()?.now;
    let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), count).await?;
    let before = daemon.processor()?;
    let outcome = load::through_daemon(&mut clients, plan).await?;
    let processor = daemon.processor()? - before;
    let peak = daemon.memory()?.peak;
    daemon.stop()?;
    Ok(StreamCost { count, plan, bare, outcome, processor, peak, added: peak.saturating_sub(idle) })
}
