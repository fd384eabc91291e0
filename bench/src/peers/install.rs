//! The programs of the peers, in pinned versions, from npm into a directory of their own. No script of a package is run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// One package in the version that is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

/// Where these packages are, which are installed unless they are there from before.
pub(super) fn installed(place: &Path, peer: &str, packages: &[Package]) -> Result<PathBuf> {
    let [main, ..] = packages else { bail!("a peer has a package") };
    let directory = place.join(format!("{peer}-{}", main.version));
    let done = directory.join("installed");
    if done.exists() {
        return Ok(directory);
    }
    std::fs::create_dir_all(&directory)?;
    // Without one npm would install into a directory above that has one.
    std::fs::write(directory.join("package.json"), "{\"private\": true}\n")?;
    let wanted = packages.iter().map(|package| format!("{}@{}", package.name, package.version));
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
    let output = npm.arg(&directory).args(wanted).output().context("npm cannot be started; install it")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "npm: {}", said.lines().take(3).collect::<Vec<_>>().join(" "));
    std::fs::write(done, [])?;
    Ok(directory)
}

/// This machine's architecture in npm's words, and in those of a target triple.
pub(super) fn architecture() -> Result<(&'static str, &'static str)> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok(("x64", "x86_64")),
        ("linux", "aarch64") => Ok(("arm64", "aarch64")),
        (system, machine) => bail!("there is no way to measure it on {system} {machine}"),
    }
}
