//! Agents of the pool: a request to each of many at once, and what a model is shown of one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::BenchSetup;
use crate::answer::{AnswerPlan, AssembledAnswer};
use crate::clock;
use crate::daemon::BenchEndpoint;
use crate::http_connection::HttpConnection;
use crate::load;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis, seconds};

/// Agents that are made at the same time.
const MAX_CONCURRENT_AGENTS: usize = 32;
/// How long all answers together may take beyond their ideal time.
const LIMIT: Duration = Duration::from_secs(120);
/// Requests for the context, and those before that are not counted.
const REQUESTS: usize = 50;
const WARM_UP_REQUESTS: usize = 5;
const CONTEXT_TARGET: Duration = Duration::from_millis(5);

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (count, plan) = (bench.count(1000, 20), AnswerPlan::new(bench.count(50, 5), 20));
    let bare = load::bare(bench.mock.address, count, plan).await?;
    let (daemon, _data) = bench.start_empty()?;
    let agents = agents(&daemon.endpoint, &bench.workspace(), count).await?;
    let before = daemon.processor()?;
    let wall = send(agents, plan).await?;
    let processor = daemon.processor()? - before;
    let context = context(&daemon.endpoint, bench.count(REQUESTS, 5)).await?;
    daemon.stop()?;
    let ratio = wall.as_secs_f64() / bare.wall.as_secs_f64();
    let finished = format!("all, in {} ({ratio:.2} × bare), {} processor", seconds(wall), seconds(processor));
    let both = format!("{}, p99 {}", millis(context.median()), millis(context.percentile(99)));
    Ok(vec![
        FigureRow::new(
            format!("{count} agents' `send` at once, each answered in full"),
            "all",
            finished,
            true,
        )
        .bare(seconds(bare.wall))
        .number(BenchNumber::seconds("wall", wall))
        .number(BenchNumber::seconds("processor", processor)),
        FigureRow::new(
            "what the model is shown of a session",
            "< 5 ms",
            both,
            context.median() < CONTEXT_TARGET,
        )
        .number(BenchNumber::millis("context", context.median())),
    ])
}

/// Makes agents, each with a connection of its own.
async fn agents(
    door: &BenchEndpoint,
    workspace: &str,
    count: usize,
) -> Result<Vec<(String, HttpConnection)>> {
    let mut agents = Vec::with_capacity(count);
    let mut making = JoinSet::new();
    for number in 0..count {
        if making.len() >= MAX_CONCURRENT_AGENTS {
            agents.push(making.join_next().await.context("one is being made")???);
        }
        let (door, name, cwd) = (door.clone(), format!("agent-{number}"), workspace.to_owned());
        making.spawn(async move {
            let mut connection = door.connect().await?;
            call(&mut connection, "/rpc", "create_agent", json!({"agent_id": name, "cwd": cwd})).await?;
            Ok::<_, anyhow::Error>((name, connection))
        });
    }
    while let Some(agent) = making.join_next().await {
        agents.push(agent??);
    }
    Ok(agents)
}

/// Lets all agents be asked at once, and returns how long it took until the last had answered.
async fn send(agents: Vec<(String, HttpConnection)>, plan: AnswerPlan) -> Result<Duration> {
    let ready = Arc::new(Barrier::new(agents.len() + 1));
    let mut asking = JoinSet::new();
    for (name, mut connection) in agents {
        let ready = Arc::clone(&ready);
        asking.spawn(async move {
            ready.wait().await;
            let params = json!({"content": plan.prompt()});
            let result = call(&mut connection, &format!("/agent/{name}"), "send", params).await?;
            let mut answer = AssembledAnswer::new(plan);
            answer.append(result["content"].as_str().context("an answer has content")?, clock::now())?;
            answer.check()
        });
    }
    ready.wait().await;
    let start = Instant::now();
    let finish = async {
        while let Some(answered) = asking.join_next().await {
            answered??;
        }
        Ok::<(), anyhow::Error>(())
    };
    timeout(plan.ideal() + LIMIT, finish).await.context("the agents did not answer")??;
    Ok(start.elapsed())
}

/// Asks what the model is shown of one of the agents' sessions.
async fn context(door: &BenchEndpoint, requests: usize) -> Result<Samples> {
    let mut connection = door.connect().await?;
    let list = call(&mut connection, "/rpc", "list_agents", json!({})).await?;
    let session = list["agents"][0]["session_id"].as_str().context("an agent has a session")?.to_owned();
    let path = format!("/v1/sessions/{session}/context");
    let mut samples = Samples::default();
    for request in 0..WARM_UP_REQUESTS + requests {
        let start = Instant::now();
        let answer = connection.ask("GET", &path, None).await?;
        if request >= WARM_UP_REQUESTS {
            samples.push(start.elapsed());
        }
        let shown: Value = serde_json::from_slice(&answer)?;
        ensure!(shown["messages"].as_u64() >= Some(2), "{path} shows {shown}");
    }
    Ok(samples)
}

/// Calls a method, and returns its result.
async fn call(connection: &mut HttpConnection, path: &str, method: &str, params: Value) -> Result<Value> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut response: Value = serde_json::from_slice(&connection.ask("POST", path, Some(&body)).await?)?;
    ensure!(response.get("error").is_none(), "{method} at {path}: {response}");
    Ok(response["result"].take())
}
