//! The order of records, held to tables of inputs and the actions that they lead to; `rules` holds random prompts to
//! the rules of the log.

mod rules;

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Instant;

use agent_client_protocol::v1::schema::{RequestId, ToolCallUpdate};
use ostler_acp::from_options;
use ostler_runner::ToolOutcome;
use ostler_types::{Accepted, MessageId, Part, ToolCallId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::action::{EffectPolicy, RecorderAction, RecorderInput};
use super::{AcpRecorder, RecorderSettings, TextKind};
use crate::effect::AgentEffect;

/// An agent that announces a call as in progress when it runs.
const PLAIN: bool = false;
/// An agent that announces a call as in progress and may ask about it afterwards.
const ANNOUNCING: bool = true;

/// The tables. Each begins with its name and the agents that it holds for; a line is an input and its actions.
const TABLES: [&str; 2] = [include_str!("tests/calls.txt"), include_str!("tests/questions.txt")];

#[test]
fn the_order_of_records_is_as_the_tables_say() {
    let mut count = 0;
    for table in TABLES.iter().flat_map(|tables| tables.split("\n\n")) {
        let (name, lines) = table.trim().split_once('\n').unwrap();
        let agents: &[bool] = match name.rsplit_once(' ').unwrap().1 {
            "(plain)" => &[PLAIN],
            "(announcing)" => &[ANNOUNCING],
            "(both)" => &[PLAIN, ANNOUNCING],
            other => panic!("no agent is called {other}"),
        };
        for agent in agents {
            play(name, *agent, lines);
            count += 1;
        }
    }
    assert!(count > 30, "{count} tables were played");
}

/// Plays the lines of a table, `input > action | action`, and compares the actions.
fn play(name: &str, announces_before_asking: bool, table: &str) {
    let mut recorder = recorder(announces_before_asking);
    let mut played = String::new();
    for line in table.lines() {
        let input = line.split_once('>').map_or(line, |(input, _)| input).trim();
        let actions = recorder.take(read(input), Instant::now());
        let shown: Vec<String> = actions.iter().map(show).collect();
        played += &format!("{input} > {}\n", shown.join(" | "));
    }
    let words = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(words(&played), words(table), "{name}\n{played}");
}

#[test]
fn too_much_text_ends_the_turn() {
    let mut recorder = recorder(PLAIN);
    recorder.settings.turn_bytes = 10;
    let mut take =
        |line: &str| -> Vec<String> { recorder.take(read(line), Instant::now()).iter().map(show).collect() };
    assert_eq!(take("say 0123456789"), ["show 0123456789"]);
    assert_eq!(take("say x"), ["fail answer_too_long"]);
    assert_eq!(take("run a"), ["fail answer_too_long"]);
}

#[test]
fn a_denied_call_that_was_carried_out_is_found_out() {
    let mut recorder = recorder(PLAIN);
    for line in ["perm a", "no a", "done a", "notice Slow today", "end"] {
        recorder.take(read(line), Instant::now());
    }
    let denied = "The agent says that it carried out the call a, which was denied.";
    assert_eq!(recorder.take_notices(), [denied, "The agent says: Slow today"]);
    assert!(!recorder.was_denied(), "it is not why the agent stopped");
}

fn recorder(announces_before_asking: bool) -> AcpRecorder {
    let (agent, workspace) = ("test".to_owned(), PathBuf::from("/work"));
    let settings = RecorderSettings { agent, workspace, turn_bytes: 64 << 20, announces_before_asking };
    AcpRecorder::new(settings, Box::new(counting_ids()), std::iter::empty())
}

fn counting_ids() -> impl Fn() -> MessageId + Send + Sync {
    let next = std::sync::atomic::AtomicU64::new(1);
    move || MessageId::new(Uuid::from_u128(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed).into()))
}

thread_local! {
    /// The call of the daemon's own that was made last, which tables call `own`.
    static OWN: Cell<Option<ToolCallId>> = const { Cell::new(None) };
}

