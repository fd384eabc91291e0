//! What the daemon adds to the time of a delta, to that of the first one of a turn, and to that of the first one of a
//! new session.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::client::{BareClient, DaemonClient};
use crate::load;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

const MEDIAN_TARGET: (Duration, &str) = (Duration::from_millis(1), "< 1 ms added");
const WORST_TARGET: (Duration, &str) = (Duration::from_millis(5), "< 5 ms added");
const FIRST_TARGET: Duration = Duration::from_millis(10);
/// Turns that one session is given before the next one is taken.
const TURNS_EACH: usize = 10;

/// From the mock to the client, with a hundred sessions that stream.
pub(super) async fn deltas(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (count, plan) = (bench.count(100, 5), AnswerPlan::new(bench.count(100, 10), 20));
    let bare = load::bare(bench.mock.address, count, plan).await?.latencies;
    let (daemon, _data) = bench.start_empty()?;
    let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), count).await?;
    let ours = load::through_daemon(&mut clients, plan).await?.latencies;
    daemon.stop()?;
    let row = |name: &str, percent: usize, (target, words): (Duration, &str)| {
        let (ours, bare) = (ours.percentile(percent), bare.percentile(percent));
        let added = ours.saturating_sub(bare);
        let measured = format!("{} in all, {} added", millis(ours), millis(added));
        let figure = format!("latency of a delta with {count} sessions that stream, {name}");
        FigureRow::new(figure, words, measured, added < target)
            .bare(millis(bare))
            .number(BenchNumber::millis(name, ours))
    };
    Ok(vec![row("p50", 50, MEDIAN_TARGET), row("p99", 99, WORST_TARGET)])
}

/// From the request to the first delta, on a daemon that does nothing else.
pub(super) async fn first_delta(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (turns, plan) = (bench.count(100, 4), AnswerPlan::new(3, 1));
    let (daemon, _data) = bench.start_empty()?;
    let (mut bare, mut ours) = (Samples::default(), Samples::default());
    let mut direct = BareClient::new(bench.mock.address).await?;
    // The first turn of a daemon sets up its HTTP client, which no later one does.
    let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), 1).await?;
    let coldest = clients[0].turn(plan).await?.first;
    for turn in 0..turns {
        if turn % TURNS_EACH == 0 {
            clients = load::clients(&daemon.endpoint, &bench.workspace(), 1).await?;
        }
        bare.push(direct.turn(plan).await?.first);
        ours.push(clients[0].turn(plan).await?.first);
    }
    daemon.stop()?;
    let added = |percent: usize| ours.percentile(percent).saturating_sub(bare.percentile(percent));
    let measured = format!(
        "{} in all, {} added, p99 {} added",
        millis(ours.median()),
        millis(added(50)),
        millis(added(99))
    );
    let bare = format!("{}, p99 {}", millis(bare.median()), millis(bare.percentile(99)));
    Ok(vec![
        FigureRow::new(
            "first delta of a turn, its message on disk first",
            "< 10 ms added",
            measured,
            added(50) < FIRST_TARGET,
        )
        .bare(bare)
        .number(BenchNumber::millis("turn", ours.median())),
        FigureRow::information("first delta of a daemon's very first turn", millis(coldest))
            .number(BenchNumber::millis("coldest", coldest)),
    ])
}

/// From asking for a new session to the first delta of its first turn, with all that a client does between: make the
/// session, follow it, send the message. A bare client connects and asks.
pub(super) async fn first_of_session(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (sessions, plan) = (bench.count(100, 4), AnswerPlan::new(3, 1));
    let (daemon, _data) = bench.start_empty()?;
    let (mut bare, mut ours) = (Samples::default(), Samples::default());
    load::clients(&daemon.endpoint, &bench.workspace(), 1).await?[0].turn(plan).await?;
    for _ in 0..sessions {
        let begun = Instant::now();
        let mut direct = BareClient::new(bench.mock.address).await?;
        let connected = begun.elapsed();
        bare.push(connected + direct.turn(plan).await?.first);
        let begun = Instant::now();
        let mut client = DaemonClient::new(&daemon.endpoint, &bench.workspace()).await?;
        let made = begun.elapsed();
        ours.push(made + client.turn(plan).await?.first);
    }
    daemon.stop()?;
    let both =
        |samples: &Samples| format!("{}, p99 {}", millis(samples.median()), millis(samples.percentile(99)));
    Ok(vec![
        FigureRow::information("first delta of a new session, from asking for the session", both(&ours))
            .bare(both(&bare))
            .number(BenchNumber::millis("session", ours.median())),
    ])
}
