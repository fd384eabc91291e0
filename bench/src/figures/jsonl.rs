//! What a delta costs the daemon over lines of JSON, beside what it costs over SSE.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::daemon::MeasuredDaemon;
use crate::load;
use crate::number::BenchNumber;
use crate::report::FigureRow;

/// How long all streams together may take beyond their ideal time.
const LIMIT: Duration = Duration::from_secs(120);
/// How often each way has its turn.
const ROUNDS: usize = 3;

/// The same streams by turns, on one daemon: each on a connection of its own over SSE, and all on one over lines.
pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (count, plan) = (bench.count(100, 5), AnswerPlan::new(bench.count(200, 10), 10));
    let (daemon, _data) = bench.start_empty()?;
    let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), count).await?;
    let mut lines = BenchJsonlClient::open(&daemon, &bench.workspace()).await?;
    let sessions = lines.sessions(count).await?;
    // What a session or a turn costs is not what a delta costs.
    let turn = AnswerPlan::new(1, 10);
    load::through_daemon(&mut clients, turn).await?;
    lines.stream(&sessions, turn).await?;
    let (mut over_sse, mut over_lines, mut updates) = (Duration::ZERO, Duration::ZERO, 0);
    for _ in 0..ROUNDS {
        let (turns, _) = daemon.cost(load::through_daemon(&mut clients, turn)).await?;
        let (cost, _) = daemon.cost(load::through_daemon(&mut clients, plan)).await?;
        over_sse += cost.saturating_sub(turns);
        let (turns, _) = daemon.cost(lines.stream(&sessions, turn)).await?;
        let (cost, told) = daemon.cost(lines.stream(&sessions, plan)).await?;
        over_lines += cost.saturating_sub(turns);
        updates += told;
    }
    drop(lines);
    daemon.stop()?;
    let deltas = u32::try_from(ROUNDS * count * (plan.deltas - turn.deltas))?;
    let micros = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    let measured = format!("{}, in {updates} updates of {deltas} deltas", micros(over_lines / deltas));
    let figure = format!("one delta over JSON lines, {count} sessions on one connection, processor time");
    Ok(vec![
        FigureRow::information(figure, measured)
            .bare(format!("over SSE {}", micros(over_sse / deltas)))
            .number(BenchNumber::micros("delta", over_lines / deltas))
            .number(BenchNumber::micros("delta_over_sse", over_sse / deltas)),
    ])
}

/// A connection that speaks lines of JSON.
struct BenchJsonlClient {
    stream: BufReader<TcpStream>,
    line: String,
    first: String,
}

impl BenchJsonlClient {
    async fn open(daemon: &MeasuredDaemon, workspace: &str) -> Result<BenchJsonlClient> {
        let stream = BufReader::new(daemon.endpoint.upgrade("/jsonl", "ostler-jsonl").await?);
        let mut lines = BenchJsonlClient { stream, line: String::new(), first: String::new() };
        lines.send(&json!({"cwd": workspace})).await?;
        let ready = lines.next().await?;
        lines.first = ready["primary_session_id"].as_str().context("there is a first session")?.to_owned();
        Ok(lines)
    }

    /// So many sessions, the first among them.
    async fn sessions(&mut self, count: usize) -> Result<Vec<String>> {
        let mut sessions = vec![self.first.clone()];
        while sessions.len() < count {
            self.send(&json!({"type": "start_session"})).await?;
            let started = self.next().await?;
            sessions.push(started["session_id"].as_str().context("a session is started")?.to_owned());
        }
        Ok(sessions)
    }

    /// Has every session stream an answer, and proves that each is whole. Returns how many updates there were.
    async fn stream(&mut self, sessions: &[String], plan: AnswerPlan) -> Result<usize> {
        timeout(plan.ideal() + LIMIT, self.streamed(sessions, plan)).await?
    }

    async fn streamed(&mut self, sessions: &[String], plan: AnswerPlan) -> Result<usize> {
        for session in sessions {
            self.send(&json!({"type": "prompt", "text": plan.prompt(), "session_id": session})).await?;
        }
        let (mut updates, mut ended) = (0, 0);
        while ended < sessions.len() {
            self.read().await?;
            // Parsing what is long and frequent would take processor time from the daemon.
            if self.line.contains("\"event\":{\"type\":\"message_update\"") {
                updates += 1;
                continue;
            }
            let frame: Value = serde_json::from_str(&self.line)?;
            ensure!(frame["type"] != "error" && frame["event"]["type"] != "error", "{frame}");
            if frame["event"]["type"] == "agent_end" {
                ended += 1;
                let said = frame["event"]["data"][0].as_array().and_then(|messages| messages.last().cloned());
                let text = said.unwrap_or_default()["content"][0]["text"].as_str().unwrap_or_default().len();
                ensure!(text == plan.deltas * plan.cell, "an answer has {text} bytes");
            }
        }
        Ok(updates)
    }

    async fn send(&mut self, frame: &Value) -> Result<()> {
        Ok(self.stream.get_mut().write_all(format!("{frame}\n").as_bytes()).await?)
    }

    async fn next(&mut self) -> Result<Value> {
        self.read().await?;
        serde_json::from_str(&self.line).with_context(|| format!("not JSON: {}", self.line))
    }

    async fn read(&mut self) -> Result<()> {
        self.line.clear();
        ensure!(self.stream.read_line(&mut self.line).await? > 0, "the daemon hung up");
        Ok(())
    }
}
