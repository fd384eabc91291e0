//! `ostler doctor`: checks every log, says what is wrong and what to do, and makes views again.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ostler_client::{Client, ClientError, DaemonEndpoint, SessionFilter};
use ostler_config::Auth;
use ostler_daemon::{Daemon, DaemonConfig, socket_path};
use ostler_eventlog::{CheckReport, FileLog, Log, LogDamage, LogError, OpenError, RealDisk};
use ostler_process::Program;
use ostler_sandbox::Sandbox;
use ostler_types::SessionId;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::CommandContext;
use super::last_known_records::LastKnownRecords;
use crate::args::Doctor;
use crate::connect::{daemon_config, find_running};
use crate::exit::CliExit;
use crate::render::counted;

/// How long the gateway has for an answer, and how much of one is read.
const GATEWAY_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_GATEWAY_ANSWER_BYTES: u64 = 16 << 10;

pub(super) async fn doctor(setting: CommandContext, doctor: Doctor) -> anyhow::Result<CliExit> {
    let log = match FileLog::open(&setting.data_dir, Arc::new(RealDisk)) {
        Ok(log) => log,
        Err(OpenError::Locked { pid }) => return report_beside_daemon(&setting, &doctor, pid).await,
        Err(error) => return Err(error.into()),
    };
    let ends = LastKnownRecords::open(&setting.data_dir, &log);
    if let Some(id) = doctor.salvage {
        salvage(&log, &ends, id).await?;
    }
    let examined = examine(&log, &ends).await?;
    drop(ends);
    if doctor.rebuild || doctor.salvage.is_some() {
        rebuild(&setting, log, &examined).await?;
    } else {
        drop(log);
    }
    let sandbox = if doctor.json { Some(sandbox_json(&setting).await) } else { None };
    let exit = report(&setting, sandbox, &examined)?;
    if !doctor.json {
        let gateway = &setting.loaded.config.gateway;
        match gateway.enabled {
            true => say!("gateway: will listen on {} once a daemon runs", gateway.listen),
            false => say!("gateway: off (gateway.enabled)"),
        }
        print_sandbox(&setting).await?;
    }
    Ok(exit)
}

/// Whether the gateway of a daemon that runs has its port, and what to do if it has not.
async fn gateway(setting: &CommandContext) -> (Value, String) {
    let gateway = &setting.loaded.config.gateway;
    if !gateway.enabled {
        return (json!({"enabled": false}), "gateway: off (gateway.enabled)".to_owned());
    }
    let address = gateway.listen;
    let asked = tokio::time::timeout(GATEWAY_TIMEOUT, gateway_answers(address)).await;
    let problem = match asked {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => Some("another program uses that port".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("no answer".to_owned()),
    };
    let report = json!({
        "enabled": true, "address": address, "listening": problem.is_none(), "problem": problem,
    });
    let line = match problem {
        None => format!("gateway: listens on {address}"),
        Some(problem) => format!(
            "gateway: does not listen on {address} ({problem}); it is still reachable at /gateway of the HTTP server; to use another address, set \
             gateway.listen and run `ostler restart`"
        ),
    };
    (report, line)
}

/// Asks for the gateway's health, and says whether it is a gateway that answers.
async fn gateway_answers(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_GATEWAY_ANSWER_BYTES).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.starts_with("HTTP/1.1 200")
        && answer.contains("\"status\":\"ok\"")
        && answer.contains("\"uptime\""))
}

/// What confines programs here, tried out anew; none where the configuration turns it off.
async fn probe_sandbox(setting: &CommandContext) -> Option<Sandbox> {
    let (config, environment) = (&setting.loaded.config, &setting.environment);
    let helper = Some(Program::current_executable());
    ostler_daemon::sandbox(config, environment, &setting.data_dir, helper, true).await
}

/// The same as `print_sandbox`, for programs.
async fn sandbox_json(setting: &CommandContext) -> Value {
    let Some(sandbox) = probe_sandbox(setting).await else { return json!({"mode": "off"}) };
    let (config, environment) = (&setting.loaded.config, &setting.environment);
    let finder =
        ostler_daemon::programs::program_finder(config, environment, &setting.data_dir, Some(&sandbox));
    let report = sandbox.report();
    let home =
        sandbox.home_places().map(|places| json!({"readable": places.toolchains, "caches": places.caches}));
    json!({
        "mode": config.sandbox.mode, "backend": report.name(), "available": sandbox.is_available(),
        "holds_protected_paths": sandbox.holds_protected_paths(), "home": home,
        "ignored_path_directories": finder.ignored_directories(), "enforced": report.enforced,
        "not_enforced": report.not_enforced, "reasons": report.reasons,
    })
}

