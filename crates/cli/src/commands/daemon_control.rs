//! `ostler stop`, `restart` and `status`: the daemon of a data directory as a process. One that systemd started is left
//! to systemd.

use std::time::Duration;

use ostler_client::{Client, SessionFilter};
use ostler_types::SessionStatus;
use rustix::process::Signal;
use serde_json::json;

use super::CommandContext;
use super::service::{UNIT_NAME, main_pid, systemctl};
use super::tui::start_daemon;
use crate::args::{GlobalArgs, StatusArgs, StopArgs};
use crate::connect::find_running;
use crate::exit::CliExit;
use crate::render::counted;
use crate::running_daemon::{DataDirOwner, RunningDaemon, data_dir_owner};

/// After how long it is said what is waited for.
const QUIET_WAIT: Duration = Duration::from_secs(1);
/// How long a killed process may take to end.
const KILL_WAIT: Duration = Duration::from_secs(5);
/// Sessions that are counted in `status`.
const MAX_COUNTED_SESSIONS: u32 = 200;

pub(super) async fn stop(setting: &CommandContext, args: &StopArgs) -> anyhow::Result<CliExit> {
    let was_running = stop_daemon(setting, args).await?;
    if !setting.output_manner.quiet {
        match was_running {
            Some(pid) => say!("stopped the daemon (pid {pid})"),
            None => say!("no daemon is running on {}", setting.data_dir.display()),
        }
    }
    Ok(CliExit::Success)
}

pub(super) async fn restart(
    setting: &CommandContext,
    global: &GlobalArgs,
    args: &StopArgs,
) -> anyhow::Result<CliExit> {
    let owner = data_dir_owner(&setting.data_dir).await?;
    let mut flags = Vec::new();
    if let DataDirOwner::Daemon(daemon) = &owner {
        if main_pid(setting).await == Some(daemon.pid) {
            systemctl(setting, &["restart", UNIT_NAME]).await?;
            say!("restarted {UNIT_NAME}");
            return Ok(CliExit::Success);
        }
        for flag in ["--listen", "--auth"] {
            flags.extend(daemon.flag_value(flag).map(|value| format!("{flag}={value}")));
        }
    }
    stop_owner(setting, args, owner).await?;
    let data_dir = std::sync::Arc::new(setting.data_dir.clone());
    std::fs::create_dir_all(&setting.data_dir)?;
    let started = start_daemon(data_dir, global.config.clone(), flags).await;
    say!("{}", started.map_err(anyhow::Error::msg)?);
    Ok(CliExit::Success)
}

async fn stop_daemon(setting: &CommandContext, args: &StopArgs) -> anyhow::Result<Option<u32>> {
    let owner = data_dir_owner(&setting.data_dir).await?;
    if let DataDirOwner::Daemon(daemon) = &owner
        && main_pid(setting).await == Some(daemon.pid)
    {
        // Otherwise systemd would start it again.
        systemctl(setting, &["stop", UNIT_NAME]).await?;
        return Ok(Some(daemon.pid));
    }
    stop_owner(setting, args, owner).await
}

/// Ends the daemon and waits for it; returns its process id if there was one.
async fn stop_owner(
    setting: &CommandContext,
    args: &StopArgs,
    owner: DataDirOwner,
) -> anyhow::Result<Option<u32>> {
    let daemon = match owner {
        DataDirOwner::Nobody => return Ok(None),
        DataDirOwner::Silent(pid) => anyhow::bail!(
            "a process{} uses {} but does not answer, so it is not stopped; if it is an ostler that hangs, end it with \
             `kill`",
            pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(),
            setting.data_dir.display()
        ),
        DataDirOwner::Daemon(daemon) => daemon,
    };
    let limit = Duration::from_secs(args.timeout);
    daemon.signal(Signal::TERM)?;
    if daemon.wait_until_stopped(&setting.data_dir, QUIET_WAIT.min(limit)).await {
        return Ok(Some(daemon.pid));
    }
    if !setting.output_manner.quiet {
        report!(
            "waiting up to {} s for the daemon (pid {}) to cancel its turns and stop…",
            args.timeout,
            daemon.pid
        );
    }
    if daemon.wait_until_stopped(&setting.data_dir, limit.saturating_sub(QUIET_WAIT)).await {
        return Ok(Some(daemon.pid));
    }
    kill(setting, args, &daemon).await?;
    Ok(Some(daemon.pid))
}

async fn kill(setting: &CommandContext, args: &StopArgs, daemon: &RunningDaemon) -> anyhow::Result<()> {
    anyhow::ensure!(
        args.force,
        "the daemon (pid {}) is still running after {} s; `ostler stop --force` kills it",
        daemon.pid,
        args.timeout
    );
    daemon.signal(Signal::KILL)?;
    anyhow::ensure!(
        daemon.wait_until_stopped(&setting.data_dir, KILL_WAIT).await,
        "the daemon (pid {}) was killed but {} is still locked by one of its children",
        daemon.pid,
        setting.data_dir.display()
    );
    Ok(())
}

pub(super) async fn status(setting: &CommandContext, args: &StatusArgs) -> anyhow::Result<CliExit> {
    let place = setting.data_dir.display();
    let daemon = match data_dir_owner(&setting.data_dir).await? {
        DataDirOwner::Daemon(daemon) => daemon,
        DataDirOwner::Nobody if args.json => {
            crate::output::json(&json!({"running": false, "data_dir": setting.data_dir}))?;
            return Ok(CliExit::Unreachable);
        }
        DataDirOwner::Nobody => {
            say!("not running on {place}; start it with `ostler serve`");
            return Ok(CliExit::Unreachable);
        }
        DataDirOwner::Silent(pid) => {
            let pid = pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            anyhow::bail!("a process{pid} uses {place} but does not answer");
        }
    };
    let client = find_running(&setting.data_dir).await?;
    let version = client.health().await?.version;
    let by_systemd = main_pid(setting).await == Some(daemon.pid);
    let counts = session_counts(&client).await?;
    if args.json {
        crate::output::json(&json!({
            "running": true, "pid": daemon.pid, "version": version, "data_dir": setting.data_dir,
            "systemd": by_systemd, "sessions_running": counts.running, "sessions_waiting": counts.waiting,
        }))?;
        return Ok(CliExit::Success);
    }
    let owner = if by_systemd { format!(", started by systemd ({UNIT_NAME})") } else { String::new() };
    say!("running: version {version}, pid {}{owner}", daemon.pid);
    say!("  data:      {place}");
    say!("  page:      `ostler open` opens it");
    say!(
        "  sessions:  {} running, {} waiting for approval",
        counted(counts.running, "session"),
        counts.waiting
    );
    if version != env!("CARGO_PKG_VERSION") {
        say!(
            "  note:      this program is version {}; `ostler restart` starts that",
            env!("CARGO_PKG_VERSION")
        );
    }
    Ok(CliExit::Success)
}

struct SessionCounts {
    running: u64,
    waiting: u64,
}

async fn session_counts(client: &Client) -> anyhow::Result<SessionCounts> {
    let filter = SessionFilter {
        archived: Some(false),
        limit: Some(MAX_COUNTED_SESSIONS),
        ..SessionFilter::default()
    };
    let sessions = client.list_sessions(&filter).await?.sessions;
    let waits = |status: SessionStatus| status == SessionStatus::WaitingApproval;
    let waiting = sessions.iter().filter(|listed| waits(listed.session.status)).count() as u64;
    let running = sessions
        .iter()
        .filter(|listed| listed.running_turn_id.is_some() && !waits(listed.session.status))
        .count() as u64;
    Ok(SessionCounts { running, waiting })
}
