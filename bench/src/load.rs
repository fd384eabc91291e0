//! Many streams at once: through a daemon, and bare, which is straight from the mock. Both are timed
//! by the same clock, so that the difference is the daemon's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::answer::{AnswerPlan, AnswerTimings};
use crate::client::{BareClient, DaemonClient};
use crate::daemon::BenchEndpoint;
use crate::samples::Samples;

/// How long all streams together may take beyond their ideal time.
const LIMIT: Duration = Duration::from_secs(120);
/// Clients that make their session and connect at the same time.
const MAX_CONCURRENT_CLIENTS: usize = 32;

/// What was measured of many streams.
#[derive(Debug, Default)]
pub struct LoadOutcome {
    /// From the first request to the end of the last stream.
    pub wall: Duration,
    /// From the mock to the client, each delta.
    pub latencies: Samples,
    /// From the request to the first delta, each stream.
    pub firsts: Samples,
}

/// Streams straight from the mock.
pub async fn bare(mock: SocketAddr, streams: usize, plan: AnswerPlan) -> Result<LoadOutcome> {
    let mut clients = Vec::with_capacity(streams);
    for _ in 0..streams {
        clients.push(BareClient::new(mock).await?);
    }
    run(plan, &mut clients, move |client| Box::pin(client.turn(plan))).await
}

/// Streams through a daemon, with a session for each.
pub async fn through_daemon(clients: &mut Vec<DaemonClient>, plan: AnswerPlan) -> Result<LoadOutcome> {
    run(plan, clients, move |client| Box::pin(client.turn(plan))).await
}

/// Makes clients, each with a new session and a stream of its events.
pub async fn clients(door: &BenchEndpoint, workspace: &str, count: usize) -> Result<Vec<DaemonClient>> {
    let mut clients = Vec::with_capacity(count);
    let mut making = JoinSet::new();
    for _ in 0..count {
        if making.len() >= MAX_CONCURRENT_CLIENTS {
            clients.push(making.join_next().await.context("one is being made")???);
        }
        let (door, workspace) = (door.clone(), workspace.to_owned());
        making.spawn(async move { DaemonClient::new(&door, &workspace).await });
    }
    while let Some(client) = making.join_next().await {
        clients.push(client??);
    }
    Ok(clients)
}

/// The same with the agent that streams, one after the other.
pub async fn agent_clients(door: &BenchEndpoint, workspace: &str, count: usize) -> Result<Vec<DaemonClient>> {
    let mut clients = Vec::with_capacity(count);
    for _ in 0..count {
        clients.push(DaemonClient::of_agent(door, workspace).await?);
    }
    Ok(clients)
}

/// Lets all clients begin at once, and waits for the last.
pub async fn run<C, T>(plan: AnswerPlan, clients: &mut Vec<C>, turn: T) -> Result<LoadOutcome>
where
    C: Send + 'static,
    T: for<'a> Fn(&'a mut C) -> BoxFuture<'a, Result<AnswerTimings>> + Clone + Send + 'static,
{
    let ready = Arc::new(Barrier::new(clients.len() + 1));
    let mut streams = JoinSet::new();
    for mut client in clients.drain(..) {
        let (ready, turn) = (Arc::clone(&ready), turn.clone());
        streams.spawn(async move {
            ready.wait().await;
            let streamed = turn(&mut client).await;
            (client, streamed)
        });
    }
    ready.wait().await;
    let start = Instant::now();
    let mut outcome = LoadOutcome::default();
    let finish = async {
        while let Some(ended) = streams.join_next().await {
            let (client, streamed) = ended?;
            let AnswerTimings { first, latencies } = streamed?;
            outcome.firsts.push(first);
            outcome.latencies.extend(latencies);
            clients.push(client);
        }
        Ok::<(), anyhow::Error>(())
    };
    timeout(plan.ideal() + LIMIT, finish).await.context("the streams did not end")??;
    outcome.wall = start.elapsed();
    Ok(outcome)
}
