//! Many sessions that stream at once: whether all text arrives, and what it costs.

use std::time::Duration;

use anyhow::Result;

use super::Bench;
use crate::answer::Plan;
use crate::load::{self, Outcome};
use crate::number::Number;
use crate::process::{kilobytes, megabytes};
use crate::report::Row;
use crate::samples::{millis, seconds};

/// Memory that a streaming session may add.
const SESSION_TARGET: u64 = 150_000;

/// What many streams cost, bare and through a daemon.
struct Cost {
    count: usize,
    plan: Plan,
    bare: Outcome,
    outcome: Outcome,
    processor: Duration,
    peak: u64,
    added: u64,
}

pub(super) async fn thousand(bench: &Bench) -> Result<Vec<Row>> {
    let cost = cost(bench, bench.count(1000, 20)).await?;
    let each = cost.added / cost.count as u64;
    let both = |outcome: &Outcome| {
        format!("{} and {}", millis(outcome.latencies.median()), millis(outcome.latencies.percentile(99)))
    };
    Ok(vec![
        cost.row(),
        Row::new("memory that each of them adds at most", "< 150 KB", kilobytes(each), each < SESSION_TARGET)
            .number(Number::kilobytes("each", each)),
        Row::information("latency of a delta among them, p50 and p99", both(&cost.outcome))
            .bare(both(&cost.bare))
            .number(Number::millis("latency_p50", cost.outcome.latencies.median())),
    ])
}

pub(super) async fn two_hundred(bench: &Bench) -> Result<Vec<Row>> {
    Ok(vec![cost(bench, bench.count(200, 10)).await?.row()])
}

pub(super) async fn fifty(bench: &Bench) -> Result<Vec<Row>> {
    Ok(vec![cost(bench, bench.count(50, 5)).await?.row()])
}

impl Cost {
    fn row(&self) -> Row {
        let Cost { count, plan, bare, outcome, processor, peak, .. } = self;
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
        Row::new(figure, "all", measured, true)
            .bare(alone)
            .number(Number::seconds("wall", outcome.wall))
            .number(Number::seconds("processor", *processor))
            .number(Number::megabytes("peak", *peak))
            .number(Number::millis("first_delta", outcome.firsts.median()))
    }
}

/// Streams straight from the mock, then through a new daemon.
async fn cost(bench: &Bench, count: usize) -> Result<Cost> {
    let plan = Plan::new(bench.count(100, 10), 20);
    let bare = load::bare(bench.mock.address, count, plan).await?;
    let (daemon, _data) = bench.start_empty()?;
    std::thread::sleep(Duration::from_millis(500));
    let idle = daemon.memory()?.now;
    let mut clients = load::clients(&daemon.door, &bench.workspace(), count).await?;
    let before = daemon.processor()?;
    let outcome = load::through(&mut clients, plan).await?;
    let processor = daemon.processor()? - before;
    let peak = daemon.memory()?.peak;
    daemon.stop()?;
    Ok(Cost { count, plan, bare, outcome, processor, peak, added: peak.saturating_sub(idle) })
}
