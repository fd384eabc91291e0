//! Counts the deltas that a client of `GET /v1/events` misses while very many sessions stream. Records must not be missing:
//! each record that ends an answer is checked to be whole.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::BenchSetup;
use crate::answer::{AnswerPlan, AssembledAnswer};
use crate::clock;
use crate::daemon::BenchEndpoint;
use crate::http_connection::HttpConnection;
use crate::number::{BenchNumber, BenchUnit};
use crate::report::FigureRow;
use crate::samples::seconds;
use crate::sse::{SseBuffer, SseMessage};

/// Sessions created concurrently.
const PREPARE: usize = 32;
/// Time limit for all answers, beyond their ideal time.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (count, plan) = (bench.count(1000, 20), AnswerPlan::new(bench.count(100, 10), 20));
    let (daemon, _data) = bench.start_empty()?;
    let sessions = sessions(&daemon.endpoint, &bench.workspace(), count).await?;
    let mut follower = AllEventsFollower::open(&daemon.endpoint, plan).await?;
    let ready = Arc::new(Barrier::new(count + 1));
    let mut asking = JoinSet::new();
    for (id, mut connection) in sessions {
        let ready = Arc::clone(&ready);
        asking.spawn(async move {
            let message = json!({"role": "user", "parts": [{"type": "text", "text": plan.prompt()}]});
            ready.wait().await;
            connection.ask("POST", &format!("/v1/sessions/{id}/messages"), Some(&message.to_string())).await
        });
    }
    ready.wait().await;
    let start = Instant::now();
    let followed = timeout(plan.ideal() + LIMIT, follower.until_ended(count)).await;
    followed.with_context(|| format!("{} of {count} turns ended", follower.ended))??;
    let wall = start.elapsed();
    while let Some(asked) = asking.join_next().await {
        asked??;
    }
    let (lost, sent) = (follower.lost.div_ceil(plan.cell), count * plan.deltas);
    // It no longer reads, and stopping the daemon is not part of the figure.
    drop(follower);
    daemon.stop()?;
    let share = lost as f64 / sent as f64 * 100.0;
    let measured = format!("{lost} of {sent} ({share:.1} %), all turns ended after {}", seconds(wall));
    let figure = format!("deltas that `GET /v1/events` leaves out while {count} sessions stream at once");
    Ok(vec![
        FigureRow::new(figure, "none", measured, lost == 0)
            .number(BenchNumber::new("lost", share, BenchUnit::Percent))
            .number(BenchNumber::seconds("wall", wall)),
    ])
}

/// Makes sessions, each with a connection of its own.
async fn sessions(
    door: &BenchEndpoint,
    workspace: &str,
    count: usize,
) -> Result<Vec<(String, HttpConnection)>> {
    let mut sessions = Vec::with_capacity(count);
    let mut making = JoinSet::new();
    for _ in 0..count {
        if making.len() >= PREPARE {
            sessions.push(making.join_next().await.context("one is being made")???);
        }
        let (door, body) = (door.clone(), json!({"workspace_path": workspace}).to_string());
        making.spawn(async move {
            let mut connection = door.connect().await?;
            let made = connection.ask("POST", "/v1/sessions", Some(&body)).await?;
            let id = serde_json::from_slice::<Value>(&made)?["session_id"].as_str().map(str::to_owned);
            Ok::<_, anyhow::Error>((id.context("a session has an id")?, connection))
        });
    }
    while let Some(made) = making.join_next().await {
        sessions.push(made??);
    }
    Ok(sessions)
}

/// The client that follows all sessions.
struct AllEventsFollower {
    plan: AnswerPlan,
    connection: HttpConnection,
    events: SseBuffer,
    /// Bytes of each session's answer received so far.
    given: HashMap<String, usize>,
    /// Bytes of text missing from the deltas.
    lost: usize,
    ended: usize,
}

impl AllEventsFollower {
    async fn open(door: &BenchEndpoint, plan: AnswerPlan) -> Result<AllEventsFollower> {
        let mut connection = door.connect().await?;
        let status = connection.send("GET", "/v1/events", None).await?;
        ensure!(status == 200, "the stream of all events is answered with {status}");
        let mut events = SseBuffer::default();
        // The first heartbeat confirms the subscription.
        connection.read(&mut events.bytes).await?;
        Ok(AllEventsFollower { plan, connection, events, given: HashMap::new(), lost: 0, ended: 0 })
    }

    async fn until_ended(&mut self, count: usize) -> Result<()> {
        let AllEventsFollower { plan, connection, events, given, lost, ended } = self;
        while *ended < count {
            ensure!(connection.read(&mut events.bytes).await?, "the stream of events ended");
            while let Some(event) = events.take()? {
                *lost += lost_before(given, &event, *plan)?;
                *ended += usize::from(event.name == "turn_completed");
            }
        }
        Ok(())
    }
}

/// Bytes of text that this event shows to be missing.
fn lost_before(
    given: &mut HashMap<String, usize>,
    event: &SseMessage<'_>,
    plan: AnswerPlan,
) -> Result<usize> {
    match event.name {
        "model_output_delta" => {
            let Envelope { session_id, data }: Envelope<Delta> = serde_json::from_str(event.data)?;
            let so_far = given.entry(session_id).or_default();
            let missing = data.offset.saturating_sub(*so_far);
            *so_far = (data.offset + data.text.len()).max(*so_far);
            Ok(missing)
        }
        "model_output_completed" => {
            let Envelope { session_id, data }: Envelope<Value> = serde_json::from_str(event.data)?;
            let text = data["message"]["parts"][0]["text"].as_str().unwrap_or_default();
            let mut answer = AssembledAnswer::new(plan);
            answer.append(text, clock::now())?;
            answer.check()?;
            // Later deltas of this message are not counted again.
            Ok(text.len() - given.insert(session_id, text.len()).unwrap_or_default())
        }
        "turn_failed" | "turn_canceled" | "error" => bail!("a turn came to nothing: {}", event.data),
        _ => Ok(0),
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    session_id: String,
    data: T,
}

#[derive(Deserialize)]
struct Delta {
    offset: usize,
    text: String,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::lost_before;
    use crate::answer::{AnswerPlan, write_cell};
    use crate::sse::SseMessage;

    #[test]
    fn holes_before_a_delta_and_before_the_end_are_counted_once() {
        let plan = AnswerPlan::new(4, 1);
        let cell = |index: usize| {
            let mut cell = vec![0; plan.cell];
            write_cell(&mut cell, index, 1);
            String::from_utf8(cell).unwrap()
        };
        let mut given = HashMap::new();
        let mut lost = |name: &str, data: serde_json::Value| {
            let data = json!({"session_id": "a", "data": data}).to_string();
            lost_before(&mut given, &SseMessage { name, data: &data }, plan)
        };
        let delta = |index: usize| json!({"offset": index * plan.cell, "text": cell(index)});
        assert_eq!(lost("model_output_delta", delta(0)).unwrap(), 0);
        assert_eq!(lost("model_output_delta", delta(2)).unwrap(), plan.cell);
        assert_eq!(lost("model_output_delta", delta(1)).unwrap(), 0);
        let whole: String = (0..4).map(cell).collect();
        let message = json!({"message": {"parts": [{"type": "text", "text": whole}]}});
        assert_eq!(lost("model_output_completed", message).unwrap(), plan.cell);
        assert_eq!(lost("model_output_delta", delta(3)).unwrap(), 0);
        assert!(lost("turn_failed", json!({})).is_err());
    }
}