/// Says what confines programs here, and what does not.
async fn print_sandbox(setting: &CommandContext) -> anyhow::Result<()> {
    let (config, environment) = (&setting.loaded.config, &setting.environment);
    let Some(sandbox) = probe_sandbox(setting).await else {
        say!("sandbox: off (sandbox.mode); programs run with your full rights");
        return Ok(());
    };
    let report = sandbox.report();
    say!("sandbox: {}", report.name());
    if let Some(places) = sandbox.home_places() {
        say!("  accessible in your home directory (add more: sandbox.readable, sandbox.writable):");
        for (what, paths) in [("read", places.toolchains), ("cache", places.caches)] {
            for path in paths {
                say!("    {what:<5}  {}", path.display());
            }
        }
    }
    let finder =
        ostler_daemon::programs::program_finder(config, environment, &setting.data_dir, Some(&sandbox));
    for directory in finder.ignored_directories() {
        say!(
            "  ! PATH has {}, where sandboxed commands can write: programs there are only run in the sandbox",
            directory.display()
        );
    }
    for (mark, lines) in [("✓", &report.enforced), ("✗", &report.not_enforced), ("·", &report.reasons)] {
        for line in lines {
            say!("  {mark} {line}");
        }
    }
    Ok(())
}

/// What was found in one session's log.
struct ExaminedLog {
    id: SessionId,
    found: Result<CheckReport, LogError>,
    /// Whether the end of the log is gone. The views are the only witnesses, so they are kept until somebody accepts it.
    is_short: bool,
}

impl ExaminedLog {
    fn is_intact(&self) -> bool {
        self.found.as_ref().is_ok_and(|report| report.damage.is_none())
    }

    fn as_json(&self) -> Value {
        match &self.found {
            Ok(report) => json!({
                "session_id": self.id, "records": report.records, "bytes": report.bytes,
                "torn_bytes": report.torn_bytes,
                "damage": report.damage.as_ref().map(|d| json!({"seq": d.seq, "offset": d.offset, "what": d.what})),
            }),
            Err(error) => json!({"session_id": self.id, "error": error.to_string()}),
        }
    }

    fn as_text(&self) -> Option<String> {
        match &self.found {
            Ok(CheckReport { damage: Some(damage), .. }) => Some(format!(
                "{}: damaged at record {} (byte {}): {}\n    what is before it is safe; \
                 `ostler doctor --salvage {}` keeps that and sets the rest aside",
                self.id, damage.seq, damage.offset, damage.what, self.id
            )),
            Ok(CheckReport { torn_bytes, .. }) if *torn_bytes > 0 => Some(format!(
                "{}: {torn_bytes} bytes at the end were never acknowledged; they are set aside on the next use",
                self.id
            )),
            Ok(_) => None,
            Err(error) => Some(format!("{}: cannot be read: {error}", self.id)),
        }
    }
}

async fn examine(log: &FileLog, ends: &LastKnownRecords<'_>) -> anyhow::Result<Vec<ExaminedLog>> {
    let mut ids = log.sessions(None, usize::MAX).await?;
    ids.extend(ends.sessions_without_a_log().await?);
    ids.sort();
    ids.dedup();
    let mut examined = Vec::with_capacity(ids.len());
    for id in ids {
        let known = ends.last_seq(id).await;
        let mut found = log.check(id).await;
        if let Err(LogError::NotFound) = found
            && known > 0
        {
            found = Ok(CheckReport { records: 0, bytes: 0, torn_bytes: 0, damage: None });
        }
        let short = found.as_mut().ok().filter(|report| report.damage.is_none() && report.records < known);
        let is_short = short.is_some();
        if let Some(report) = short {
            let what =
                format!("the log ends here, but its views know records up to {known}: the end was cut off");
            report.damage = Some(LogDamage { seq: report.records + 1, offset: report.bytes, what });
        }
        let other = ends.diverged_record(id).await;
        if let (Some(seq), Ok(report)) = (other, &mut found) {
            let what =
                "it is not the record that the snapshot knows: records before it were lost or replaced";
            let damage = LogDamage { seq, offset: 0, what: what.to_owned() };
            report.damage.get_or_insert(damage);
        }
        examined.push(ExaminedLog { id, found, is_short: is_short || other.is_some() });
    }
    Ok(examined)
}

