//! Compares the numbers of two sets of bench runs, and fails if one got worse. Run by hand on an idle machine, never in
//! CI: figures of a loaded machine mean nothing.

mod compare;
mod numbers;
mod runs;

use std::path::PathBuf;

use self::numbers::RunNumbers;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench --compare OLD.json[,…] NEW.json[,…]
       cargo xtask bench --base REVISION [--runs COUNT] [-- FLAG…]

  --compare   compare what `ostler-bench --json` wrote; of several files for a side, their medians
  --base      build this revision and the one that is checked out, and measure both by turns
  --runs      how often each is measured [default: 5]
  --          flags for `ostler-bench`, such as --only or --quick

It fails when a number got worse by more than 5 %, and with several runs on both sides only if every run of the new
side is worse than every run of the old one.
";

/// Runs `cargo xtask bench` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let (old, new) = match arguments {
        ["--compare", old, new] => (files(old), files(new)),
        ["--base", revision, rest @ ..] => {
            let (runs, flags) = runs::flags(rest).ok_or(USAGE)?;
            runs::measure(revision, runs, &flags)?
        }
        _ => return Err(USAGE.to_owned()),
    };
    compare(&old, &new)
}

fn files(list: &str) -> Vec<PathBuf> {
    list.split(',').map(PathBuf::from).collect()
}

fn compare(old: &[PathBuf], new: &[PathBuf]) -> Result<(), String> {
    let read =
        |files: &[PathBuf]| files.iter().map(|file| RunNumbers::read(file)).collect::<Result<Vec<_>, _>>();
    let comparison = compare::compare(&read(old)?, &read(new)?)?;
    print!("{}", comparison.table());
    match comparison.worse().as_slice() {
        [] => Ok(()),
        worse => Err(format!("worse or gone: {}", worse.join(", "))),
    }
}
