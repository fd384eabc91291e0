//! What a long answer takes on disk, compared with its text.

use std::path::Path;

use anyhow::Result;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::load;
use crate::number::{BenchNumber, BenchUnit};
use crate::report::FigureRow;

const TARGET: f64 = 1.5;

/// Bytes on disk.
struct SessionSize {
    log: u64,
    folder: u64,
}

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let long = AnswerPlan::new(bench.count(2000, 100), 5).with_cells_of(100);
    let short = AnswerPlan { deltas: 1, ..long };
    let text = ((long.deltas - short.deltas) * long.cell) as u64;
    let (daemon, data) = bench.start_empty()?;
    let mut sizes = Vec::new();
    // What a turn costs without its answer is taken off.
    for plan in [short, long] {
        let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), 1).await?;
        clients[0].turn(plan).await?;
        sizes.push(size(&data.path().join("sessions").join(&clients[0].session_id))?);
    }
    daemon.stop()?;
    let ratio = |size: &dyn Fn(&SessionSize) -> u64| (size(&sizes[1]) - size(&sizes[0])) as f64 / text as f64;
    let (log, folder) = (ratio(&|size| size.log), ratio(&|size| size.folder));
    let figure = format!("log of {text} more bytes of an answer in {} deltas", long.deltas - short.deltas);
    Ok(vec![
        FigureRow::new(
            figure,
            "< 1.5 × text",
            format!("{log:.2} ×, whole folder {folder:.2} ×"),
            log < TARGET,
        )
        .number(BenchNumber::new("log", log, BenchUnit::Ratio))
        .number(BenchNumber::new("folder", folder, BenchUnit::Ratio)),
    ])
}

fn size(session: &Path) -> Result<SessionSize> {
    let log = std::fs::metadata(session.join("events.ndjson"))?.len();
    let mut folder = 0;
    for entry in std::fs::read_dir(session)? {
        folder += entry?.metadata()?.len();
    }
    Ok(SessionSize { log, folder })
}
