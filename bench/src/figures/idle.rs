//! The memory of a daemon that does nothing, and what sessions add that sleep.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail};

use super::Bench;
use crate::daemon::Daemon;
use crate::fixture::Fixture;
use crate::process::megabytes;
use crate::report::Row;

const IDLE_TARGET: u64 = 25_000_000;
const SLEEPING_TARGET: u64 = 10_000_000;
/// How long a daemon is left alone before its memory is looked at.
const QUIET: Duration = Duration::from_secs(1);
/// How long sessions may take to fall asleep; the daemon gives them 30 s.
const SLEEP_LIMIT: Duration = Duration::from_secs(180);

pub(super) fn empty(bench: &Bench) -> Result<Vec<Row>> {
    let idle = idle_memory(bench)?;
    Ok(vec![Row::new("memory of an idle daemon", "< 25 MB", megabytes(idle), idle < IDLE_TARGET)])
}

/// Memory that sessions add which were looked at once and sleep again.
pub(super) async fn sleeping(bench: &Bench) -> Result<Vec<Row>> {
    let idle = idle_memory(bench)?;
    let fixture = bench.fixture(bench.count(10_000, 100), 0).await?;
    let daemon = bench.starter.start(&fixture.data)?;
    let began = SystemTime::now();
    look_at_all(&daemon, &fixture).await?;
    let awake = daemon.memory()?.now;
    if !bench.quick {
        until_asleep(&fixture, began)?;
    }
    std::thread::sleep(QUIET);
    let asleep = daemon.memory()?.now;
    daemon.stop()?;
    let added = |memory: u64| memory.saturating_sub(idle);
    let count = fixture.sessions;
    Ok(vec![
        Row::new(
            format!("memory that {count} sleeping sessions add"),
            "< 10 MB",
            megabytes(added(asleep)),
            added(asleep) < SLEEPING_TARGET,
        ),
        Row::information(
            format!("memory that the same {count} add while all are awake"),
            megabytes(added(awake)),
        ),
    ])
}

fn idle_memory(bench: &Bench) -> Result<u64> {
    let (daemon, _data) = bench.start_empty()?;
    std::thread::sleep(QUIET);
    let memory = daemon.memory()?.now;
    daemon.stop()?;
    Ok(memory)
}

/// Wakes every session.
async fn look_at_all(daemon: &Daemon, fixture: &Fixture) -> Result<()> {
    let mut connection = daemon.door.connect().await?;
    for index in 0..fixture.sessions {
        connection.ask("GET", &format!("/v1/sessions/{}", Fixture::id(index)), None).await?;
    }
    Ok(())
}

/// A session that falls asleep writes its `session.json` anew.
fn until_asleep(fixture: &Fixture, woken: SystemTime) -> Result<()> {
    let start = Instant::now();
    let mut index = 0;
    while start.elapsed() < SLEEP_LIMIT {
        if index == fixture.sessions {
            return Ok(());
        }
        let path = fixture.data.join("sessions").join(Fixture::id(index).to_string()).join("session.json");
        if std::fs::metadata(path).and_then(|metadata| metadata.modified())? >= woken {
            index += 1;
        } else {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    bail!("session {index} does not fall asleep")
}
