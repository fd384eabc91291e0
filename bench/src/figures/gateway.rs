//! The gateway: what a delta costs there beside the http door, and how many can look on at one stream.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinSet;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::clock;
use crate::daemon::MeasuredDaemon;
use crate::gateway::BenchGatewaySocket;
use crate::load::{self, LoadOutcome};
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, micros, millis, seconds};

/// Sockets that connect at the same time.
const PREPARE: usize = 32;
/// How often each door has its turn.
const ROUNDS: usize = 9;
/// Memory that an idle socket may take in the daemon.
const SOCKET_TARGET: u64 = 10_000;

/// A hundred sessions that stream, over one door and over the other by turns, on one daemon.
pub(super) async fn deltas(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    raise_file_limit();
    let (count, plan) = (bench.count(100, 5), AnswerPlan::new(bench.count(200, 10), 20).spread_evenly());
    let (daemon, _data) = bench.start_empty()?;
    let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), count).await?;
    let mut keys = Vec::with_capacity(count);
    for mut socket in open(&daemon, count).await? {
        keys.push(socket.session().await?);
    }
    // What a session or a turn costs is not what a delta costs.
    let turn = AnswerPlan::new(1, 20);
    let deltas = u32::try_from(count * (plan.deltas - turn.deltas))?;
    // The machine is not equally fast all the time, so a round counts as a whole.
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    let (mut gateway, mut http) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        load::through_daemon(&mut clients, turn).await?;
        let (turns, _) = daemon.cost(load::through_daemon(&mut clients, turn)).await?;
        let (cost, outcome) = daemon.cost(load::through_daemon(&mut clients, plan)).await?;
        theirs.push(cost.saturating_sub(turns) / deltas);
        http.extend(outcome.latencies);
        // A socket that nobody reads while the others have their turn would be taken for dead.
        let mut sockets = open(&daemon, count).await?.into_iter().zip(keys.iter().cloned()).collect();
        stream(&mut sockets, turn).await?;
        let (turns, _) = daemon.cost(stream(&mut sockets, turn)).await?;
        let (cost, outcome) = daemon.cost(stream(&mut sockets, plan)).await?;
        ours.push(cost.saturating_sub(turns) / deltas);
        gateway.extend(outcome.latencies);
    }
    daemon.stop()?;
    let part = median_part(&ours, &theirs);
    Ok(vec![
        FigureRow::new(
            format!("processor time for a delta over the gateway, {count} sessions that stream"),
            "no more than http",
            format!("{}, {part:.2} of http in the median round", micros(ours.median())),
            part < 1.005,
        )
        .bare(format!("http door {}", micros(theirs.median())))
        .number(BenchNumber::micros("delta", ours.median())),
        FigureRow::information(
            "latency of such a delta, p50 and p99",
            format!("{} and {}", millis(gateway.median()), millis(gateway.percentile(99))),
        )
        .bare(format!("http door {} and {}", millis(http.median()), millis(http.percentile(99))))
        .number(BenchNumber::millis("latency_p50", gateway.median())),
    ])
}

/// The median of what each is of the other of the same round.
fn median_part(ours: &Samples, theirs: &Samples) -> f64 {
    let pairs = ours.clone().into_iter().zip(theirs.clone());
    let mut parts: Vec<f64> = pairs.map(|(our, their)| our.as_secs_f64() / their.as_secs_f64()).collect();
    parts.sort_unstable_by(f64::total_cmp);
    parts.get(parts.len() / 2).copied().unwrap_or_default()
}

/// Thousands of sockets that look on at one session.
pub(super) async fn fan_out(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    raise_file_limit();
    let (count, plan) = (bench.count(5000, 50), AnswerPlan::new(bench.count(50, 5), 200));
    let (daemon, _data) = bench.start_empty()?;
    std::thread::sleep(Duration::from_millis(500));
    let idle = daemon.memory()?.now;
    let mut sockets = open(&daemon, count).await?;
    let each = daemon.memory()?.now.saturating_sub(idle) / count as u64;
    let key = sockets[0].session().await?;
    for socket in &mut sockets {
        socket.follow(&key).await?;
    }
    let before = daemon.processor()?;
    let start = Instant::now();
    let mut readers = JoinSet::new();
    sockets[0].say(&key, plan).await?;
    for mut socket in sockets {
        readers.spawn(async move { socket.answer(plan).await });
    }
    let mut latencies = Samples::default();
    while let Some(answer) = readers.join_next().await {
        latencies.extend(answer??.latencies);
    }
    let (wall, processor) = (start.elapsed(), daemon.processor()? - before);
    daemon.stop()?;
    let sent = u32::try_from(count * plan.deltas).unwrap_or(u32::MAX);
    let ideal = seconds(plan.ideal());
    Ok(vec![
        FigureRow::new(
            format!("{count} sockets that follow one stream of {} deltas, without loss", plan.deltas),
            "all",
            format!(
                "all, in {} (ideal {ideal}), {} processor for each frame sent",
                seconds(wall),
                micros(processor / sent)
            ),
            true,
        )
        .number(BenchNumber::micros("frame", processor / sent)),
        FigureRow::information(
            "latency of a delta among them, p50 and p99",
            format!("{} and {}", millis(latencies.median()), millis(latencies.percentile(99))),
        )
        .number(BenchNumber::millis("latency_p50", latencies.median())),
        FigureRow::new(
            format!("memory that each of {count} idle sockets adds"),
            "< 10 KB",
            format!("{each} bytes"),
            each < SOCKET_TARGET,
        )
        .number(BenchNumber::kilobytes("socket", each)),
    ])
}

/// Opens sockets, some of them at the same time.
async fn open(daemon: &MeasuredDaemon, count: usize) -> Result<Vec<BenchGatewaySocket>> {
    let mut sockets = Vec::with_capacity(count);
    let mut opening = JoinSet::new();
    for _ in 0..count {
        if opening.len() >= PREPARE {
            sockets.push(opening.join_next().await.context("one is being opened")???);
        }
        let door = daemon.endpoint.clone();
        opening.spawn(async move { BenchGatewaySocket::open(&door).await });
    }
    while let Some(socket) = opening.join_next().await {
        sockets.push(socket??);
    }
    Ok(sockets)
}

/// Streams on every socket at once.
async fn stream(sockets: &mut Vec<(BenchGatewaySocket, String)>, plan: AnswerPlan) -> Result<LoadOutcome> {
    load::run(plan, sockets, move |(socket, key)| {
        Box::pin(async move {
            let asked = clock::now();
            socket.say(key, plan).await?;
            socket.answer(plan).await?.into_timings(asked)
        })
    })
    .await
}

/// Lets this process have as many connections as the system allows.
fn raise_file_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // With fewer files the figure cannot be measured, and says so by itself.
    _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