/// Says what was found: as JSON where the part about the sandbox is given.
fn report(
    setting: &CommandContext,
    sandbox: Option<Value>,
    examined: &[ExaminedLog],
) -> anyhow::Result<CliExit> {
    let well = examined.iter().all(ExaminedLog::is_intact);
    if let Some(sandbox) = sandbox {
        let sessions: Vec<Value> = examined.iter().map(ExaminedLog::as_json).collect();
        let report =
            json!({"ok": well, "data_dir": setting.data_dir, "sessions": sessions, "sandbox": sandbox});
        crate::output::json(&report)?;
    } else {
        let records: u64 =
            examined.iter().filter_map(|one| one.found.as_ref().ok()).map(|found| found.records).sum();
        let sessions = counted(examined.len() as u64, "session");
        say!("{}: {sessions}, {}", setting.data_dir.display(), counted(records, "record"));
        for text in examined.iter().filter_map(ExaminedLog::as_text) {
            say!("{text}");
        }
        if well {
            say!("all records intact");
        }
    }
    Ok(if well { CliExit::Success } else { CliExit::Failure })
}

/// Sets aside what is damaged of a log, or accepts that its end is gone.
async fn salvage(log: &FileLog, ends: &LastKnownRecords<'_>, id: SessionId) -> anyhow::Result<()> {
    let (known, other) = (ends.last_seq(id).await, ends.diverged_record(id).await);
    let nothing_is_left = match log.check(id).await {
        Ok(report) => report.records == 0 && report.damage.is_none(),
        Err(error) => matches!(error, LogError::NotFound),
    };
    if nothing_is_left && known > 0 {
        anyhow::bail!(
            "{id}: all {known} records are gone, so there is nothing to keep; restore its log from a backup, or remove the \
             session with `ostler sessions rm --purge {id}`"
        );
    }
    let salvaged = log.salvage(id).await?;
    match salvaged.kept_as {
        Some(path) => {
            report!("{id}: kept {} records; the damaged log is {}", salvaged.records, path.display())
        }
        None if known > salvaged.records => report!(
            "{id}: records {} to {known} are lost; the log goes on after record {}",
            salvaged.records + 1,
            salvaged.records
        ),
        None if other.is_some() => {
            report!("{id}: the log is accepted as it is, though its snapshot knew other records")
        }
        None => report!("{id}: the log is not damaged; nothing to do"),
    }
    ends.forget(id).await
}

/// Removes every view, and lets a daemon make them again.
async fn rebuild(setting: &CommandContext, log: FileLog, examined: &[ExaminedLog]) -> anyhow::Result<()> {
    let short: Vec<String> =
        examined.iter().filter(|one| one.is_short).map(|one| one.id.to_string()).collect();
    if !short.is_empty() {
        anyhow::bail!(
            "views not rebuilt: only they show that records are missing from the end of {}; restore the \
             logs from a backup, or accept the loss with `ostler doctor --salvage ID` for each",
            short.join(", ")
        );
    }
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        remove(&setting.data_dir.join(name))?;
    }
    for one in examined {
        log.remove_snapshot(one.id).await?;
    }
    drop(log);
    let mut config = setting.loaded.config.clone();
    config.server.auth = Auth::Off;
    let daemon = daemon_config(setting.data_dir.clone(), config, setting.environment.clone());
    let daemon = Daemon::start(DaemonConfig { turns_disabled: true, ..daemon }).await?;
    let client = Client::connect(DaemonEndpoint::Unix(socket_path(&setting.data_dir)), None).await?;
    loop {
        match client.list_sessions(&SessionFilter { limit: Some(1), ..SessionFilter::default() }).await {
            Err(ClientError::Refused { code, .. }) if code == "index_rebuilding" => {
                report!("still rebuilding")
            }
            listed => break listed.map(|_| ())?,
        }
    }
    let rebuilt = daemon.rebuild_views().await;
    daemon.stop().await;
    rebuilt?;
    report!("rebuilt the index and the other views from the logs");
    Ok(())
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// A daemon has the data directory: say what can be said, and what cannot be done beside it.
async fn report_beside_daemon(
    setting: &CommandContext,
    doctor: &Doctor,
    pid: Option<u32>,
) -> anyhow::Result<CliExit> {
    let who = pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
    if doctor.rebuild || doctor.salvage.is_some() {
        anyhow::bail!(
            "a daemon{who} uses {}; stop it with `ostler stop`, then try again",
            setting.data_dir.display()
        );
    }
    let client = find_running(&setting.data_dir)
        .await
        .context("a process uses the data directory but does not answer")?;
    let version = client.health().await?.version;
    let (gateway, gateway_line) = gateway(setting).await;
    if doctor.json {
        let daemon = json!({"pid": pid, "version": version});
        let sandbox = sandbox_json(setting).await;
        let report = json!({
            "ok": true, "data_dir": setting.data_dir, "daemon": daemon, "gateway": gateway, "sandbox": sandbox,
        });
        crate::output::json(&report)?;
    } else {
        say!("a daemon{who} of version {version} runs on {} and answers", setting.data_dir.display());
        say!("to check every log, stop it first: `ostler stop`");
        say!("{gateway_line}");
        print_sandbox(setting).await?;
    }
    Ok(CliExit::Success)
}
