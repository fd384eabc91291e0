//! What one delta costs between the socket and whoever asked the model, in each of the three protocols,
//! without a daemon. Waiting is not counted, so the server may be as slow as it likes.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use futures_util::StreamExt;
use ostler_models::{Model, ModelEvent, ModelRegistry, ModelRequest, ModelSettings, ProviderConfig};

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::process;
use crate::recorded_server::{PROTOCOLS, RecordedServer};
use crate::report::FigureRow;
use crate::samples::{Samples, micros};

const TARGET: Duration = Duration::from_micros(5);
const ROUNDS: usize = 9;

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let deltas = bench.count(50_000, 100);
    let mut rows = Vec::new();
    for (kind, name) in PROTOCOLS {
        let server = RecordedServer::start(kind, deltas)?;
        let provider = ProviderConfig::new("recorded", kind, server.base_url());
        let settings = ModelSettings { discover: false, ..ModelSettings::default() };
        let model = ModelRegistry::with_settings(vec![provider], settings).resolve("recorded:m")?;
        // The first request sets up the client.
        read(&*model, deltas).await?;
        let mut samples = Samples::default();
        for _ in 0..ROUNDS {
            let before = process::thread_time()?;
            read(&*model, deltas).await?;
            samples.push((process::thread_time()? - before) / u32::try_from(deltas)?);
        }
        let measured =
            format!("{}, worst of {ROUNDS} {}", micros(samples.median()), micros(samples.percentile(100)));
        let figure = format!("one delta over {name}: read, parsed and handed on, processor time");
        let number = BenchNumber::micros(name.to_lowercase().replace(' ', "_"), samples.median());
        rows.push(FigureRow::new(figure, "< 5 µs", measured, samples.median() < TARGET).number(number));
    }
    Ok(rows)
}

/// Reads an answer to its end, and fails unless all of it came.
async fn read(model: &dyn Model, deltas: usize) -> Result<()> {
    let mut answer = model.stream(ModelRequest::new(Vec::new()));
    let mut seen = 0;
    while let Some(event) = answer.next().await {
        match event? {
            ModelEvent::Text(_) => seen += 1,
            ModelEvent::Usage(_) | ModelEvent::Stop(_) => {}
            other => bail!("{other:?} was not sent"),
        }
    }
    ensure!(seen == deltas, "{seen} of {deltas} deltas came");
    Ok(())
}
