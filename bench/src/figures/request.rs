//! What a long session costs before its model is asked, and what writing a turn down costs beside it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use ostler_context::{SystemPrompt, TokenEstimate, system_prompt, validate};
use ostler_recorder::SessionViews;
use ostler_tools::Tools;
use ostler_types::{
    CallEvent, CallName, Conversation, Event, Message, MessageEvent, MessageId, NewSession, Part, Purpose,
    Record, Role, SessionId, ToolCall, ToolCallId, ToolResult, TurnEvent, TurnId, Usage, create,
};
use serde_json::json;
use uuid::Uuid;

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

const TARGET: Duration = Duration::from_millis(10);
/// Messages of the session.
const MESSAGES: usize = 1000;
/// Messages of one of its turns: what was asked, an answer with a call, its result, an answer.
const MESSAGES_PER_TURN: usize = 4;
/// How long a turn of these takes at the least: two answers of 100 deltas, 20 ms apart.
const TURN: Duration = Duration::from_secs(4);
/// Turns that are written down.
const TURNS: usize = 50;

pub(super) fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let records = records(MESSAGES / MESSAGES_PER_TURN);
    Ok(vec![request(bench, &records)?, recording(bench.work.path(), &records)?])
}

/// From the log's records to a checked request and its size.
fn request(bench: &BenchSetup, records: &[Record]) -> Result<FigureRow> {
    let tools = Tools::builtin().specs();
    let mut samples = Samples::default();
    for _ in 0..bench.count(50, 2) {
        let started = Instant::now();
        let mut conversation = Conversation::default();
        records.iter().for_each(|record| conversation.apply(record));
        let messages: Vec<Arc<Message>> = conversation.messages();
        let prompt = SystemPrompt { workspace: "/home/me/shop", ..SystemPrompt::default() };
        let text = system_prompt(&prompt);
        let estimate = TokenEstimate::of_request(Some(&text), &messages, &tools);
        validate(&messages).map_err(|violation| anyhow::anyhow!("the request is not sound: {violation}"))?;
        samples.push(started.elapsed());
        ensure!(messages.len() == MESSAGES && estimate.tokens() > 0, "the request is not whole");
    }
    let (median, worst) = (millis(samples.median()), millis(samples.percentile(100)));
    Ok(FigureRow::new(
        format!("building the request of a session with {MESSAGES} messages"),
        "< 10 ms",
        format!("{median}, worst of {} {worst}", samples.count()),
        samples.median() < TARGET,
    )
    .number(BenchNumber::millis("build", samples.median())))
}

/// Each turn is written down when it ends, as the daemon does, in a thread beside it.
fn recording(work: &Path, records: &[Record]) -> Result<FigureRow> {
    let folder = tempfile::Builder::new().prefix("views-").tempdir_in(work)?;
    let (first, rest) = records.split_first().context("there are records")?;
    let mut views = SessionViews::open(folder.path(), first.session_id)?;
    views.apply(std::slice::from_ref(first))?;
    let mut samples = Samples::default();
    for turn in rest.chunk_by(|one, other| one.turn_id == other.turn_id).take(TURNS) {
        let started = Instant::now();
        views.apply(turn)?;
        samples.push(started.elapsed());
    }
    let share = samples.median().as_secs_f64() / TURN.as_secs_f64() * 100.0;
    Ok(FigureRow::new(
        "writing a turn down in `session.db`, `context.md` and `transcript.jsonl`",
        "< 3 % of a turn of 4 s",
        format!("{}, {share:.2} %", millis(samples.median())),
        share < 3.0,
    )
    .number(BenchNumber::millis("record", samples.median())))
}

/// A session of so many turns.
fn records(turns: usize) -> Vec<Record> {
    let at = Timestamp::UNIX_EPOCH;
    let id = SessionId::new(Uuid::from_u128(1));
    let created =
        create(NewSession::new(id, at, "/home/me/shop", "mock:model")).expect("a plain session can be made");
    let mut events: Vec<(Option<TurnId>, Event)> = created.into_iter().map(|event| (None, event)).collect();
    for turn in 0..turns {
        let turn_id = TurnId::new(Uuid::from_u128(1000 + turn as u128));
        events.extend(turn_events(turn as u128 * 10).into_iter().map(|event| (Some(turn_id), event)));
    }
    let place =
        |(index, (turn_id, event))| Record { seq: index as u64 + 1, ts: at, session_id: id, turn_id, event };
    events.into_iter().enumerate().map(place).collect()
}

fn turn_events(number: u128) -> Vec<Event> {
    let message = |offset: u128, role, parts| Message {
        id: MessageId::new(Uuid::from_u128(1_000_000 + number + offset)),
        role,
        parts,
        created_at: Timestamp::UNIX_EPOCH,
    };
    let id = ToolCallId(format!("call_{number}"));
    let (name, input) = ("read_file".to_owned(), json!({"path": "src/discount.rs"}));
    let call = ToolCall { id: id.clone(), name: name.clone(), input };
    let asked = message(0, Role::User, vec![Part::text("round the discount, and say why")]);
    let calls = message(1, Role::Assistant, vec![Part::text("Let me see."), Part::ToolCall { call }]);
    let answer = message(3, Role::Assistant, vec![Part::text("It is rounded half up now. ".repeat(80))]);
    let mut result =
        ToolResult::failed(id.clone(), "fn discounted(cents: i64) -> i64 { cents }\n".repeat(90));
    (result.ok, result.error) = (true, None);
    let usage = Usage { input_tokens: 4000, output_tokens: 500, ..Usage::default() };
    let said = |message: Message| {
        Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason: "stop".to_owned(), usage })
    };
    vec![
        Event::Message(MessageEvent::Added { message: asked.clone(), idempotency_key: None }),
        Event::Turn(TurnEvent::Started {
            message_ids: vec![asked.id],
            model: "mock:model".to_owned(),
            purpose: Purpose::Answer,
        }),
        said(calls),
        Event::Call(CallEvent::Completed {
            tool_call: CallName { id, name },
            tool_result: result,
            duration_ms: 3,
            message_id: MessageId::new(Uuid::from_u128(1_000_000 + number + 2)),
        }),
        said(answer),
        Event::Turn(TurnEvent::Completed {
            stop_reason: "stop".to_owned(),
            usage,
            verified: None,
            verification: None,
        }),
    ]
}
