//! The memory of a daemon that does nothing, and what sessions add that sleep.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

use super::BenchSetup;
use crate::daemon::MeasuredDaemon;
use crate::fixture::DataFixture;
use crate::number::BenchNumber;
use crate::process::{ResidentMemory, megabytes};
use crate::report::FigureRow;

const IDLE_TARGET: u64 = 25_000_000;
const SLEEPING_TARGET: u64 = 10_000_000;
/// How long a daemon is left alone before its memory is looked at.
const QUIET: Duration = Duration::from_secs(1);
/// How long after the last change of a session the memory of sleeping ones is looked at, at the least.
const LATER: Duration = Duration::from_secs(60);
/// How long sessions may take to fall asleep; the daemon gives them 30 s.
const SLEEP_LIMIT: Duration = Duration::from_secs(180);

pub(super) fn empty(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (idle, ResidentMemory { heap, code }) = idle_memory(bench)?;
    let measured = format!("{}: {} of heap, {} of code", megabytes(idle), megabytes(heap), megabytes(code));
    Ok(vec![
        FigureRow::new("memory of an idle daemon", "< 25 MB", measured, idle < IDLE_TARGET)
            .number(BenchNumber::megabytes("resident", idle))
            .number(BenchNumber::megabytes("heap", heap))
            .number(BenchNumber::megabytes("code", code)),
    ])
}

/// Memory that sessions add which were changed once and sleep again.
pub(super) async fn sleeping(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (idle, _) = idle_memory(bench)?;
    let fixture = bench.fixture(bench.count(10_000, 100), 0).await?;
    let daemon = bench.starter.start(&fixture.data)?;
    change_all(&daemon, &fixture).await?;
    let (changed, awake) = (Instant::now(), daemon.memory()?.now);
    if !bench.quick {
        until_asleep(&fixture)?;
        std::thread::sleep(LATER.saturating_sub(changed.elapsed()));
    }
    let asleep = daemon.memory()?.now;
    daemon.stop()?;
    let added = |memory: u64| memory.saturating_sub(idle);
    let count = fixture.sessions;
    Ok(vec![
        FigureRow::new(
            format!("memory that {count} sleeping sessions add, a minute after the last was changed"),
            "< 10 MB",
            megabytes(added(asleep)),
            added(asleep) < SLEEPING_TARGET,
        )
        .number(BenchNumber::megabytes("asleep", added(asleep))),
        FigureRow::information(
            format!("memory that the same {count} add just after the last was changed"),
            megabytes(added(awake)),
        )
        .number(BenchNumber::megabytes("changed", added(awake))),
    ])
}

fn idle_memory(bench: &BenchSetup) -> Result<(u64, ResidentMemory)> {
    let (daemon, _data) = bench.start_empty()?;
    std::thread::sleep(QUIET);
    let memory = (daemon.memory()?.now, daemon.resident()?);
    daemon.stop()?;
    Ok(memory)
}

/// Wakes every session and changes it, so that it has something to write down before it sleeps.
async fn change_all(daemon: &MeasuredDaemon, fixture: &DataFixture) -> Result<()> {
    let mut connection = daemon.endpoint.connect().await?;
    let title = format!("{{\"title\":\"{:?}\"}}", SystemTime::now().duration_since(UNIX_EPOCH)?);
    for index in 0..fixture.sessions {
        connection.ask("PATCH", &format!("/v1/sessions/{}", DataFixture::id(index)), Some(&title)).await?;
    }
    Ok(())
}

/// A session that was changed has a marker in `unsettled/` until it sleeps.
fn until_asleep(fixture: &DataFixture) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < SLEEP_LIMIT {
        if std::fs::read_dir(fixture.data.join("unsettled"))?.next().is_none() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("some sessions do not fall asleep")
}
