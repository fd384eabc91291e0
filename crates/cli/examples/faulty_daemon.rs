//! A daemon like any other, on a disk that fails or kills it as `OSTLER_TEST_FAULTS` says. For tests:
//! it takes a data directory, listens on its socket only, and says `ready` when it does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ostler_config::{Config, Environment, SandboxMode};
use ostler_daemon::{Daemon, DaemonConfig};
use ostler_testing::disk::{FaultDisk, FaultPlan};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let data_dir: PathBuf = std::env::args_os().nth(1).context("which data directory?")?.into();
    let plan = std::env::var("OSTLER_TEST_FAULTS").unwrap_or_default();
    let plan = FaultPlan::parse(&plan).map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut config = Config::default();
    config.models.discover = false;
    // Each record is to be one of the test's own making.
    config.context.bundle = false;
    // The disk is what is tested; looking for a sandbox at each of many starts would take most of the time.
    config.sandbox.mode = SandboxMode::Off;
    let mut settings = DaemonConfig::new(data_dir, config, Environment::from_pairs(&[]));
    settings.disk = Arc::new(FaultDisk::new(plan));
    settings.idle_after = Duration::from_millis(50);
    let daemon = Daemon::start(settings).await?;
    println!("ready");
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    terminate.recv().await;
    daemon.stop().await;
    Ok(())
}
