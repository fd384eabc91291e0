//! What a long answer takes on disk, compared with its text.

use std::path::Path;

use anyhow::Result;

use super::Bench;
use crate::answer::Plan;
use crate::load;
use crate::number::{Number, Unit};
use crate::report::Row;

const TARGET: f64 = 1.5;

/// Bytes on disk.
struct Size {
    log: u64,
    folder: u64,
}

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let long = Plan::new(bench.count(2000, 100), 5).with_cells_of(100);
    let short = Plan { deltas: 1, ..long };
    let text = ((long.deltas - short.deltas) * long.cell) as u64;
    let (daemon, data) = bench.start_empty()?;
    let mut sizes = Vec::new();
    // What a turn costs without its answer is taken off.
    for plan in [short, long] {
        let mut clients = load::clients(&daemon.door, &bench.workspace(), 1).await?;
        clients[0].turn(plan).await?;
        sizes.push(size(&data.path().join("sessions").join(&clients[0].session_id))?);
    }
    daemon.stop()?;
    let ratio = |size: &dyn Fn(&Size) -> u64| (size(&sizes[1]) - size(&sizes[0])) as f64 / text as f64;
    let (log, folder) = (ratio(&|size| size.log), ratio(&|size| size.folder));
    let figure = format!("log of {text} more bytes of an answer in {} deltas", long.deltas - short.deltas);
    Ok(vec![
        Row::new(figure, "< 1.5 × text", format!("{log:.2} ×, whole folder {folder:.2} ×"), log < TARGET)
            .number(Number::new("log", log, Unit::Ratio))
            .number(Number::new("folder", folder, Unit::Ratio)),
    ])
}

fn size(session: &Path) -> Result<Size> {
    let log = std::fs::metadata(session.join("events.ndjson"))?.len();
    let mut folder = 0;
    for entry in std::fs::read_dir(session)? {
        folder += entry?.metadata()?.len();
    }
    Ok(Size { log, folder })
}
