//! One client: it asks for an answer, puts it together from its deltas, and proves that it is whole.
//! A bare client asks the mock itself; the other one asks a daemon and follows the session's events.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::json;

use crate::answer::{AnswerPlan, AnswerTimings, AssembledAnswer};
use crate::clock;
use crate::daemon::BenchEndpoint;
use crate::http_connection::HttpConnection;
use crate::sse::{SseBuffer, SseMessage};

/// A client of the mock.
pub struct BareClient {
    connection: HttpConnection,
}

impl BareClient {
    /// Connects.
    pub async fn new(mock: SocketAddr) -> Result<BareClient> {
        Ok(BareClient { connection: HttpConnection::open(mock, None).await? })
    }

    /// Asks for an answer and takes it.
    pub async fn turn(&mut self, plan: AnswerPlan) -> Result<AnswerTimings> {
        let message = json!({"role": "user", "content": plan.prompt()});
        let request = json!({"model": "bench", "stream": true, "messages": [message]}).to_string();
        let (mut answer, mut events) = (AssembledAnswer::new(plan), SseBuffer::default());
        let asked = clock::now();
        let status = self.connection.send("POST", "/v1/chat/completions", Some(&request)).await?;
        ensure!(status == 200, "the mock answers {status}");
        while self.connection.read(&mut events.bytes).await? {
            let now = clock::now();
            while let Some(event) = events.take()? {
                if event.data != "[DONE]" {
                    answer.append(&content(event.data)?, now)?;
                }
            }
        }
        answer.into_timings(asked)
    }
}

/// A client of a daemon, with a session of its own.
pub struct DaemonClient {
    /// The session.
    pub session_id: String,
    requests: HttpConnection,
    follower: HttpConnection,
    events: SseBuffer,
}

impl DaemonClient {
    /// Makes a session and follows it.
    pub async fn new(door: &BenchEndpoint, workspace: &str) -> Result<DaemonClient> {
        DaemonClient::with_session(door, json!({"workspace_path": workspace})).await
    }

    /// The same with the agent that streams.
    pub async fn of_agent(door: &BenchEndpoint, workspace: &str) -> Result<DaemonClient> {
        DaemonClient::with_session(door, json!({"workspace_path": workspace, "agent": "bench"})).await
    }

    /// The same with what is said of the new session.
    pub async fn with_session(door: &BenchEndpoint, new: serde_json::Value) -> Result<DaemonClient> {
        #[derive(Deserialize)]
        struct Created {
            session_id: String,
        }
        let mut requests = door.connect().await?;
        let created = requests.ask("POST", "/v1/sessions", Some(&new.to_string())).await?;
        let Created { session_id } = serde_json::from_slice(&created)?;
        let mut follower = door.connect().await?;
        let status = follower.send("GET", &format!("/v1/sessions/{session_id}/events"), None).await?;
        ensure!(status == 200, "the stream of events is answered with {status}");
        let mut client = DaemonClient { session_id, requests, follower, events: SseBuffer::default() };
        while !client.has_begun()? {
            client.follower.read(&mut client.events.bytes).await?;
        }
        Ok(client)
    }

    /// Whether the first record is here; only then is the client known to be connected.
    fn has_begun(&mut self) -> Result<bool> {
        Ok(self.events.take()?.is_some())
    }

    /// Sends a message and takes the answer.
    pub async fn turn(&mut self, plan: AnswerPlan) -> Result<AnswerTimings> {
        let DaemonClient { session_id, requests, follower, events } = self;
        let part = json!({"type": "text", "text": plan.prompt()});
        let message = json!({"role": "user", "parts": [part]}).to_string();
        let path = format!("/v1/sessions/{session_id}/messages");
        let asked = clock::now();
        let post = requests.ask("POST", &path, Some(&message));
        let (_, answer) = tokio::try_join!(post, follow(follower, events, plan))?;
        answer.into_timings(asked)
    }
}

/// Follows the events of a turn to its end.
async fn follow(
    follower: &mut HttpConnection,
    events: &mut SseBuffer,
    plan: AnswerPlan,
) -> Result<AssembledAnswer> {
    let mut answer = AssembledAnswer::new(plan);
    loop {
        ensure!(follower.read(&mut events.bytes).await?, "the stream of events ended");
        let now = clock::now();
        while let Some(event) = events.take()? {
            if take(&mut answer, &event, now)? {
                return Ok(answer);
            }
        }
    }
}

/// Takes an event; true when it is the turn's end.
fn take(answer: &mut AssembledAnswer, event: &SseMessage<'_>, now: u64) -> Result<bool> {
    match event.name {
        "model_output_delta" => {
            let envelope: Envelope<Delta> = parse(event.data)?;
            answer.take(envelope.data.offset, &envelope.data.text, now)?;
        }
        "model_output_completed" => {
            let envelope: Envelope<Completed> = parse(event.data)?;
            let recorded: String = envelope.data.message.parts.into_iter().map(|part| part.text).collect();
            ensure!(recorded == answer.text(), "the record differs from what was streamed");
        }
        "tool_call_completed" => {
            let envelope: Envelope<Called> = parse(event.data)?;
            ensure!(envelope.data.tool_result.ok, "a tool failed: {}", event.data);
        }
        "turn_completed" => return Ok(true),
        "turn_failed" | "turn_canceled" | "error" => bail!("the turn came to nothing: {}", event.data),
        _ => {}
    }
    Ok(false)
}

fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T> {
    serde_json::from_str(data).with_context(|| format!("an event is not as expected: {data}"))
}

/// The text in a chunk of the mock's answer.
fn content(data: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Chunk {
        choices: Vec<Choice>,
    }
    #[derive(Deserialize)]
    struct Choice {
        delta: Piece,
    }
    #[derive(Deserialize)]
    struct Piece {
        #[serde(default)]
        content: String,
    }
    let chunk: Chunk = parse(data)?;
    Ok(chunk.choices.into_iter().map(|choice| choice.delta.content).collect())
}

#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

#[derive(Deserialize)]
struct Delta {
    offset: usize,
    text: String,
}

#[derive(Deserialize)]
struct Completed {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    /// A call of a tool has none.
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Called {
    tool_result: CallResult,
}

#[derive(Deserialize)]
struct CallResult {
    ok: bool,
}
