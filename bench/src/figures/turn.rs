//! The cost of a short turn in processor time and bytes written, and the cost of a delta in a single session. Each session
//! has few turns, so that the length of its conversation does not matter.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::client::BareClient;
use crate::load;
use crate::number::BenchNumber;
use crate::process::{self, kilobytes};
use crate::report::FigureRow;
use crate::samples::{micros, millis};

/// Turns in each session.
const TURNS_EACH: usize = 10;
/// Number of files named in the table, those that grow most.
const NAMED_FILES: usize = 4;

/// Processor time and writes of a turn of ten deltas.
pub(super) async fn short(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (sessions, plan) = (bench.count(20, 1), AnswerPlan::new(10, 2));
    let turns = u32::try_from(sessions * TURNS_EACH)?;
    let before = process::thread_time()?;
    let mut direct = BareClient::new(bench.mock.address).await?;
    for _ in 0..turns {
        direct.turn(plan).await?;
    }
    let bare = (process::thread_time()? - before) / turns;
    let (daemon, data) = bench.start_empty()?;
    // The first turn of a daemon sets up its HTTP client; it is not counted.
    load::clients(&daemon.endpoint, &bench.workspace(), 1).await?[0].turn(plan).await?;
    let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), sessions).await?;
    daemon.wait_until_idle().await?;
    let (processor, written, files) = (daemon.processor()?, daemon.written()?, sizes(data.path())?);
    for client in &mut clients {
        for _ in 0..TURNS_EACH {
            client.turn(plan).await?;
        }
    }
    daemon.wait_until_idle().await?;
    let processor = (daemon.processor()? - processor) / turns;
    let written = (daemon.written()? - written) / u64::from(turns);
    let grown = grown(&files, &sizes(data.path())?, u64::from(turns));
    daemon.stop()?;
    let kept = grown.iter().map(|(_, bytes)| bytes).sum();
    let named: Vec<String> = grown
        .iter()
        .take(NAMED_FILES)
        .map(|(name, bytes)| format!("`{name}` {}", kilobytes(*bytes)))
        .collect();
    let measured = format!("{}; files grow by {}: {}", kilobytes(written), kilobytes(kept), named.join(", "));
    Ok(vec![
        FigureRow::information(
            format!("processor time of a turn of {} deltas", plan.deltas),
            millis(processor),
        )
        .bare(millis(bare))
        .number(BenchNumber::millis("processor", processor)),
        FigureRow::information(
            format!("bytes written to disk for a turn of {} deltas", plan.deltas),
            measured,
        )
        .bare("0 KB")
        .number(BenchNumber::kilobytes("written", written))
        .number(BenchNumber::kilobytes("kept", kept)),
    ])
}

/// Processor time of an additional delta in a single session.
pub(super) async fn delta(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (long, short) = (AnswerPlan::new(bench.count(2000, 50), 3), AnswerPlan::new(1, 3));
    let deltas = u32::try_from(long.deltas - short.deltas)?;
    let mut direct = BareClient::new(bench.mock.address).await?;
    direct.turn(short).await?;
    let before = process::thread_time()?;
    direct.turn(long).await?;
    let bare = (process::thread_time()? - before) / deltas;
    let (daemon, _data) = bench.start_empty()?;
    let mut clients = load::clients(&daemon.endpoint, &bench.workspace(), 1).await?;
    clients[0].turn(short).await?;
    let mut costs = Duration::ZERO;
    let rounds = bench.count(3, 1);
    for _ in 0..rounds {
        let (turn, _) = daemon.whole_cost(clients[0].turn(short)).await?;
        let (whole, _) = daemon.whole_cost(clients[0].turn(long)).await?;
        costs += whole.saturating_sub(turn);
    }
    daemon.stop()?;
    let each = costs / deltas / rounds;
    Ok(vec![
        FigureRow::information("one delta of the only session that streams, processor time", micros(each))
            .bare(micros(bare))
            .number(BenchNumber::micros("delta", each)),
    ])
}

/// The sizes of the files below a directory, summed by file name. Write-ahead logs of SQLite are left out: a checkpoint
/// empties them, so their size says nothing.
fn sizes(directory: &Path) -> Result<BTreeMap<String, u64>> {
    let mut sizes = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next)? {
            let entry = entry?;
            // A draft may have gone since it was listed.
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            if metadata.is_dir() {
                directories.push(entry.path());
            } else if !name.ends_with("-wal") && !name.ends_with("-shm") {
                *sizes.entry(name).or_default() += metadata.len();
            }
        }
    }
    Ok(sizes)
}

/// The growth of files per turn, largest first.
fn grown(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, turns: u64) -> Vec<(String, u64)> {
    let more = |(name, size): (&String, &u64)| {
        let bytes = size.saturating_sub(before.get(name).copied().unwrap_or_default()) / turns;
        (bytes > 0).then(|| (name.clone(), bytes))
    };
    let mut grown: Vec<(String, u64)> = after.iter().filter_map(more).collect();
    grown.sort_unstable_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    grown
}

#[cfg(test)]
mod tests {
    use super::{grown, sizes};

    #[test]
    fn growth_is_summed_by_name_and_shared_among_turns() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: usize| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![0; bytes]).unwrap();
        };
        write("index.db", 500);
        write("sessions/a/events.ndjson", 10);
        let before = sizes(directory.path()).unwrap();
        write("sessions/a/events.ndjson", 110);
        write("sessions/b/events.ndjson", 100);
        write("sessions/b/session.db", 1000);
        write("index.db-wal", 9000);
        let grown = grown(&before, &sizes(directory.path()).unwrap(), 10);
        assert_eq!(grown, [("session.db".to_owned(), 100), ("events.ndjson".to_owned(), 20)]);
    }
}
