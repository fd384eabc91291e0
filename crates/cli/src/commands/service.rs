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
const UNIT_NAME: &str = "ostler.service";

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
    let systemd = Systemd::ask(&setting.environment).await;
    if systemd == Systemd::Missing {
        aside!(
            "error: there is no systemd here. To have the daemon run without a terminal, type:\n  {}\nand put the same \
             line where your system starts things, such as `crontab -e` after @reboot",
            unit.shell_command()
        );
        return Ok(CliExit::Failure);
    }
    let path = unit_path(&setting.environment)?;
    let wrote = write_if_changed(&path, &unit.text())?;
    say!("{} {}", if wrote { "written:" } else { "as it should be:" }, path.display());
    if systemd == Systemd::Silent {
        say!("systemd does not answer for you here; where it does, type:");
        say!("  systemctl --user daemon-reload && systemctl --user enable --now {UNIT_NAME}");
        return Ok(CliExit::Success);
    }
    systemctl(&["daemon-reload"]).await?;
    let is_active = systemctl(&["is-active", "--quiet", UNIT_NAME]).await.is_ok();
    if !is_active && find_running(&setting.data_dir).await.is_ok() {
        systemctl(&["enable", UNIT_NAME]).await?;
        say!("a daemon runs already that systemd did not start; stop it, then type:");
        say!("  systemctl --user start {UNIT_NAME}");
        return Ok(CliExit::Success);
    }
    systemctl(&["enable", "--now", UNIT_NAME]).await?;
    if is_active && wrote {
        systemctl(&["restart", UNIT_NAME]).await?;
    }
    say!("the daemon runs, and is started whenever you log in");
    say!("  its log:    journalctl --user -u {UNIT_NAME} -f");
    say!("  its keys:   {} (NAME=value lines; chmod 600)", unit.environment_file.display());
    say!("  without you: `loginctl enable-linger` lets it run while nobody is logged in");
    Ok(CliExit::Success)
}

async fn status(setting: &CommandContext) -> anyhow::Result<CliExit> {
    let path = unit_path(&setting.environment)?;
    match (path.exists(), Systemd::ask(&setting.environment).await) {
        (false, _) => say!("unit: not installed; `ostler service install` does that"),
        (true, Systemd::Answers) => {
            let said = |asked: &'static str| async move {
                let output = match command(&[asked, UNIT_NAME]) {
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
            say!("daemon: version {version} answers on {}", setting.data_dir.display());
            Ok(CliExit::Success)
        }
        Err(_) => {
            say!("daemon: none answers on {}", setting.data_dir.display());
            Ok(CliExit::Unreachable)
        }
    }
}

async fn uninstall(setting: &CommandContext) -> anyhow::Result<CliExit> {
    let path = unit_path(&setting.environment)?;
    let systemd = Systemd::ask(&setting.environment).await;
    if !path.exists() {
        say!("there is no unit to remove");
        return Ok(CliExit::Success);
    }
    if systemd == Systemd::Answers {
        systemctl(&["disable", "--now", UNIT_NAME]).await?;
    }
    std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    if systemd == Systemd::Answers {
        systemctl(&["daemon-reload"]).await?;
    }
    say!("removed: {}; sessions and configuration stay", path.display());
    Ok(CliExit::Success)
}

/// Where a user's own units lie.
fn unit_path(environment: &Environment) -> anyhow::Result<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = environment.path("XDG_CONFIG_HOME").filter(absolute);
    let base = base.or_else(|| Some(environment.path("HOME").filter(absolute)?.join(".config")));
    let base = base.context("nothing says where your home is; set HOME or XDG_CONFIG_HOME")?;
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
    async fn ask(environment: &Environment) -> Systemd {
        if environment.get("PATH").is_none() {
            return Systemd::Missing;
        }
        let Ok(mut command) = command(&["show-environment"]) else { return Systemd::Missing };
        match command.output().await {
            Ok(output) if output.status.success() => Systemd::Answers,
            Ok(_) => Systemd::Silent,
            Err(error) if error.kind() == ErrorKind::NotFound => Systemd::Missing,
            Err(_) => Systemd::Silent,
        }
    }
}

/// Has systemd do something.
async fn systemctl(arguments: &[&str]) -> anyhow::Result<()> {
    let output = command(arguments)?.output().await.context("systemctl cannot be run")?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    anyhow::ensure!(
        output.status.success(),
        "`systemctl --user {}` failed: {said}; `journalctl --user -u {UNIT_NAME}` may say more",
        arguments.join(" ")
    );
    Ok(())
}

fn command(arguments: &[&str]) -> anyhow::Result<PreparedCommand> {
    let programs = finder_for_user();
    let invocation = Invocation::new(programs.find("systemctl")?).args(["--user"]).args(arguments);
    Ok(invocation.inherit_environment().envs([("PATH", programs.path())]).prepare())
}
