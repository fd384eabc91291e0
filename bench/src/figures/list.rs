//! Listing and searching among very many sessions.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::BenchSetup;
use crate::http_connection::HttpConnection;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

const TARGET: Duration = Duration::from_millis(5);
/// Sessions on a page.
const PAGE: usize = 50;
/// Requests that are not counted: connections to the index are opened by the first ones.
const WARM_UP_REQUESTS: usize = 5;

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let fixture = bench.largest().await?;
    let daemon = bench.starter.start(&fixture.data)?;
    let mut connection = daemon.endpoint.connect().await?;
    let requests = bench.count(50, 5);
    let newest = time(&mut connection, "limit=50", requests).await?;
    let rare = time(&mut connection, "limit=50&q=measure%20allocator", requests).await?;
    let frequent = time(&mut connection, "limit=50&q=project", requests).await?;
    daemon.stop()?;
    let both =
        |samples: &Samples| format!("{}, p99 {}", millis(samples.median()), millis(samples.percentile(99)));
    let count = fixture.sessions;
    Ok(vec![
        FigureRow::new(
            format!("listing the newest 50 of {count} sessions"),
            "< 5 ms",
            both(&newest),
            newest.median() < TARGET,
        )
        .number(BenchNumber::millis("newest", newest.median())),
        FigureRow::information("searching them for two words that 1 in 77 has", both(&rare))
            .number(BenchNumber::millis("rare_words", rare.median())),
        FigureRow::information("searching them for a word that all have", both(&frequent))
            .number(BenchNumber::millis("frequent_word", frequent.median())),
    ])
}

async fn time(connection: &mut HttpConnection, query: &str, requests: usize) -> Result<Samples> {
    #[derive(Deserialize)]
    struct Page {
        sessions: Vec<IgnoredAny>,
    }
    let path = format!("/v1/sessions?{query}");
    let mut samples = Samples::default();
    for request in 0..WARM_UP_REQUESTS + requests {
        let start = Instant::now();
        let answer = connection.ask("GET", &path, None).await?;
        if request >= WARM_UP_REQUESTS {
            samples.push(start.elapsed());
        }
        let page: Page = serde_json::from_slice(&answer)?;
        ensure!((1..=PAGE).contains(&page.sessions.len()), "{path} lists {} sessions", page.sessions.len());
    }
    Ok(samples)
}
