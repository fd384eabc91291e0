//! `ostler doctor`: checks every log, says what is wrong and what to do, and makes views again.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ostler_client::{Client, ClientError, Endpoint, SessionFilter};
use ostler_eventlog::{CheckReport, FileLog, Log, LogError, OpenError, RealDisk};
use ostler_types::SessionId;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Setting;
use crate::args::Doctor;
use crate::config::Auth;
use crate::daemon::{Daemon, DaemonSettings, socket_path};
use crate::exit::Exit;
use crate::reach::find;

/// How long the gateway has for an answer, and how much of one is read.
const GATEWAY_PATIENCE: Duration = Duration::from_secs(3);
const GATEWAY_ANSWER: u64 = 16 << 10;

pub(super) async fn doctor(setting: Setting, doctor: Doctor) -> anyhow::Result<Exit> {
    let log = match FileLog::open(&setting.data_dir, Arc::new(RealDisk)) {
        Ok(log) => log,
        Err(OpenError::Locked { pid }) => return beside_a_daemon(&setting, &doctor, pid).await,
        Err(error) => return Err(error.into()),
    };
    if let Some(id) = doctor.salvage {
        salvage(&log, id).await?;
    }
    let examined = examine(&log).await?;
    drop(log);
    if doctor.rebuild || doctor.salvage.is_some() {
        rebuild(&setting).await?;
    }
    let exit = report(&setting, &doctor, &examined)?;
    if !doctor.json {
        let gateway = &setting.loaded.config.gateway;
        match gateway.enabled {
            true => say!("gateway: will listen on {}, once a daemon runs", gateway.listen),
            false => say!("gateway: off (gateway.enabled)"),
        }
        print_sandbox(&setting).await?;
    }
    Ok(exit)
}

/// Whether the gateway of a daemon that runs has its port, and what to do if it has not.
async fn gateway(setting: &Setting) -> (Value, String) {
    let gateway = &setting.loaded.config.gateway;
    if !gateway.enabled {
        return (json!({"enabled": false}), "gateway: off (gateway.enabled)".to_owned());
    }
    let address = gateway.listen;
    let asked = tokio::time::timeout(GATEWAY_PATIENCE, gateway_answers(address)).await;
    let problem = match asked {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => Some("another program has that port".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("nobody answers there".to_owned()),
    };
    let report = json!({
        "enabled": true, "address": address, "listening": problem.is_none(), "problem": problem,
    });
    let line = match problem {
        None => format!("gateway: listens on {address}"),
        Some(problem) => format!(
            "gateway: does not listen on {address} ({problem}); it is at /gateway of the http door, or set \
             gateway.listen to another address and start the daemon again"
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
    stream.take(GATEWAY_ANSWER).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.starts_with("HTTP/1.1 200")
        && answer.contains("\"status\":\"ok\"")
        && answer.contains("\"uptime\""))
}

/// Says what confines programs here, and what does not.
async fn print_sandbox(setting: &Setting) -> anyhow::Result<()> {
    let (config, environment) = (&setting.loaded.config, &setting.environment);
    let Some(sandbox) = crate::workshop::sandbox(config, environment, &setting.data_dir, true).await else {
        say!("sandbox: off (sandbox.mode), so programs run with all your rights");
        return Ok(());
    };
    let report = sandbox.report();
    say!("sandbox: {}", report.name());
    for (mark, lines) in [("✓", &report.enforced), ("✗", &report.not_enforced), ("·", &report.reasons)] {
        for line in lines {
            say!("  {mark} {line}");
        }
    }
    Ok(())
}

/// What was found in one session's log.
struct Examined {
    id: SessionId,
    found: Result<CheckReport, LogError>,
}

impl Examined {
    fn is_well(&self) -> bool {
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

async fn examine(log: &FileLog) -> anyhow::Result<Vec<Examined>> {
    let mut ids = log.sessions().await?;
    ids.sort();
    let mut examined = Vec::with_capacity(ids.len());
    for id in ids {
        examined.push(Examined { id, found: log.check(id).await });
    }
    Ok(examined)
}

fn report(setting: &Setting, doctor: &Doctor, examined: &[Examined]) -> anyhow::Result<Exit> {
    let well = examined.iter().all(Examined::is_well);
    if doctor.json {
        let sessions: Vec<Value> = examined.iter().map(Examined::as_json).collect();
        say!("{:#}", json!({"ok": well, "data_dir": setting.data_dir, "sessions": sessions}));
    } else {
        let records: u64 =
            examined.iter().filter_map(|one| one.found.as_ref().ok()).map(|found| found.records).sum();
        say!("{}: {} sessions, {records} records", setting.data_dir.display(), examined.len());
        for text in examined.iter().filter_map(Examined::as_text) {
            say!("{text}");
        }
        if well {
            say!("every record is as it was written");
        }
    }
    Ok(if well { Exit::Success } else { Exit::Failure })
}

async fn salvage(log: &FileLog, id: SessionId) -> anyhow::Result<()> {
    let salvaged = log.salvage(id).await?;
    match salvaged.kept_as {
        Some(path) => {
            eprintln!("{id}: kept {} records; the damaged log is {}", salvaged.records, path.display())
        }
        None => eprintln!("{id}: the log is not damaged; nothing was done"),
    }
    Ok(())
}

/// Removes every view, and lets a daemon make them again.
async fn rebuild(setting: &Setting) -> anyhow::Result<()> {
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        remove(&setting.data_dir.join(name))?;
    }
    for entry in std::fs::read_dir(setting.data_dir.join("sessions"))? {
        remove(&entry?.path().join("snapshot.json"))?;
    }
    let mut config = setting.loaded.config.clone();
    config.server.auth = Auth::Off;
    let mut settings =
        DaemonSettings::new(setting.data_dir.clone(), None, config, setting.environment.clone());
    settings.at_rest = true;
    let daemon = Daemon::start(settings).await?;
    let client = Client::connect(Endpoint::Unix(socket_path(&setting.data_dir)), None).await?;
    loop {
        match client.list_sessions(&SessionFilter { limit: Some(1), ..SessionFilter::default() }).await {
            Err(ClientError::Refused { code, .. }) if code == "index_rebuilding" => eprintln!("still at it"),
            listed => break listed.map(|_| ())?,
        }
    }
    let rebuilt = daemon.rebuild_views().await;
    daemon.stop().await;
    rebuilt?;
    eprintln!("the index and the other views were made again from the logs");
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
async fn beside_a_daemon(setting: &Setting, doctor: &Doctor, pid: Option<u32>) -> anyhow::Result<Exit> {
    let who = pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
    if doctor.rebuild || doctor.salvage.is_some() {
        anyhow::bail!("a daemon{who} uses {}; stop it first, then try again", setting.data_dir.display());
    }
    let client =
        find(&setting.data_dir).await.context("a process has the data directory but does not answer")?;
    let version = client.health().await?.version.unwrap_or_default();
    let (gateway, gateway_line) = gateway(setting).await;
    if doctor.json {
        let daemon = json!({"pid": pid, "version": version});
        let report = json!({"ok": true, "data_dir": setting.data_dir, "daemon": daemon, "gateway": gateway});
        say!("{report:#}");
    } else {
        say!("a daemon{who} of version {version} runs on {} and answers", setting.data_dir.display());
        say!("stop it to have every log checked");
        say!("{gateway_line}");
        print_sandbox(setting).await?;
    }
    Ok(Exit::Success)
}
