//! Everything that must hold before a change is taken, in one command. The steps run in order and
//! stop at the first that fails; each names the command that runs it alone.

use std::process::Command;
use std::time::Instant;

use crate::{commits, generate, licences, repository, setup, tidy};

struct CiStep {
    name: &'static str,
    work: CiWork,
}

enum CiWork {
    /// A cargo command, with an environment variable if it needs one.
    Cargo { arguments: &'static str, environment: Option<(&'static str, &'static str)> },
    /// One of our own commands.
    Xtask { command: &'static str, run: fn() -> Result<(), String> },
    /// A script of the repository. One that is not there fails: a check that cannot fail is none.
    Script { path: &'static str, arguments: &'static [&'static str] },
}

/// In this order, so that what takes seconds is said before what takes minutes. Steps that run the daemon come after the
/// tests, which build it.
const STEPS: &[CiStep] = &[
    CiStep { name: "format", work: CiWork::cargo("fmt --all --check") },
    CiStep { name: "commits", work: CiWork::Xtask { command: "commits", run: commits::run } },
    CiStep { name: "tidy", work: CiWork::Xtask { command: "tidy", run: tidy::run } },
    CiStep { name: "mutants", work: CiWork::Script { path: "tests/mutants.sh", arguments: &["--check"] } },
    CiStep { name: "licences", work: CiWork::Xtask { command: "licences", run: licences::run } },
    CiStep {
        name: "clippy",
        work: CiWork::cargo("clippy --workspace --all-targets --locked -- -D warnings"),
    },
    CiStep { name: "tools", work: CiWork::Xtask { command: "setup", run: setup::run } },
    CiStep { name: "tests", work: CiWork::cargo("nextest run --workspace --locked --profile ci") },
    CiStep {
        name: "generated",
        work: CiWork::Xtask { command: "generate --check", run: generate::check_built },
    },
    CiStep { name: "attack", work: CiWork::script("tests/attack/run.sh") },
    CiStep { name: "clients", work: CiWork::script("clients/test.sh") },
    CiStep { name: "adapter", work: CiWork::script("tests/acp/adapter.sh") },
    CiStep { name: "page", work: CiWork::script("web/test.sh") },
    CiStep {
        name: "docs",
        work: CiWork::Cargo {
            arguments: "doc --workspace --no-deps --locked",
            environment: Some(("RUSTDOCFLAGS", "-D warnings")),
        },
    },
    CiStep { name: "contract", work: CiWork::script("tests/schemathesis.sh") },
];

/// Runs every step.
pub(crate) fn run() -> Result<(), String> {
    let begin = Instant::now();
    for step in STEPS {
        println!("== {}", step.name);
        let started = Instant::now();
        let outcome = step.work.run();
        let seconds = started.elapsed().as_secs_f64();
        outcome.map_err(|error| failure(step, seconds, &error))?;
        println!("== {} held ({seconds:.1} s)\n", step.name);
    }
    println!("all steps held ({:.1} s)", begin.elapsed().as_secs_f64());
    Ok(())
}

fn failure(step: &CiStep, seconds: f64, error: &str) -> String {
    let (name, alone) = (step.name, step.work.command_line());
    format!(
        "{error}\n\n== {name} FAILED after {seconds:.1} s; the steps after it did not run\nto run it alone: {alone}"
    )
}

impl CiWork {
    const fn cargo(arguments: &'static str) -> CiWork {
        CiWork::Cargo { arguments, environment: None }
    }

    const fn script(path: &'static str) -> CiWork {
        CiWork::Script { path, arguments: &[] }
    }

    fn run(&self) -> Result<(), String> {
        match self {
            CiWork::Cargo { arguments, environment } => {
                let mut cargo = repository::cargo();
                cargo.args(arguments.split_whitespace()).envs(*environment);
                repository::run(&mut cargo)
            }
            CiWork::Xtask { command: _, run } => run(),
            CiWork::Script { path, arguments } => {
                // With the daemon that the tests built: built by itself it has other features of its dependencies, and
                // most of them would be compiled a second time.
                let daemon = repository::target().join("debug/ostler");
                let mut script = Command::new("bash");
                script
                    .arg(path)
                    .args(*arguments)
                    .current_dir(repository::root())
                    .env("OSTLER_BINARY", daemon);
                repository::run(&mut script)
            }
        }
    }

    /// What to type to run this step and no other.
    fn command_line(&self) -> String {
        match self {
            CiWork::Cargo { arguments, environment: None } => format!("cargo {arguments}"),
            CiWork::Cargo { arguments, environment: Some((name, value)) } => {
                format!("{name}=\"{value}\" cargo {arguments}")
            }
            CiWork::Xtask { command, run: _ } => format!("cargo xtask {command}"),
            CiWork::Script { path, arguments } => {
                ["bash", path].into_iter().chain(arguments.iter().copied()).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CiStep, CiWork, STEPS, failure};

    fn fails() -> Result<(), String> {
        Err("it broke".to_owned())
    }

    #[test]
    fn a_failed_step_says_how_to_run_it_alone() {
        let step = CiStep { name: "tidy", work: CiWork::Xtask { command: "tidy", run: fails } };
        let error = step.work.run().unwrap_err();
        let text = failure(&step, 1.25, &error);
        assert!(text.starts_with("it broke"), "{text}");
        assert!(text.contains("tidy FAILED") && text.ends_with("cargo xtask tidy"), "{text}");
    }

    #[test]
    fn every_script_is_there_and_a_missing_one_fails() {
        for step in STEPS {
            let CiWork::Script { path, arguments: _ } = step.work else { continue };
            assert!(crate::repository::root().join(path).exists(), "{path}");
        }
        assert!(CiWork::script("tests/no-such-script.sh").run().is_err());
    }

    #[test]
    fn the_command_shown_is_the_command_run() {
        let docs = STEPS.iter().find(|step| step.name == "docs").unwrap();
        assert_eq!(
            docs.work.command_line(),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps --locked"
        );
        let mutants = STEPS.iter().find(|step| step.name == "mutants").unwrap();
        assert_eq!(mutants.work.command_line(), "bash tests/mutants.sh --check");
    }
}
