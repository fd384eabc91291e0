//! `ostler self-check`: a daemon of its own, in a scratch place, is put through a whole turn by the built-in model: a tool,
//! an approval, a check, the sandbox, a kill in the middle, an undo. Each is a line; nothing is left behind.

mod steps;

use ostler_process::{Invocation, Program};
use std::future::Future;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use ostler_client::Client;
use rustix::process::{Pid, Signal};
use tokio::process::Child;

use super::CommandContext;
use crate::args::SelfCheckArgs;
use crate::connect::find_running;
use crate::exit::CliExit;

/// How long one step may take, a daemon may take to answer, and how often it is looked for.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(25);
const MAX_POLLS: u32 = 800;

/// The configuration of the daemon: nothing of the owner's, and nothing that reaches out.
const CONFIG: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[gateway]\nenabled = false\n[models]\ndefault = \"demo:demo\"\n\
                      discover = false\n[context]\nbundle = false\n";

pub(super) async fn self_check(setting: CommandContext, args: SelfCheckArgs) -> anyhow::Result<CliExit> {
    let place = ScratchDirs::make(args.scratch.as_deref())?;
    let mut report =
        StepReport { plain: setting.output_manner.plain, quiet: setting.output_manner.quiet, failed: 0 };
    let checked = tokio::select! {
        checked = steps::run_steps(&place, &mut report) => checked,
        _ = tokio::signal::ctrl_c() => {
            place.remove();
            return Ok(CliExit::Interrupted);
        }
    };
    match args.keep {
        true => say!("scratch directory kept: {}", place.root.display()),
        false => place.remove(),
    }
    checked?;
    match report.failed {
        0 => {
            say!("all checks passed");
            Ok(CliExit::Success)
        }
        failed => {
            say!("{failed} failed; `ostler doctor` shows details about this machine");
            Ok(CliExit::Failure)
        }
    }
}

/// A scratch place: a data directory, a workspace and a configuration.
struct ScratchDirs {
    root: PathBuf,
    work: PathBuf,
    data: PathBuf,
    outside: PathBuf,
}

impl ScratchDirs {
    fn make(below: Option<&Path>) -> anyhow::Result<ScratchDirs> {
        let below = below.map_or_else(std::env::temp_dir, Path::to_owned);
        let below = std::path::absolute(below)?;
        let name = format!("ostler-check-{}-{}", std::process::id(), jiff::Timestamp::now().as_nanosecond());
        let root = below.join(name);
        let failed =
            || format!("nothing can be made in {}; name another place with --scratch", below.display());
        // Alone, and for nobody else: it has a token in it.
        std::fs::DirBuilder::new().mode(0o700).create(&root).with_context(failed)?;
        let root = root.canonicalize().with_context(failed)?;
        let [work, data, outside] = ["work", "data", "outside"].map(|name| root.join(name));
        let place = ScratchDirs { work, data, outside, root };
        std::fs::create_dir(&place.work).with_context(failed)?;
        std::fs::create_dir(&place.outside).with_context(failed)?;
        std::fs::write(place.work.join("README.md"), "A workspace to try things in.\n")
            .with_context(failed)?;
        std::fs::write(place.root.join("config.toml"), CONFIG).with_context(failed)?;
        Ok(place)
    }

    fn remove(&self) {
        if let Err(error) = std::fs::remove_dir_all(&self.root) {
            report!("warning: {} could not be removed: {error}", self.root.display());
        }
    }
}

/// What is said of each step.
struct StepReport {
    plain: bool,
    quiet: bool,
    failed: u32,
}

impl StepReport {
    /// Carries out one step, says how it went, and returns what came of it.
    async fn step<T>(
        &mut self,
        what: &str,
        step: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<Option<T>> {
        let outcome = match tokio::time::timeout(STEP_TIMEOUT, step).await {
            Ok(outcome) => outcome,
            Err(_) => Err(anyhow::anyhow!("it took longer than {} s", STEP_TIMEOUT.as_secs())),
        };
        let (good, bad) = if self.plain { ("ok      ", "FAILED  ") } else { ("✓ ", "✗ ") };
        match outcome {
            Ok(value) => {
                if !self.quiet {
                    say!("{good}{what}");
                }
                Ok(Some(value))
            }
            Err(error) => {
                self.failed += 1;
                say!("{bad}{what}: {error:#}");
                Ok(None)
            }
        }
    }
}

/// A daemon of our own, killed when it is dropped.
struct ScratchDaemon {
    child: Child,
    client: Client,
}

impl ScratchDaemon {
    async fn start(place: &ScratchDirs) -> anyhow::Result<ScratchDaemon> {
        let log = std::fs::File::create(place.root.join("daemon.log"))?;
        let config = place.root.join("config.toml");
        let own = std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("OSTLER_"));
        let mut command = Invocation::new(Program::current_executable())
            .args(["serve".as_ref(), "--data-dir".as_ref(), place.data.as_os_str()])
            .args(["--config".as_ref(), config.as_os_str()])
            .envs(own)
            .current_dir(&place.root)
            .prepare();
        command.stdout(Stdio::null()).stderr(log);
        let mut child = command.spawn().context("the daemon cannot be started")?;
        for _ in 0..MAX_POLLS {
            if let Ok(client) = find_running(&place.data).await {
                return Ok(ScratchDaemon { child, client });
            }
            if let Some(status) = child.try_wait()? {
                let said = std::fs::read_to_string(place.root.join("daemon.log")).unwrap_or_default();
                anyhow::bail!("the daemon ended with {status}: {}", said.trim());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        anyhow::bail!("the daemon does not answer")
    }

    /// Ends it without a chance to do anything.
    async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Ends it in order.
    async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            rustix::process::kill_process(pid, Signal::TERM)?;
        }
        let status = self.child.wait().await?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }
}
