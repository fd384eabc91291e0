//! A long conversation with a model of a small window: every request fits, answers keep coming, nothing that the
//! user said is silently lost, and the files say what the model was shown.
//!
//! `OSTLER_TEST_TURNS=5000` makes it as long as one likes; what it took is printed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use ostler_api_types::SendMessage;
use ostler_client::EventStream;
use ostler_types::SessionId;
use serde_json::{Value, json};

use crate::context_checks::{
    assert_paired, assert_views, database, folder, named, records, rows, shown, text_of,
};
use crate::raw_server::{RawServerReply, RawServerRequest};
use crate::scripted::{ScriptedDaemon, policy_without_approvals};

/// How many tokens the model takes, by its own count.
const WINDOW: usize = 20_000;
/// How many turns there are, unless the environment says otherwise.
const TURNS: usize = 120;

/// A model that counts a token for every four bytes, and refuses what is more than its window.
struct Narrow {
    refused: AtomicUsize,
    largest: AtomicUsize,
}

impl Narrow {
    fn answer(&self, asked: &RawServerRequest) -> RawServerReply {
        let tokens = asked.body.to_string().len().div_ceil(4);
        self.largest.fetch_max(tokens, Ordering::Relaxed);
        if tokens > WINDOW {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let error =
                json!({"error": {"code": "context_length_exceeded", "message": "prompt is too long"}});
            return RawServerReply::whole("400 Bad Request", error.to_string());
        }
        let last = asked.body["messages"].as_array().unwrap().last().unwrap();
        let text = text_of(last);
        let delta = if asked.body["tools"].is_null() {
            json!({"content": "They count wishes. ".repeat(20)})
        } else if last["role"] == "user" && text.contains("look") {
            let function = json!({"name": "read_file", "arguments": json!({"path": "long.txt"}).to_string()});
            json!({"tool_calls": [{"index": 0, "id": format!("c{tokens}"), "type": "function", "function": function}]})
        } else {
            json!({"content": format!("Understood. {}", "I will keep it in mind. ".repeat(20))})
        };
        let finish = if delta["tool_calls"].is_null() { "stop" } else { "tool_calls" };
        let chunk = |choices: Value, usage: Value| {
            format!(
                "data: {}\n\n",
                json!({"object": "chat.completion.chunk", "choices": choices, "usage": usage})
            )
        };
        let usage = json!({"prompt_tokens": tokens, "completion_tokens": 120, "total_tokens": tokens + 120});
        let pieces = vec![
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null),
            chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null),
            chunk(json!([]), usage),
            "data: [DONE]\n\n".to_owned(),
        ];
        RawServerReply { status: "200 OK", kind: "text/event-stream", pieces, together: None }
    }
}

/// A daemon, and a session whose model has a small window.
async fn talk() -> (ScriptedDaemon, Arc<Narrow>, SessionId) {
    let model = Arc::new(Narrow { refused: AtomicUsize::new(0), largest: AtomicUsize::new(0) });
    let answering = Arc::clone(&model);
    let config =
        format!("[models.info.\"mock:narrow\"]\nabilities = [\"tools\"]\ncontext_window = {WINDOW}\n");
    let stage = ScriptedDaemon::directed(&config, &[], move |asked| Some(answering.answer(asked))).await;
    stage.write("long.txt", &"a line of a file that is looked at now and then\n".repeat(60));
    let id = stage.session_in(&stage.work, policy_without_approvals(), Some("mock:narrow")).await;
    (stage, model, id)
}

/// Says something, and waits for the answer.
async fn say(stage: &ScriptedDaemon, id: SessionId, events: &mut EventStream, number: usize) {
    let look = if number.is_multiple_of(7) { "Have a look at it. " } else { "" };
    let text = format!("wish-{number}-end {look}{}", "and so on and so forth ".repeat(8));
    let sent = stage.client.send_message(id, &SendMessage::prompt(text)).await.unwrap();
    let turn = sent.turn_id.unwrap().to_string();
    loop {
        let line = events.next().await.unwrap().unwrap();
        if line.name.starts_with("turn_") && line.name != "turn_started" && line.raw.contains(&turn) {
            assert_eq!(line.name, "turn_completed", "{}", line.raw);
            return;
        }
    }
}

