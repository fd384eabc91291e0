//! Installs the cargo tools that the tests need. Programs of the system are left to `.ci/setup`.

use std::process::Stdio;

use crate::repository;

/// The version that `.config/nextest.toml` is written for. Any newer one that is already there will do.
const NEXTEST: &str = "cargo-nextest@0.9.143";

/// Installs what is missing; does nothing when all is there.
pub(crate) fn run() -> Result<(), String> {
    let mut probe = repository::cargo();
    probe.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if repository::run(&mut probe).is_ok() {
        return Ok(());
    }
    println!("cargo-nextest is missing; building it takes a few minutes, once");
    repository::run(repository::cargo().args(["install", "--locked", NEXTEST])).map_err(|error| {
        format!("{error}\nhint: see https://nexte.st/docs/installation for ready-made binaries")
    })
}
