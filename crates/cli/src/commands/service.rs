//! `ostler service`: the daemon as a unit of the user's own systemd. Needs no root, and can be said again: what is as it
//! should be stays. Where there is no systemd it says what to type instead.

mod unit;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ostler_config::Environment;
use ostler_process::{Invocation, PreparedCommand};

use super::CommandContext;
use crate::args::{GlobalArgs, ServiceCommand};
use crate::connect::find_running;
use crate::exit::CliExit;
use crate::programs::finder_for_user;
use unit::SystemdUnit;

/// What the unit is called.
pub(super) const UNIT_NAME: &str = "ostler.service";

pub(super) async fn service(
    setting: CommandContext,
    global: &GlobalArgs,
    command: ServiceCommand,
) -> anyhow::Result<CliExit> {
    match command {
        ServiceCommand::Install { print: true } => {
            put!("{}", SystemdUnit::new(&setting, global)?.text());
            Ok(CliExit::Success)
        }
        ServiceCommand::Install { print: false } => install(&setting, global).await,
        ServiceCommand::Status => status(&setting).await,
        ServiceCommand::Uninstall => uninstall(&setting).await,
    }
}

async fn install(setting: &CommandContext, global: &GlobalArgs) -> anyhow::Result<CliExit> {
    let unit = SystemdUnit::new(setting, global)?;
    let systemd = Systemd::ask(setting).await;
    if systemd == Systemd::Missing {
        report!(
            "error: there is no systemd here. To have the daemon run without a terminal, type:\n  {}\nand put the same \
             line where your system starts things, such as `crontab -e` after @reboot",
            unit.shell_command()
        );
        return Ok(CliExit::Failure);
    }
    let path = unit_path(&setting.environment)?;
    let wrote = write_if_changed(&path, &unit.text())?;
    say!("{} {}", if wrote { "written:" } else { "up to date:" }, path.display());
    if systemd == Systemd::Silent {
        say!("systemd does not answer for this user here; where it does, run:");
        say!("  systemctl --user daemon-reload && systemctl --user enable --now {UNIT_NAME}");
        if find_running(&setting.data_dir).await.is_ok() {
            say!(
                "a daemon is already running on {}; stop it first: `ostler stop`",
                setting.data_dir.display()
            );
        }
        return Ok(CliExit::Failure);
    }
    systemctl(setting, &["daemon-reload"]).await?;
    let is_active = systemctl(setting, &["is-active", "--quiet", UNIT_NAME]).await.is_ok();
    if !is_active && find_running(&setting.data_dir).await.is_ok() {
        systemctl(setting, &["enable", UNIT_NAME]).await?;
        say!("a daemon that systemd did not start is already running; hand over to systemd with:");
        say!("  ostler stop && systemctl --user start {UNIT_NAME}");
        return Ok(CliExit::Success);
    }
    systemctl(setting, &["enable", "--now", UNIT_NAME]).await?;
    if is_active && wrote {
        systemctl(setting, &["restart", UNIT_NAME]).await?;
    }
    say!("the daemon is running, and starts at every login");
    say!("  its log:    journalctl --user -u {UNIT_NAME} -f");
    say!("  its keys:   {} (NAME=value lines; chmod 600)", unit.environment_file.display());
    say!("  headless:   `loginctl enable-linger` keeps it running while nobody is logged in");
    Ok(CliExit::Success)
}

