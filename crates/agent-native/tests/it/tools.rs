//! Tools that do what a test needs and nothing else.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_local_runner::LocalRunner;
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_tools::Tools;
use ostler_types::{ToolKind, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

/// What the tools were asked, and the gates that they wait at.
#[derive(Default)]
pub(crate) struct FakeTools {
    seen: Mutex<Vec<(String, Value)>>,
    gates: Mutex<HashMap<String, Arc<Semaphore>>>,
    waiting: watch::Sender<usize>,
    dropped: watch::Sender<usize>,
}

impl FakeTools {
    /// The calls that reached a tool: its name and the input that it saw.
    pub(crate) fn seen(&self) -> Vec<(String, Value)> {
        self.seen.lock().unwrap().clone()
    }

    /// Lets the call that waits at this gate end, now or when it comes.
    pub(crate) fn open(&self, gate: &str) {
        self.gate(gate).add_permits(1);
    }

    /// Waits until this many calls have come to their gates.
    pub(crate) async fn waiting(&self, count: usize) {
        self.waiting.subscribe().wait_for(|waiting| *waiting >= count).await.unwrap();
    }

    /// Waits until this many calls were dropped while they waited.
    pub(crate) async fn dropped(&self, count: usize) {
        self.dropped.subscribe().wait_for(|dropped| *dropped >= count).await.unwrap();
    }

    fn gate(&self, name: &str) -> Arc<Semaphore> {
        let mut gates = self.gates.lock().unwrap();
        Arc::clone(gates.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(0))))
    }
}

/// A runner that has all of them, on one bench, and no data of its own.
pub(crate) fn runner(bench: &Arc<FakeTools>) -> Arc<LocalRunner> {
    Arc::new(LocalRunner::new(PathBuf::from("/nonexistent")).with_tools(tools(bench)))
}

fn tools(bench: &Arc<FakeTools>) -> Arc<Tools> {
    let tool = |name, kind| -> Arc<dyn Tool> { Arc::new(FakeTool { name, kind, bench: bench.clone() }) };
    Arc::new(Tools::with_tools(vec![
        tool("echo", ToolKind::Read),
        tool("fail", ToolKind::Read),
        tool("gate", ToolKind::Read),
        tool("touch", ToolKind::Write),
        tool("mcp__far__read", ToolKind::Read),
        tool("exec", ToolKind::Exec),
        tool("panic", ToolKind::Read),
        tool("panic_at_once", ToolKind::Read),
        tool("large", ToolKind::Read),
        tool("loud", ToolKind::Read),
        tool("long", ToolKind::Read),
    ]))
}

struct FakeTool {
    name: &'static str,
    kind: ToolKind,
    bench: Arc<FakeTools>,
}

impl Tool for FakeTool {
    fn spec(&self) -> ToolSpec {
        let input_schema = json!({"type": "object"});
        ToolSpec { name: self.name.to_owned(), description: "for tests".to_owned(), input_schema }
    }

    fn kind(&self) -> ToolKind {
        self.kind
    }

    fn summary(&self, input: &Value) -> String {
        format!("{} {input}", self.name)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        self.bench.seen.lock().unwrap().push((self.name.to_owned(), input.clone()));
        assert!(self.name != "panic_at_once", "the tool breaks before it has begun");
        self.act(input, context).boxed()
    }
}

impl FakeTool {
    async fn act(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let text = input["text"].as_str().unwrap_or_default().to_owned();
        match self.name {
            "echo" | "exec" => ToolOutcome::done(text, Value::Null),
            "fail" => ToolOutcome::failed("it did not work"),
            "gate" => self.wait(input["gate"].as_str().unwrap(), text).await,
            "touch" | "mcp__far__read" => {
                std::fs::write(context.workspace.join(input["path"].as_str().unwrap()), &text).unwrap();
                ToolOutcome::done("written", Value::Null)
            }
            "large" => {
                let whole = Some("all of it, and more".as_bytes().to_vec());
                ToolOutcome { whole, ..ToolOutcome::done("head … tail", json!({"lines": 3})) }
            }
            "long" => {
                let lines = usize::try_from(input["lines"].as_u64().unwrap()).unwrap();
                // A call can be stopped before it has ended, like a real one.
                tokio::task::yield_now().await;
                ToolOutcome::done("line\n".repeat(lines), Value::Null)
            }
            "loud" => {
                (context.output)("stdout", "öne ");
                (context.output)("stderr", "oops");
                (context.output)("stdout", "two");
                ToolOutcome::done("öne two", Value::Null)
            }
            _ => panic!("the tool breaks"),
        }
    }

    async fn wait(&self, gate: &str, text: String) -> ToolOutcome {
        let mut waits = DropNotifier { dropped: self.bench.dropped.clone(), ended: false };
        let gate = self.bench.gate(gate);
        self.bench.waiting.send_modify(|waiting| *waiting += 1);
        gate.acquire().await.unwrap().forget();
        waits.ended = true;
        if text == "fail" { ToolOutcome::failed(text) } else { ToolOutcome::done(text, Value::Null) }
    }
}

/// Notices when a call is dropped before its end.
struct DropNotifier {
    dropped: watch::Sender<usize>,
    ended: bool,
}

impl Drop for DropNotifier {
    fn drop(&mut self) {
        if !self.ended {
            self.dropped.send_modify(|dropped| *dropped += 1);
        }
    }
}
