//! The unit for systemd: what it runs, and with what. Pure but for where this program lies.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ostler_types::shell_word;

use super::super::CommandContext;
use crate::args::GlobalArgs;
use crate::paths::config_file;

/// What the unit says.
pub(super) struct SystemdUnit {
    /// The program and its arguments.
    command: Vec<String>,
    /// Where programs are found that agents run.
    path: String,
    /// Where the owner writes keys down, for the daemon alone.
    pub(super) environment_file: PathBuf,
}

impl SystemdUnit {
    /// The unit for the data directory and the configuration that were named, or the usual ones.
    pub(super) fn new(setting: &CommandContext, global: &GlobalArgs) -> anyhow::Result<SystemdUnit> {
        let program = std::env::current_exe().context("this program cannot find itself")?;
        let mut command = vec![text(&program)?, "serve".to_owned()];
        // What a variable of this shell says must not be lost with the shell.
        let named = |flag: bool, variable: &str| flag || setting.environment.get(variable).is_some();
        if named(global.data_dir.is_some(), "OSTLER_DATA_DIR") {
            command.extend(["--data-dir".to_owned(), text(&setting.data_dir)?]);
        }
        let config = config_file(global.config.as_deref(), &setting.environment);
        let config = config.context("no home directory; set HOME or XDG_CONFIG_HOME")?;
        let file =
            std::path::absolute(&config.path).context("the path of the configuration cannot be used")?;
        if config.named {
            command.extend(["--config".to_owned(), text(&file)?]);
        }
        let path = setting.environment.get("PATH").and_then(|path| path.to_str()).unwrap_or("/usr/bin:/bin");
        Ok(SystemdUnit {
            command,
            path: path.to_owned(),
            environment_file: file.with_file_name("environment"),
        })
    }

    /// The unit, as systemd reads it.
    pub(super) fn text(&self) -> String {
        let command: Vec<String> = self.command.iter().map(|word| quoted(word, true)).collect();
        let path = quoted(&format!("PATH={}", self.path), false);
        let keys = escaped(&self.environment_file.to_string_lossy(), false);
        UNIT.replace("{command}", &command.join(" ")).replace("{path}", &path).replace("{keys}", &keys)
    }

    /// The same for a shell.
    pub(super) fn shell_command(&self) -> String {
        let words: Vec<String> = self.command.iter().map(|word| shell_word(word)).collect();
        format!("setsid nohup {} > /dev/null 2>&1 &", words.join(" "))
    }
}

/// What is tightened is what agents do not feel: their tools have a sandbox of their own, which needs namespaces, and
/// may be told to change any file of their owner's.
const UNIT: &str = "\
# Written by `ostler service install`, which writes it again; put changes in `systemctl --user edit ostler`.
[Unit]
Description=Ostler, a daemon for coding agents

[Service]
ExecStart={command}
Environment={path}
EnvironmentFile=-{keys}
Restart=on-failure
RestartSec=2
# The daemon ends its turns and its programs in order, and what is left after that is killed.
KillMode=mixed
TimeoutStopSec=30
# A program that takes all memory ends alone.
OOMPolicy=continue
# Keys are in memory; a crash must not write them down.
LimitCORE=0:infinity

[Install]
WantedBy=default.target
";

fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| format!("the path {} is not text", path.display()))?;
    anyhow::ensure!(!text.contains('\n'), "the path {} has a line end in it", path.display());
    Ok(text.to_owned())
}

/// A word as systemd reads it.
fn quoted(word: &str, in_command: bool) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=+,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("\"{}\"", escaped(word, in_command))
}

/// What systemd would put something else in place of. Only commands have variables in them.
fn escaped(text: &str, in_command: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('\n', " ");
    if in_command { text.replace('$', "$$") } else { text }
}

#[cfg(test)]
mod tests {
    use super::SystemdUnit;

    #[test]
    fn odd_paths_are_what_they_are() {
        let unit = SystemdUnit {
            command: vec!["/opt/my tools/$os%tler".to_owned(), "serve".to_owned()],
            path: "/a b/bin:/bin".to_owned(),
            environment_file: "/home/me/.config/ostler/environment".into(),
        };
        let text = unit.text();
        assert!(text.contains("\nExecStart=\"/opt/my tools/$$os%%tler\" serve\n"), "{text}");
        assert!(text.contains("\nEnvironment=\"PATH=/a b/bin:/bin\"\n"), "{text}");
        assert!(text.contains("\nEnvironmentFile=-/home/me/.config/ostler/environment\n"), "{text}");
        assert!(!text.contains('{'), "{text}");
        assert_eq!(unit.shell_command(), "setsid nohup '/opt/my tools/$os%tler' serve > /dev/null 2>&1 &");
    }
}