/// What the kernel says of a process, under this name.
fn of_process(pid: u32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_long_conversation_stays_within_a_small_window() {
    let turns = std::env::var("OSTLER_TEST_TURNS").map_or(TURNS, |turns| turns.parse().unwrap());
    let (mut stage, model, id) = talk().await;
    let mut events = stage.client.events(id, 0, true).await.unwrap();
    let (mut early, mut began) = ((0, Duration::ZERO), Instant::now());
    for number in 0..turns {
        if number == 50 || number + 50 == turns {
            began = Instant::now();
        }
        say(&stage, id, &mut events, number).await;
        if number == 99 {
            early = (of_process(stage.pid(), "status", "VmRSS:"), began.elapsed() / 50);
        }
        let mut asked = stage.asked();
        asked.iter().for_each(assert_paired);
        stage.forget_asked();
        if number + 1 == turns {
            assert_shown(&stage, id, turns, &asked.pop().unwrap()).await;
        }
    }
    let late = (of_process(stage.pid(), "status", "VmRSS:"), began.elapsed() / 50);
    assert_eq!(model.refused.load(Ordering::Relaxed), 0, "no request was too long");
    let records = records(&folder(&stage, id));
    let compactions = named(&records, "context_compacted");
    assert!(compactions.len() >= turns / 60, "{} compactions", compactions.len());
    for compacted in &compactions {
        let data = &compacted["data"];
        assert_eq!(data["trigger"], "threshold");
        assert!(data["tokens_after"].as_u64() < data["tokens_before"].as_u64(), "{data}");
        assert!(data["tokens_before"].as_u64().unwrap() <= WINDOW as u64, "{data}");
    }
    assert_eq!(named(&records, "turn_completed").len(), turns);

    stage.stop();
    let log = std::fs::metadata(folder(&stage, id).join("events.ndjson")).unwrap().len();
    assert_views(&folder(&stage, id));
    stage.restart().await;
    let before = of_process(stage.pid(), "io", "rchar:");
    let mut events = stage.client.events(id, log_end(&stage, id).await, true).await.unwrap();
    say(&stage, id, &mut events, turns).await;
    let read = of_process(stage.pid(), "io", "rchar:") - before;
    println!(
        "{turns} turns, {} compactions, log {log} bytes, largest request {} of {WINDOW} tokens\n\
         turn 100: {} KiB, {:?} a turn; at the end: {} KiB, {:?} a turn; waking and a turn read {read} bytes",
        compactions.len(),
        model.largest.load(Ordering::Relaxed),
        early.0,
        early.1,
        late.0,
        late.1,
    );
    assert!(late.0 < early.0 + 64 * 1024, "memory grew from {} to {} KiB", early.0, late.0);
    assert!(read < 4 << 20, "waking read {read} bytes of a log of {log}");
}

async fn log_end(stage: &ScriptedDaemon, id: SessionId) -> u64 {
    stage.client.session(id).await.unwrap().last_seq
}

/// Fails unless the database and the API say that the model is shown what it was just shown, and its answer.
async fn assert_shown(stage: &ScriptedDaemon, id: SessionId, wishes: usize, asked: &Value) {
    let (connection, _file) = database(stage, id).await;
    let shown = shown(&connection);
    let measured = stage.client.context(id).await.unwrap();
    assert_eq!(measured.messages, shown.len() as u64, "{shown:?}");
    assert_eq!(measured.window, Some(WINDOW as u64));
    assert!(measured.tokens <= WINDOW as u64, "{}", measured.tokens);
    let said: String =
        asked["messages"].as_array().unwrap()[1..].iter().map(|it| text_of(it) + "\n").collect();
    let mut rest = said.as_str();
    let (answer, before) = shown.split_last().unwrap();
    assert_eq!(answer.1, "assistant");
    for (row, role, content) in before {
        let at = rest
            .find(content.trim_end())
            .unwrap_or_else(|| panic!("{role} of row {row} is not shown: {content}"));
        rest = &rest[at + content.trim_end().len()..];
    }
    assert_eq!(rest.trim(), "", "more is shown than the database has");
    // Each row that is shown no more is named once by what took its place, and nothing else is.
    let gone = rows(&connection, "SELECT id FROM messages WHERE in_context = 0 ORDER BY id");
    let mut named: Vec<String> =
        rows(&connection, "SELECT summary_of FROM messages WHERE summary_of IS NOT NULL")
            .iter()
            .flat_map(|ids| ids.split(',').map(str::to_owned))
            .collect();
    named.sort_by_key(|id| id.parse::<u64>().unwrap());
    assert_eq!(named, gone);
    let lost = (0..wishes).filter(|number| !said.contains(&format!("wish-{number}-end"))).count();
    let counted = said
        .lines()
        .filter_map(|line| line.strip_prefix("- [… and ")?.split(' ').next()?.parse::<usize>().ok());
    assert!(lost <= counted.sum::<usize>(), "{lost} wishes are lost:\n{said}");
}
