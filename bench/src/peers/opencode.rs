//! opencode: its server, HTTP with one stream of events for all sessions. It speaks OpenAI's Chat Completions to the model,
//! which it also has name each session.

use std::net::SocketAddr;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use super::BenchPeer;
use super::answers::PendingAnswers;
use super::environment::{ANSWER_LIMIT, PeerEnvironment};
use super::install::{Package, architecture};
use crate::answer::AnswerPlan;
use crate::daemon::free_address;
use crate::http_connection::HttpConnection;
use crate::load::LoadOutcome;
use crate::sse::SseBuffer;

pub(super) const PACKAGES: &[Package] = &[Package { name: "opencode-ai", version: "1.18.33" }];

/// What it would otherwise do over the network.
const OFFLINE: [(&str, &str); 4] = [
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
];

pub(super) struct Opencode {
    child: Child,
    /// Kept open, because it may write more.
    _stdout: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
    follower: HttpConnection,
    events: SseBuffer,
}

impl BenchPeer for Opencode {
    async fn start(site: &PeerEnvironment) -> Result<Opencode> {
        let model =
            json!({"name": "bench", "tool_call": true, "limit": {"context": 100_000, "output": 4_000}});
        let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"bench": model},
            "options": {"baseURL": site.base_url(), "apiKey": "bench"}});
        let config = json!({"model": "mock/bench", "small_model": "mock/bench", "autoupdate": false, "share": "disabled",
            "enabled_providers": ["mock"], "provider": {"mock": provider}});
        site.configure(".config/opencode/opencode.json", &config.to_string())?;
        let program = format!("node_modules/opencode-linux-{}/bin/opencode", architecture()?.0);
        let address = free_address()?;
        let mut command = site.command(&site.programs.join(program))?;
        command.args(["serve", "--hostname", "127.0.0.1", "--port", &address.port().to_string()]);
        command.stdout(Stdio::piped());
        let mut child = command.envs(OFFLINE).spawn().context("cannot start it")?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output is a pipe")?).lines();
        // A request that comes before this line may never be answered.
        let listening = async {
            while let Some(line) = stdout.next_line().await? {
                if line.contains("listening on") {
                    return Ok(());
                }
            }
            bail!("it did not start: {}", site.stderr_tail())
        };
        timeout(ANSWER_LIMIT, listening).await.context("it does not listen")??;
        HttpConnection::open(address, None).await?.ask("GET", "/global/health", None).await?;
        let mut follower = HttpConnection::open(address, None).await?;
        let status = follower.send("GET", "/event", None).await?;
        ensure!(status == 200, "the stream of events is answered with {status}");
        Ok(Opencode { child, _stdout: stdout, address, follower, events: SseBuffer::default() })
    }

    fn processes(&self) -> Vec<u32> {
        self.child.id().into_iter().collect()
    }

    async fn open(&mut self, _: &PeerEnvironment, count: usize) -> Result<Vec<String>> {
        let mut connection = HttpConnection::open(self.address, None).await?;
        let mut sessions = Vec::with_capacity(count);
        for _ in 0..count {
            let made: Value = serde_json::from_slice(&connection.ask("POST", "/session", Some("{}")).await?)?;
            sessions.push(made["id"].as_str().context("a session has an id")?.to_owned());
        }
        Ok(sessions)
    }

    async fn stream(&mut self, sessions: &[String], plan: AnswerPlan) -> Result<LoadOutcome> {
        let answers = PendingAnswers::new(sessions, plan);
        let posts = try_join_all(sessions.iter().map(|session| prompt(self.address, session, plan)));
        let (_, answers) = tokio::try_join!(posts, follow(&mut self.follower, &mut self.events, answers))?;
        Ok(answers.outcome())
    }

    async fn stop(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

async fn prompt(address: SocketAddr, session: &str, plan: AnswerPlan) -> Result<()> {
    let body = json!({"parts": [{"type": "text", "text": plan.prompt()}]}).to_string();
    let path = format!("/session/{session}/prompt_async");
    HttpConnection::open(address, None).await?.ask("POST", &path, Some(&body)).await.map(drop)
}

async fn follow(
    follower: &mut HttpConnection,
    events: &mut SseBuffer,
    mut answers: PendingAnswers,
) -> Result<PendingAnswers> {
    while !answers.is_complete() {
        ensure!(follower.read(&mut events.bytes).await?, "the stream of events ended");
        while let Some(event) = events.take()? {
            let event: Value = serde_json::from_str(event.data)?;
            let properties = &event["properties"];
            let session = properties["sessionID"].as_str().unwrap_or_default();
            match event["type"].as_str().unwrap_or_default() {
                "message.part.delta" if properties["field"] == "text" => {
                    answers.text(session, properties["delta"].as_str().unwrap_or_default())?;
                }
                "session.idle" => answers.end(session)?,
                "session.error" => bail!("a turn failed: {event}"),
                _ => {}
            }
        }
    }
    Ok(answers)
}
