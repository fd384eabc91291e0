//! Where the repository is, and how programs are run in it. What they mean is left to the callers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies inside the repository").to_owned()
}

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    // Joining an absolute path yields that path.
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The cargo that runs us, so that nested calls use the same toolchain.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs a program that speaks to the terminal itself.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", words(command))) }
}

/// Runs a program for what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    command.stdin(Stdio::null());
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} ended with {}:\n{}", words(command), output.status, said.trim_end()));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("{} printed something that is not UTF-8", words(command)))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("{} could not be started: {error}; is it installed?", words(command))
}

fn words(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words: Vec<_> =
        std::iter::once(program).chain(command.get_args()).map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}