/// The input of a line: a word for what happens, and what it happens to.
fn read(line: &str) -> RecorderInput {
    let (word, name) = line.split_once(' ').unwrap_or((line, ""));
    let call = |fields: Value| RecorderInput::Call(Box::new(update(name, fields)));
    let text = |kind, message: Option<&str>| {
        let message = message.map(str::to_owned);
        RecorderInput::Text { kind, text: name.to_owned(), message }
    };
    let effect = |effect, asks, is_risky| {
        let (request, policy) = (RequestId::Str(name.to_owned()), EffectPolicy { asks, is_risky });
        RecorderInput::Effect { request, effect, policy }
    };
    let write = || AgentEffect::Write { path: name.to_owned(), content: "x".to_owned() };
    let answer = |accepted| RecorderInput::Answer { call: id_of(name), accepted };
    let chosen = |option: &str, allowed| answer(Accepted::Chosen { option: option.to_owned(), allowed });
    match word {
        "say" => text(TextKind::Answer, None),
        "say-1" => text(TextKind::Answer, Some("1")),
        "say-2" => text(TextKind::Answer, Some("2")),
        "think" => text(TextKind::Reasoning, None),
        "bare" => call(json!({"title": name, "rawInput": {}})),
        "args" => call(json!({"rawInput": {"path": format!("{name}.txt")}})),
        "pend" => call(json!({"title": name, "rawInput": {"path": format!("{name}.txt")}})),
        "run" => call(json!({"status": "in_progress", "rawInput": {"path": format!("{name}.txt")}})),
        "done" => call(json!({"status": "completed"})),
        "fail" => call(json!({"status": "failed"})),
        "perm" | "perm-without-options" => {
            let offered = json!([
                {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"}
            ]);
            let offered = if word == "perm" { offered } else { json!([]) };
            let options = from_options(&serde_json::from_value::<Vec<_>>(offered).unwrap());
            let call = Box::new(update(name, json!({"rawInput": {"path": format!("{name}.txt")}})));
            RecorderInput::Permission { request: RequestId::Str(name.to_owned()), call, options }
        }
        "yes" => chosen("yes", true),
        "no" => chosen("no", false),
        "allow" => answer(Accepted::Allowed),
        "deny" => answer(Accepted::Denied { reason: None }),
        "write" => effect(write(), false, false),
        "write-asked" => effect(write(), true, false),
        "write-risky" => effect(write(), false, true),
        "read" => effect(AgentEffect::Read { path: name.to_owned(), line: None, limit: None }, false, false),
        "ended" => {
            RecorderInput::OwnCallEnded { call: id_of(name), outcome: ToolOutcome::done("own", Value::Null) }
        }
        "notice" => RecorderInput::Notice(name.to_owned()),
        "end" => RecorderInput::PromptEnded,
        "break" => RecorderInput::PromptFailed,
        _ => panic!("no input is called {word}"),
    }
}

fn update(id: &str, mut fields: Value) -> ToolCallUpdate {
    fields["toolCallId"] = id.into();
    serde_json::from_value(fields).unwrap()
}

fn id_of(name: &str) -> ToolCallId {
    if name != "own" {
        return ToolCallId(name.to_owned());
    }
    let own = OWN.take().expect("a call of our own was made");
    OWN.set(Some(own.clone()));
    own
}

fn name_of(id: &ToolCallId) -> String {
    if !id.0.starts_with("call_") {
        return id.0.clone();
    }
    OWN.set(Some(id.clone()));
    "own".to_owned()
}

/// An action in words.
fn show(action: &RecorderAction) -> String {
    match action {
        RecorderAction::Show(delta) => format!("show {}", delta.text),
        RecorderAction::RecordMessage { parts, stop_reason, .. } => {
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("message({}) {stop_reason}", parts.join(", "))
        }
        RecorderAction::StartBatch { parallel: true } => "batch in parallel".to_owned(),
        RecorderAction::StartBatch { parallel: false } => "batch".to_owned(),
        RecorderAction::StartCall { call, .. } => format!("start {}", name_of(&call.id)),
        RecorderAction::FinishCall { id, ok, outcome, .. } => {
            let how = match (ok, outcome.text.as_str()) {
                (true, text) if text.starts_with("This call goes on") => "goes on",
                (false, text) if text.starts_with("The user denied") => "denied",
                (false, text) if text.starts_with("The agent stopped") => "without result",
                (true, _) => "done",
                (false, _) => "failed",
            };
            format!("finish {} {how}", name_of(id))
        }
        RecorderAction::CompleteBatch => "end batch".to_owned(),
        RecorderAction::Ask { call, .. } => format!("ask {}", name_of(&call.id)),
        RecorderAction::Respond { request, response } => {
            let answer = match response {
                Ok(value) => value["outcome"]["optionId"].as_str().unwrap_or("nothing"),
                Err(_) => "error",
            };
            format!("respond {} {answer}", name_of_request(request))
        }
        RecorderAction::CarryOut { request, call, .. } => {
            let call = call.as_ref().map_or_else(|| "no call".to_owned(), name_of);
            format!("carry out {} in {call}", name_of_request(request))
        }
        RecorderAction::Fail(failed) => format!("fail {}", failed.reason),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { text } => format!("'{text}'"),
        Part::Reasoning { text, .. } => format!("~{text}"),
        Part::ToolCall { call } => name_of(&call.id),
        Part::Image { .. } | Part::Audio { .. } | Part::File { .. } | Part::ToolResult { .. } => {
            "?".to_owned()
        }
    }
}

fn name_of_request(request: &RequestId) -> String {
    match request {
        RequestId::Str(name) => name.clone(),
        RequestId::Number(number) => number.to_string(),
        RequestId::Null => String::new(),
    }
}
