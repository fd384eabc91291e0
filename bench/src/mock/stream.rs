//! Streaming one answer: the event of a delta is encoded once, and only its cell changes after that.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use super::request::{MockProtocol, MockRequest};
use crate::answer::{AnswerPlan, write_cell};
use crate::clock;

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Sends the answer, each delta at its time.
pub(super) async fn stream(to: &mut TcpStream, asked: MockRequest) -> Result<()> {
    let MockRequest { wire, plan, calls_tool } = asked;
    if calls_tool {
        return Ok(to.write_all(&[HEAD, &tool_call(), LAST_CHUNK].concat()).await?);
    }
    let (mut chunk, cell) = delta(wire, plan);
    let mut waiting = [HEAD, &before(wire)].concat();
    let mut text = String::new();
    let start = Instant::now();
    let mut deadline = if plan.even { start + turn(plan.every) } else { start };
    for index in 0..plan.deltas {
        if deadline > start {
            sleep_until(deadline).await;
        }
        let place = cell..cell + plan.cell;
        write_cell(&mut chunk[place.clone()], index, clock::now());
        if wire == MockProtocol::Responses {
            text += &String::from_utf8_lossy(&chunk[place]);
        }
        waiting.extend_from_slice(&chunk);
        deadline += plan.every;
        if !plan.every.is_zero() {
            to.write_all(&waiting).await?;
            waiting.clear();
        }
    }
    waiting.extend_from_slice(&end(wire, plan, &text));
    waiting.extend_from_slice(LAST_CHUNK);
    Ok(to.write_all(&waiting).await?)
}

/// How long an answer waits, so that many of them come evenly: those that follow each other divide the time between two
/// deltas by the golden section, which leaves no two of them close.
fn turn(every: Duration) -> Duration {
    static ANSWERS: AtomicU32 = AtomicU32::new(0);
    const SECTION: u32 = 2_654_435_769;
    let part = ANSWERS.fetch_add(1, Ordering::Relaxed).wrapping_mul(SECTION);
    every.mul_f64(f64::from(part) / f64::from(u32::MAX))
}

/// The chunk of a delta, and where its cell begins.
fn delta(wire: MockProtocol, plan: AnswerPlan) -> (Vec<u8>, usize) {
    // Nothing else in an event is made of so many zeros.
    let blank = "0".repeat(plan.cell);
    let chunk = match wire {
        MockProtocol::Chat => chat(&json!([choice(&json!({"content": blank}), None)])),
        MockProtocol::Responses => response_event(
            "response.output_text.delta",
            json!({"item_id": "msg_bench", "output_index": 0, "content_index": 0, "delta": blank}),
        ),
    };
    let cell = chunk.windows(blank.len()).position(|window| window == blank.as_bytes());
    (chunk, cell.expect("the chunk holds what it was made of"))
}

/// What comes before the first delta.
fn before(wire: MockProtocol) -> Vec<u8> {
    match wire {
        MockProtocol::Chat => Vec::new(),
        MockProtocol::Responses => {
            let response =
                json!({"id": "resp_bench", "object": "response", "status": "in_progress", "output": []});
            let item = json!({"id": "msg_bench", "type": "message", "status": "in_progress", "role": "assistant", "content": []});
            [
                response_event("response.created", json!({"response": response})),
                response_event("response.output_item.added", json!({"output_index": 0, "item": item})),
            ]
            .concat()
        }
    }
}

fn end(wire: MockProtocol, plan: AnswerPlan, text: &str) -> Vec<u8> {
    let tokens = plan.deltas;
    match wire {
        MockProtocol::Chat => {
            let usage = json!({"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1});
            [
                chat(&json!([choice(&json!({}), Some("stop"))])),
                chunk(&chat_chunk(&json!([]), Some(&usage)).to_string(), None),
                chunk("[DONE]", None),
            ]
            .concat()
        }
        MockProtocol::Responses => {
            let part = json!({"type": "output_text", "text": text, "annotations": []});
            let item = json!({"id": "msg_bench", "type": "message", "status": "completed", "role": "assistant", "content": [part]});
            let usage = json!({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": tokens,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 1});
            let response = json!({"id": "resp_bench", "object": "response", "status": "completed", "output": [item], "usage": usage});
            [
                response_event("response.output_item.done", json!({"output_index": 0, "item": item})),
                response_event("response.completed", json!({"response": response})),
            ]
            .concat()
        }
    }
}

/// A whole answer, over Chat Completions, that has `true` run and says nothing.
fn tool_call() -> Vec<u8> {
    let function = json!({"name": "shell", "arguments": "{\"command\":\"true\"}"});
    let call = json!({"index": 0, "id": "call_bench", "type": "function", "function": function});
    [
        chat(&json!([choice(&json!({"tool_calls": [call]}), None)])),
        chat(&json!([choice(&json!({}), Some("tool_calls"))])),
        chunk("[DONE]", None),
    ]
    .concat()
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({"index": 0, "delta": delta, "finish_reason": finish_reason})
}

fn chat(choices: &Value) -> Vec<u8> {
    chunk(&chat_chunk(choices, None).to_string(), None)
}

fn chat_chunk(choices: &Value, usage: Option<&Value>) -> Value {
    let mut chunk = json!({"id": "bench", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": choices});
    if let Some(usage) = usage {
        chunk["usage"] = usage.clone();
    }
    chunk
}

fn response_event(name: &str, mut event: Value) -> Vec<u8> {
    event["type"] = name.into();
    chunk(&event.to_string(), Some(name))
}

/// An event as a chunk of the body.
fn chunk(data: &str, name: Option<&str>) -> Vec<u8> {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    let event = format!("{name}data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}
