//! `ostler config`: shows settings, and changes them in the configuration file.

use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ostler_process::{Invocation, Program};

use super::CommandContext;
use super::confirm::confirm;
use crate::args::{ConfigCommand, GlobalArgs};
use crate::config::{edit, set};
use crate::connect::find_running;
use crate::exit::CliExit;
use crate::paths::config_file;

pub(super) async fn config(
    setting: &CommandContext,
    global: &GlobalArgs,
    command: ConfigCommand,
) -> anyhow::Result<CliExit> {
    let path = || {
        let file = config_file(global.config.as_deref(), &setting.environment);
        Ok::<PathBuf, anyhow::Error>(file.context("no home directory; name a file with --config")?.path)
    };
    match command {
        ConfigCommand::Show { json } => show(setting, json),
        ConfigCommand::Get { key } => get(setting, &key),
        ConfigCommand::Set { key, value } => {
            let path = path()?;
            let changed = set::with_setting(&path, &read(&path)?, &key, &value)?;
            edit::write(&path, &changed)?;
            say!("set {key} in {}", path.display());
            tell_about_restart(setting).await;
            Ok(CliExit::Success)
        }
        ConfigCommand::Unset { key } => {
            let path = path()?;
            let Some(changed) = set::without_setting(&path, &read(&path)?, &key)? else {
                say!("{key} is not set in {}", path.display());
                return Ok(CliExit::Success);
            };
            edit::write(&path, &changed)?;
            say!("removed {key} from {}", path.display());
            tell_about_restart(setting).await;
            Ok(CliExit::Success)
        }
        ConfigCommand::Edit => {
            let path = path()?;
            if edit_file(setting, &path).await? {
                say!("saved {}", path.display());
                tell_about_restart(setting).await;
            } else {
                say!("{} is unchanged", path.display());
            }
            Ok(CliExit::Success)
        }
    }
}

fn show(setting: &CommandContext, json: bool) -> anyhow::Result<CliExit> {
    if json {
        crate::output::json(&setting.loaded.entries(&setting.environment))?;
    } else {
        put!("{}", setting.loaded.table(&setting.environment));
    }
    Ok(CliExit::Success)
}

/// Prints a value as a script wants it: a string without quotes, anything else as TOML.
fn get(setting: &CommandContext, key: &str) -> anyhow::Result<CliExit> {
    let entries = setting.loaded.entries(&setting.environment);
    let Some(entry) = entries.into_iter().find(|entry| entry.key == key) else {
        bail!("`{key}` is not a setting; `ostler config show` lists all settings");
    };
    match entry.value {
        Some(toml::Value::String(text)) => say!("{text}"),
        Some(value) => say!("{value}"),
        None => {}
    }
    Ok(CliExit::Success)
}

/// The text of the file; nothing where there is none yet.
fn read(path: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Opens a copy of the file in the person's editor until it is valid; false if nothing was changed.
async fn edit_file(setting: &CommandContext, path: &Path) -> anyhow::Result<bool> {
    let before = read(path)?;
    let mut text = before.clone();
    loop {
        text = edited(setting, &text).await?;
        let Err(error) = set::validate(path, &text) else { break };
        report!("error: {error}");
        if !std::io::stdin().is_terminal() || !confirm("Edit it again?", true).await? {
            bail!("{} was not changed", path.display());
        }
    }
    if text == before {
        return Ok(false);
    }
    edit::write(path, &text)?;
    Ok(true)
}

/// A text after the person has edited it.
async fn edited(setting: &CommandContext, text: &str) -> anyhow::Result<String> {
    let variable = |name: &str| setting.environment.get(name).and_then(|value| value.to_str());
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or("vi");
    let directory = std::env::temp_dir().join(format!("ostler-config-{}", std::process::id()));
    // The file may name secrets.
    let made = std::fs::DirBuilder::new().mode(0o700).create(&directory);
    made.with_context(|| format!("{} cannot be made", directory.display()))?;
    let file = directory.join("config.toml");
    let result = async {
        std::fs::write(&file, text)?;
        // What is set as editor may have arguments.
        let line = format!("{editor} \"$1\"");
        let shell = Program::from_system("sh").unwrap_or_else(|| Program::at(PathBuf::from("/bin/sh")));
        let invocation = Invocation::new(shell).args(["-c", &line, "sh"]).args([file.as_path()]);
        let mut command = invocation.inherit_environment().inherit_directory().prepare();
        let status = command.stdin(std::process::Stdio::inherit()).spawn()?.wait().await?;
        anyhow::ensure!(status.success(), "`{editor}` ended with {status}; set EDITOR to use another editor");
        Ok(std::fs::read_to_string(&file)?)
    };
    let result = result.await;
    _ = std::fs::remove_dir_all(&directory);
    result
}

/// A daemon reads the file when it starts.
async fn tell_about_restart(setting: &CommandContext) {
    if find_running(&setting.data_dir).await.is_ok() {
        report!("note: the running daemon uses the old settings; apply the change with `ostler restart`");
    }
}
