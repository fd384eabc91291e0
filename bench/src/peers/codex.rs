//! Codex: its app server, JSON-RPC over the pipes of one process, a thread for each session. It speaks OpenAI's Responses
//! to the model.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::BenchPeer;
use super::answers::PendingAnswers;
use super::environment::{JsonLines, PeerEnvironment};
use super::install::{Package, architecture};
use crate::answer::AnswerPlan;
use crate::load::LoadOutcome;

pub(super) const PACKAGES: &[Package] = &[Package { name: "@openai/codex", version: "0.169.0" }];

pub(super) struct Codex {
    server: JsonLines,
    requests: u64,
}

impl BenchPeer for Codex {
    async fn start(site: &PeerEnvironment) -> Result<Codex> {
        let config = format!(
            "model = \"bench\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n\
             [analytics]\nenabled = false\n[model_providers.mock]\nname = \"mock\"\nbase_url = \"{}\"\n\
             wire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n",
            site.base_url()
        );
        site.configure(".codex/config.toml", &config)?;
        let (short, triple) = architecture()?;
        let vendor = format!("node_modules/@openai/codex-linux-{short}/vendor/{triple}-unknown-linux-musl");
        let mut command = site.command(&site.programs.join(vendor).join("bin/codex"))?;
        command.arg("app-server");
        let mut codex = Codex { server: JsonLines::start(command)?, requests: 0 };
        let client = json!({"clientInfo": {"name": "ostler-bench", "version": "1"}});
        codex.call("initialize", client).await?;
        codex.server.send(&json!({"method": "initialized"})).await?;
        Ok(codex)
    }

    fn processes(&self) -> Vec<u32> {
        self.server.id().into_iter().collect()
    }

    async fn open(&mut self, _: &PeerEnvironment, count: usize) -> Result<Vec<String>> {
        let mut threads = Vec::with_capacity(count);
        for _ in 0..count {
            let started = self.call("thread/start", json!({})).await?;
            threads.push(started["thread"]["id"].as_str().context("a thread has an id")?.to_owned());
        }
        Ok(threads)
    }

    async fn stream(&mut self, sessions: &[String], plan: AnswerPlan) -> Result<LoadOutcome> {
        let mut answers = PendingAnswers::new(sessions, plan);
        for thread in sessions {
            let input = json!([{"type": "text", "text": plan.prompt()}]);
            self.send("turn/start", json!({"threadId": thread, "input": input})).await?;
        }
        while !answers.is_complete() {
            let frame = self.server.next().await?;
            let (params, method) = (&frame["params"], frame["method"].as_str().unwrap_or_default());
            let thread = params["threadId"].as_str().unwrap_or_default();
            ensure!(frame["error"].is_null() && method != "error", "a turn failed: {frame}");
            match method {
                "item/agentMessage/delta" => {
                    answers.text(thread, params["delta"].as_str().unwrap_or_default())?;
                }
                "turn/completed" => answers.end(thread)?,
                _ => {}
            }
        }
        Ok(answers.outcome())
    }

    async fn stop(self) -> Result<()> {
        self.server.stop().await
    }
}

impl Codex {
    async fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        self.requests += 1;
        self.server.send(&json!({"id": self.requests, "method": method, "params": params})).await?;
        Ok(self.requests)
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        let mut frame = self.server.answer(|frame| frame["id"] == id && frame["method"].is_null()).await?;
        ensure!(frame["error"].is_null(), "{method} failed: {frame}");
        Ok(frame["result"].take())
    }
}
