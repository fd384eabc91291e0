//! An agent that speaks the Agent Client Protocol with exact timing, as a process of its own: what it answers is the
//! [`AnswerPlan`] in its prompt. Also the bare way to it, over its pipes.

use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdout};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::answer::{AnswerPlan, AssembledAnswer, write_cell};
use crate::clock;
use crate::samples::Samples;

/// The word by which the bench starts itself as the agent.
pub const AGENT_ARGUMENT: &str = "agent";

/// The arguments of the agent's process, after the program.
pub fn arguments() -> [String; 2] {
    [AGENT_ARGUMENT.to_owned(), clock::epoch().to_string()]
}

/// Is the agent, until its input ends.
pub async fn serve() -> Result<()> {
    let output = Arc::new(Mutex::new(tokio::io::stdout()));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut sessions = 0_u64;
    while let Some(line) = lines.next_line().await? {
        let request: Value = serde_json::from_str(&line)?;
        let Some(id) = request.get("id").cloned() else { continue };
        match request["method"].as_str() {
            Some("initialize") => answer(&output, &id, &json!({"protocolVersion": 1})).await?,
            Some("session/new") => {
                sessions += 1;
                answer(&output, &id, &json!({"sessionId": format!("s{sessions}")})).await?;
            }
            Some("session/prompt") => {
                let blocks = request["params"]["prompt"].as_array().context("a prompt has blocks")?;
                let text = blocks.last().and_then(|block| block["text"].as_str()).unwrap_or_default();
                let plan = AnswerPlan::parse(text).context("the prompt is not a plan")?;
                let session = request["params"]["sessionId"].as_str().unwrap_or_default().to_owned();
                tokio::spawn(stream(Arc::clone(&output), id, session, plan));
            }
            _ => {
                let error = json!({"code": -32601, "message": "Method not found"});
                write(&output, &json!({"jsonrpc": "2.0", "id": id, "error": error})).await?;
            }
        }
    }
    Ok(())
}

/// Sends the answer to a prompt, each update at its time.
async fn stream(output: Arc<Mutex<Stdout>>, id: Value, session: String, plan: AnswerPlan) -> Result<()> {
    let before = format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":""#
    );
    let mut line = [before.as_bytes(), &vec![b'0'; plan.cell], b"\"}}}}\n"].concat();
    let mut deadline = Instant::now();
    for index in 0..plan.deltas {
        sleep_until(deadline).await;
        deadline += plan.every;
        let mut output = output.lock().await;
        write_cell(&mut line[before.len()..before.len() + plan.cell], index, clock::now());
        output.write_all(&line).await?;
        output.flush().await?;
    }
    answer(&output, &id, &json!({"stopReason": "end_turn"})).await
}

async fn answer(output: &Mutex<Stdout>, id: &Value, result: &Value) -> Result<()> {
    write(output, &json!({"jsonrpc": "2.0", "id": id, "result": result})).await
}

async fn write(output: &Mutex<Stdout>, message: &Value) -> Result<()> {
    let mut output = output.lock().await;
    output.write_all(format!("{message}\n").as_bytes()).await?;
    Ok(output.flush().await?)
}

/// How long updates of so many sessions take over the agent's pipes alone.
pub async fn bare(sessions: usize, plan: AnswerPlan) -> Result<Samples> {
    let mut child: Child = Command::new(std::env::current_exe()?)
        .args(arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = child.stdin.take().context("the input is piped")?;
    let mut lines = BufReader::new(child.stdout.take().context("the output is piped")?).lines();
    let mut asked = String::new();
    for number in 1..=sessions {
        let blocks = json!([{"type": "text", "text": plan.prompt()}]);
        let new = json!({"jsonrpc": "2.0", "id": number, "method": "session/new", "params": {}});
        let params = json!({"sessionId": format!("s{number}"), "prompt": blocks});
        let prompt =
            json!({"jsonrpc": "2.0", "id": sessions + number, "method": "session/prompt", "params": params});
        asked += &format!("{new}\n{prompt}\n");
    }
    input.write_all(asked.as_bytes()).await?;
    let mut answers: Vec<AssembledAnswer> = (0..sessions).map(|_| AssembledAnswer::new(plan)).collect();
    let mut open = sessions;
    while open > 0 {
        let line = lines.next_line().await?.context("the agent has ended")?;
        let now = clock::now();
        let message: AgentMessage = serde_json::from_str(&line)?;
        match (message.params, message.result) {
            (Some(AgentParams { session_id, update }), _) => {
                let number: usize = session_id.trim_start_matches('s').parse()?;
                answers[number - 1].append(&update.content.text, now)?;
            }
            (None, Some(result)) => open -= usize::from(result.get("stopReason").is_some()),
            (None, None) => {}
        }
    }
    let mut samples = Samples::default();
    for answer in answers {
        answer.check()?;
        samples.extend(answer.latencies);
    }
    ensure!(samples.count() == sessions * plan.deltas, "some updates are missing");
    Ok(samples)
}

#[derive(Deserialize)]
struct AgentMessage {
    params: Option<AgentParams>,
    result: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentParams {
    session_id: String,
    update: AgentUpdate,
}

#[derive(Deserialize)]
struct AgentUpdate {
    content: AgentContent,
}

#[derive(Deserialize)]
struct AgentContent {
    text: String,
}