async fn status(setting: &CommandContext) -> anyhow::Result<CliExit> {
    let path = unit_path(&setting.environment)?;
    match (path.exists(), Systemd::ask(setting).await) {
        (false, _) => say!("unit: not installed (`ostler service install` installs it)"),
        (true, Systemd::Answers) => {
            let said = |asked: &'static str| async move {
                let output = match command(setting, &[asked, UNIT_NAME]) {
                    Ok(mut command) => command.output().await,
                    Err(error) => Err(std::io::Error::other(error)),
                };
                let word = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
                word.ok().filter(|word| !word.is_empty()).unwrap_or_else(|| "not known".to_owned())
            };
            say!("unit: {}, {} ({})", said("is-enabled").await, said("is-active").await, path.display());
        }
        (true, Systemd::Silent | Systemd::Missing) => {
            say!("unit: written ({}), but systemd does not answer here", path.display());
        }
    }
    match find_running(&setting.data_dir).await {
        Ok(client) => {
            let version = client.health().await?.version;
            say!("daemon: version {version} running on {}", setting.data_dir.display());
            Ok(CliExit::Success)
        }
        Err(_) => {
            say!("daemon: none running on {}", setting.data_dir.display());
            Ok(CliExit::Unreachable)
        }
    }
}

async fn uninstall(setting: &CommandContext) -> anyhow::Result<CliExit> {
    let path = unit_path(&setting.environment)?;
    let systemd = Systemd::ask(setting).await;
    if !path.exists() {
        say!("no unit is installed");
        return Ok(CliExit::Success);
    }
    if systemd == Systemd::Answers {
        systemctl(setting, &["disable", "--now", UNIT_NAME]).await?;
    }
    std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    if systemd == Systemd::Answers {
        systemctl(setting, &["daemon-reload"]).await?;
    }
    say!("removed: {}; sessions and configuration are kept", path.display());
    Ok(CliExit::Success)
}

/// Where a user's own units lie.
fn unit_path(environment: &Environment) -> anyhow::Result<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = environment.path("XDG_CONFIG_HOME").filter(absolute);
    let base = base.or_else(|| Some(environment.path("HOME").filter(absolute)?.join(".config")));
    let base = base.context("no home directory; set HOME or XDG_CONFIG_HOME")?;
    Ok(base.join("systemd/user").join(UNIT_NAME))
}

/// Writes a file unless it says so already; returns whether it did.
fn write_if_changed(path: &Path, text: &str) -> anyhow::Result<bool> {
    if std::fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(false);
    }
    let directory = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(path, text));
    written.with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(true)
}

/// Whether there is a systemd that serves this user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Systemd {
    Answers,
    /// It is installed, and does not answer: in a container, or over a connection without a login.
    Silent,
    Missing,
}

impl Systemd {
    async fn ask(setting: &CommandContext) -> Systemd {
        if setting.environment.get("PATH").is_none() {
            return Systemd::Missing;
        }
        let Ok(mut command) = command(setting, &["show-environment"]) else { return Systemd::Missing };
        match command.output().await {
            Ok(output) if output.status.success() => Systemd::Answers,
            Ok(_) => Systemd::Silent,
            Err(error) if error.kind() == ErrorKind::NotFound => Systemd::Missing,
            Err(_) => Systemd::Silent,
        }
    }
}

/// The process of the unit, if systemd answers and runs it.
pub(super) async fn main_pid(setting: &CommandContext) -> Option<u32> {
    let mut command = command(setting, &["show", "--property=MainPID", "--value", UNIT_NAME]).ok()?;
    let output = command.output().await.ok().filter(|output| output.status.success())?;
    let pid: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
    (pid != 0).then_some(pid)
}

/// Has systemd do something.
pub(super) async fn systemctl(setting: &CommandContext, arguments: &[&str]) -> anyhow::Result<()> {
    let output = command(setting, arguments)?.output().await.context("systemctl cannot be run")?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    anyhow::ensure!(
        output.status.success(),
        "`systemctl --user {}` failed: {said}; `journalctl --user -u {UNIT_NAME}` may say more",
        arguments.join(" ")
    );
    Ok(())
}

fn command(setting: &CommandContext, arguments: &[&str]) -> anyhow::Result<PreparedCommand> {
    let programs = finder_for_user(&setting.data_dir);
    let invocation = Invocation::new(programs.find("systemctl")?).args(["--user"]).args(arguments);
    Ok(invocation.envs(programs.environment(std::env::vars_os())).prepare())
}
