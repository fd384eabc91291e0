//! From the start of the process to the first answer, with more and more sessions on disk.

use std::time::Duration;

use anyhow::Result;

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::{Samples, millis};

const TARGET: Duration = Duration::from_millis(60);

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let runs = bench.count(9, 2);
    let mut empty = Samples::default();
    for _ in 0..runs {
        let (daemon, _data) = bench.start_empty()?;
        empty.push(daemon.started_in);
        daemon.stop()?;
    }
    let mut rows = vec![row("empty".to_owned(), "cold start to `/healthz`, empty data directory", &empty)];
    let fixtures = [
        bench.fixture(10, 0).await?,
        bench.fixture(bench.count(10_000, 100), 0).await?,
        bench.largest().await?,
    ];
    for fixture in fixtures {
        let mut samples = Samples::default();
        for _ in 0..runs {
            let daemon = bench.starter.start(&fixture.data)?;
            samples.push(daemon.started_in);
            daemon.stop()?;
        }
        let name = format!("sessions_{}", fixture.sessions);
        rows.push(row(name, &format!("the same with {} sessions", fixture.sessions), &samples));
    }
    Ok(rows)
}

fn row(name: String, figure: &str, samples: &Samples) -> FigureRow {
    let measured = format!(
        "{}, worst of {} {}",
        millis(samples.median()),
        samples.count(),
        millis(samples.percentile(100))
    );
    FigureRow::new(figure, "< 60 ms", measured, samples.median() < TARGET)
        .number(BenchNumber::millis(name, samples.median()))
}
