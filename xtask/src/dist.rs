//! What is handed out: the binary with its page, help for shells and `man`, a list of what is in it, and checksums.
//!
//! The same commit gives the same bytes, wherever it is built: no path of this machine and no time but the commit's
//! gets in. The binary is static where the target for it is installed.

mod environment;
mod sbom;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::environment::BuildEnvironment;
use crate::repository;

/// Files of the repository that go along.
const PACKED_FILES: &[&str] = &["README.md", "LICENSE"];
/// The shells that are helped.
const SHELLS: &[(&str, &str)] = &[("bash", "ostler.bash"), ("zsh", "_ostler"), ("fish", "ostler.fish")];

/// Builds the release of the commit that is checked out, into `target/dist`.
pub(crate) fn run() -> Result<(), String> {
    refuse_changes()?;
    let root = repository::root();
    let built = build(&root)?;
    let place = root.join("target/dist");
    let files = pack(&root, &place, &built)?;
    println!("{} ({}):", place.display(), built.environment.linkage());
    for file in &files {
        println!("  {file}");
    }
    Ok(())
}

/// Builds the same commit in another place, and says whether the same bytes come out.
pub(crate) fn check() -> Result<(), String> {
    refuse_changes()?;
    let root = repository::root();
    let elsewhere = root.join("target/dist-again/checkout");
    remove(&elsewhere)?;
    repository::run(Command::new("git").args(["clone", "--quiet"]).arg(&root).arg(&elsewhere))?;
    let (one, other) = (build(&root)?, build(&elsewhere)?);
    let (place, again) = (root.join("target/dist"), root.join("target/dist-again/files"));
    let files = pack(&root, &place, &one)?;
    pack(&elsewhere, &again, &other)?;
    let read = |path: PathBuf| std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()));
    for file in &files {
        if read(place.join(file))? != read(again.join(file))? {
            return Err(format!("`{file}` comes out differently when it is built in another place"));
        }
    }
    remove(&root.join("target/dist-again"))?;
    println!("{} files come out the same when they are built in another place", files.len());
    Ok(())
}

/// A release has the name of a commit, so it must be what is in that.
fn refuse_changes() -> Result<(), String> {
    let changed = repository::output(
        Command::new("git").args(["status", "--porcelain"]).current_dir(repository::root()),
    )?;
    match changed.lines().count() {
        0 => Ok(()),
        count => Err(format!(
            "{count} files are not committed; a release is made of a commit, so commit or stash them"
        )),
    }
}

/// A binary, and how it was made.
struct BuiltBinary {
    environment: BuildEnvironment,
    binary: PathBuf,
}

fn build(root: &Path) -> Result<BuiltBinary, String> {
    let environment = BuildEnvironment::for_root(root)?;
    repository::run(Command::new("make").args(["--no-print-directory", "page"]).current_dir(root))?;
    let target = root.join("target");
    let mut cargo = repository::cargo();
    cargo.current_dir(root).args(["build", "--profile", "dist", "--locked", "--package", "ostler-cli"]);
    cargo
        .args(["--target", &environment.target])
        .envs(environment.variables())
        .env("CARGO_TARGET_DIR", &target);
    repository::run(&mut cargo)?;
    let binary = target.join(&environment.target).join("dist/ostler");
    Ok(BuiltBinary { environment, binary })
}

/// Puts the files together, and returns their names, the checksums last.
fn pack(root: &Path, place: &Path, built: &BuiltBinary) -> Result<Vec<String>, String> {
    let name = format!("ostler-{}-{}", env!("CARGO_PKG_VERSION"), built.environment.target);
    remove(place)?;
    let folder = place.join(&name);
    fill_package(root, &folder, &built.binary)?;
    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.current_dir(place).env("GZIP", "-n").args([
        "--create",
        "--gzip",
        "--sort=name",
        "--format=ustar",
        "--owner=0",
    ]);
    tar.args(["--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"])
        .arg(format!("--mtime=@{}", built.environment.time));
    repository::run(tar.arg("--file").arg(&archive).arg(&name))?;
    remove(&folder)?;
    let list = format!("{name}.cdx.json");
    write(&place.join(&list), &sbom::sbom(root, &built.environment)?)?;
    let sums = repository::output(Command::new("sha256sum").args([&archive, &list]).current_dir(place))?;
    write(&place.join("SHA256SUMS"), &sums)?;
    Ok(vec![archive, list, "SHA256SUMS".to_owned()])
}

fn fill_package(root: &Path, folder: &Path, binary: &Path) -> Result<(), String> {
    let (shells, pages) = (folder.join("completions"), folder.join("man"));
    for directory in [&shells, &pages] {
        std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let copy = |from: PathBuf, name: &str| {
        std::fs::copy(&from, folder.join(name))
            .map(drop)
            .map_err(|error| format!("{}: {error}", from.display()))
    };
    copy(binary.to_owned(), "ostler")?;
    PACKED_FILES.iter().try_for_each(|name| copy(root.join(name), name))?;
    for (shell, name) in SHELLS {
        let text = repository::output(Command::new(binary).args(["completions", shell]))?;
        write(&shells.join(name), &text)?;
    }
    repository::run(Command::new(binary).args(["man", "--quiet", "--out"]).arg(&pages))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes a folder with all that is in it, if it is there.
fn remove(path: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
