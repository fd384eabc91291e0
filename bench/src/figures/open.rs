//! Opening a very long session at its end: what it is, its newest messages, its stream. A daemon that
//! has just started has every session asleep, so each sample has a daemon of its own.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::BenchSetup;
use crate::fixture::DataFixture;
use crate::http_connection::HttpConnection;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

const TARGET: Duration = Duration::from_millis(20);

/// What was asked first, and what was asked after it.
#[derive(Default)]
struct OpenTimes {
    asleep: Samples,
    awake: Samples,
}

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let fixture = bench.largest().await?;
    let path = format!("/v1/sessions/{}", fixture.long_id());
    let records = last_seq(bench, &fixture, &path).await?;
    let questions = [
        ("session", format!("opening a session with {records} records"), path.clone()),
        ("messages", "its newest 50 messages".to_owned(), format!("{path}/messages?limit=50")),
        (
            "stream",
            "its stream, resumed at the end, until the first event".to_owned(),
            format!("{path}/events?after={records}"),
        ),
    ];
    let mut rows = Vec::new();
    for (name, figure, question) in questions {
        let mut times = OpenTimes::default();
        for _ in 0..bench.count(9, 2) {
            sample(bench, &fixture, &question, &mut times).await?;
        }
        let OpenTimes { asleep, awake } = times;
        let measured = format!("{}, {} when awake", millis(asleep.median()), millis(awake.median()));
        rows.push(
            FigureRow::new(figure, "< 20 ms", measured, asleep.median() < TARGET)
                .number(BenchNumber::millis(name, asleep.median()))
                .number(BenchNumber::millis(format!("{name}_awake"), awake.median())),
        );
    }
    Ok(rows)
}

/// Asks a daemon that has just started, then once more.
async fn sample(
    bench: &BenchSetup,
    fixture: &DataFixture,
    question: &str,
    times: &mut OpenTimes,
) -> Result<()> {
    let daemon = bench.starter.start(&fixture.data)?;
    for samples in [&mut times.asleep, &mut times.awake] {
        let mut connection = daemon.endpoint.connect().await?;
        connection.ask("GET", "/healthz", None).await?;
        let start = Instant::now();
        first_bytes(&mut connection, question).await?;
        samples.push(start.elapsed());
    }
    daemon.stop()
}

/// Asks, and reads the answer; of a stream only its first event, as it has no end.
async fn first_bytes(connection: &mut HttpConnection, question: &str) -> Result<()> {
    let status = connection.send("GET", question, None).await?;
    ensure!(status == 200, "{question} is answered with {status}");
    let (mut body, stream) = (Vec::new(), question.contains("/events"));
    while connection.read(&mut body).await? {
        if stream && body.ends_with(b"\n\n") {
            break;
        }
    }
    ensure!(!body.is_empty(), "{question} is answered with nothing");
    Ok(())
}

async fn last_seq(bench: &BenchSetup, fixture: &DataFixture, path: &str) -> Result<u64> {
    #[derive(Deserialize)]
    struct View {
        last_seq: u64,
    }
    let daemon = bench.starter.start(&fixture.data)?;
    let answer = daemon.endpoint.connect().await?.ask("GET", path, None).await?;
    daemon.stop()?;
    let View { last_seq } = serde_json::from_slice(&answer)?;
    Ok(last_seq)
}
