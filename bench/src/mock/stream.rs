//! Streaming one answer: the chunk of a delta is encoded once, and only its cell changes after that.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::answer::{Plan, write_cell};
use crate::clock;

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const BEFORE: &str = r#"{"id":"bench","object":"chat.completion.chunk","created":0,"model":"bench","choices":[{"index":0,"delta":{"content":""#;
const AFTER: &str = r#""},"finish_reason":null}]}"#;
const STOP: &str = r#"{"id":"bench","object":"chat.completion.chunk","created":0,"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// Sends the answer, each delta at its time.
pub(super) async fn stream(to: &mut TcpStream, plan: Plan) -> Result<()> {
    let (mut chunk, cell) = delta(plan);
    let mut waiting = HEAD.to_vec();
    let start = Instant::now();
    let mut deadline = if plan.even { start + turn(plan.every) } else { start };
    for index in 0..plan.deltas {
        if deadline > start {
            sleep_until(deadline).await;
        }
        write_cell(&mut chunk[cell..cell + plan.cell], index, clock::now());
        waiting.extend_from_slice(&chunk);
        deadline += plan.every;
        if !plan.every.is_zero() {
            to.write_all(&waiting).await?;
            waiting.clear();
        }
    }
    waiting.extend_from_slice(&end(plan));
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
fn delta(plan: Plan) -> (Vec<u8>, usize) {
    let blank = "0".repeat(plan.cell);
    let chunk = chunk(&format!("{BEFORE}{blank}{AFTER}"));
    let data = chunk.windows(BEFORE.len()).position(|window| window == BEFORE.as_bytes());
    let cell = data.expect("the chunk holds what it was made of") + BEFORE.len();
    (chunk, cell)
}

fn end(plan: Plan) -> Vec<u8> {
    let tokens = plan.deltas;
    let usage = format!(
        r#"{{"id":"bench","object":"chat.completion.chunk","created":0,"model":"bench","choices":[],"usage":{{"prompt_tokens":1,"completion_tokens":{tokens},"total_tokens":{}}}}}"#,
        tokens + 1
    );
    [chunk(STOP), chunk(&usage), chunk("[DONE]"), b"0\r\n\r\n".to_vec()].concat()
}

/// An event as a chunk of the body.
fn chunk(data: &str) -> Vec<u8> {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}
