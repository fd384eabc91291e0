//! Builds two revisions in the same way and measures them alternately with one bench, so that other load on the machine
//! affects both sides. Figures of code that is linked into the bench are left out: it holds only one of the revisions.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository;

const RUNS: usize = 5;

/// The number of runs, and the flags for the bench. None if the flags are not understood.
pub(super) fn flags<'a>(rest: &[&'a str]) -> Option<(usize, Vec<&'a str>)> {
    let (own, handed_on) = match rest.iter().position(|flag| *flag == "--") {
        Some(at) => (&rest[..at], rest[at + 1..].to_vec()),
        None => (rest, Vec::new()),
    };
    match own {
        [] => Some((RUNS, handed_on)),
        ["--runs", count] => Some((count.parse().ok().filter(|count| *count > 0)?, handed_on)),
        _ => None,
    }
}

/// Builds and measures both revisions. Returns the files with the numbers of the base, then those of HEAD.
pub(super) fn measure(
    base: &str,
    runs: usize,
    flags: &[&str],
) -> Result<(Vec<PathBuf>, Vec<PathBuf>), String> {
    let place = repository::root().join("target/bench-compare");
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let old = build(&place, base, "old", &["ostler-cli"])?;
    let new = build(&place, "HEAD", "new", &["ostler-cli", "ostler-bench"])?;
    for side in ["old", "new"] {
        // Fixtures that another revision wrote may have another format.
        _ = std::fs::remove_dir_all(place.join(format!("{side}-fixtures")));
    }
    let (mut olds, mut news) = (Vec::new(), Vec::new());
    for run in 0..runs {
        let mut sides = [(&old, "old", &mut olds), (&new, "new", &mut news)];
        // The order alternates, so that neither side always runs on a warmer machine.
        if run % 2 == 1 {
            sides.reverse();
        }
        for (binary, name, files) in sides {
            let file = place.join(format!("{name}-{run}.json"));
            eprintln!("run {} of {runs}, {name}", run + 1);
            let mut bench = Command::new(new.with_file_name("new-ostler-bench"));
            bench.arg("--binary").arg(binary).arg("--json").arg(&file);
            bench.arg("--fixtures").arg(place.join(format!("{name}-fixtures"))).arg("--daemon").args(flags);
            repository::run(&mut bench)?;
            files.push(file);
        }
    }
    Ok((olds, news))
}

/// Builds packages of a revision in a clone, and returns the path of its daemon. A clone has no built page, so both sides
/// lack it; they share one target directory, so third-party crates are compiled once.
fn build(place: &Path, revision: &str, side: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let checkout = place.join(side);
    let root = repository::root();
    if !checkout.exists() {
        repository::run(
            Command::new("git").args(["clone", "--quiet", "--no-checkout"]).arg(&root).arg(&checkout),
        )?;
    }
    let git = |arguments: &[&str]| repository::output(Command::new("git").args(arguments).current_dir(&root));
    let commit = git(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")])?.trim().to_owned();
    let mut fetch = Command::new("git");
    fetch.args(["fetch", "--quiet"]).arg(&root).arg(&commit).current_dir(&checkout);
    repository::run(&mut fetch)?;
    let mut switch = Command::new("git");
    repository::run(
        switch.args(["checkout", "--quiet", "--force", "--detach", &commit]).current_dir(&checkout),
    )?;
    let target = place.join("target");
    let mut cargo = repository::cargo();
    cargo.current_dir(&checkout).args(["build", "--release", "--locked"]).env("CARGO_TARGET_DIR", &target);
    for package in packages {
        cargo.args(["--package", package]);
    }
    repository::run(&mut cargo)?;
    let programs = packages.iter().map(|package| if *package == "ostler-cli" { "ostler" } else { package });
    for program in programs {
        let (from, to) = (target.join("release").join(program), place.join(format!("{side}-{program}")));
        std::fs::copy(&from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(place.join(format!("{side}-ostler")))
}

#[cfg(test)]
mod tests {
    use super::{RUNS, flags};

    #[test]
    fn flags_behind_two_dashes_are_handed_on() {
        assert_eq!(flags(&[]), Some((RUNS, Vec::new())));
        assert_eq!(flags(&["--runs", "3", "--", "--only", "idle"]), Some((3, vec!["--only", "idle"])));
        assert_eq!(flags(&["--", "--quick"]), Some((RUNS, vec!["--quick"])));
        for wrong in [&["--runs"][..], &["--runs", "0"], &["--runs", "x"], &["--other"]] {
            assert_eq!(flags(wrong), None, "{wrong:?}");
        }
    }
}
