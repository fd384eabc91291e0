//! A daemon that is killed while a command runs: what the command planted does not become the truth.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ostler_process::Program;
use ostler_sandbox::{BackendChoice, Sandbox, SandboxSettings, is_placeholder};
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{PATH, SandboxWorld, TEST_DIRECTORY_VARIABLE, as_nobody, names};

/// Says that the test runs again as the daemon that is to be killed, and by what it confines.
const DAEMON: &str = "OSTLER_SANDBOX_TEST_CRASH";
const PLANT: &str = "printf '[core]\\nfsmonitor=touch pwned\\n' >> .git/config; echo x > .git/hooks/pre-commit; \
                     mkdir -p .claude && echo x > .claude/settings.json; \
                     chmod 0755 \"$DATA\"; chmod 0644 \"$DATA/token\"; echo planted $$; exec sleep 1000";

#[tokio::test]
async fn what_was_planted_is_undone_at_once() {
    match std::env::var(DAEMON).as_deref() {
        Ok(choice) => daemon(choice).await,
        Err(_) => {
            for choice in ["bubblewrap", "landlock"] {
                let crashed = Crashed::new("crash::what_was_planted_is_undone_at_once", choice, false);
                crashed.is_as_it_was();
            }
        }
    }
}

#[tokio::test]
async fn without_its_helper_the_next_start_undoes_it() {
    match std::env::var(DAEMON).as_deref() {
        Ok(choice) => daemon(choice).await,
        Err(_) => {
            for choice in ["bubblewrap", "landlock"] {
                let crashed =
                    Crashed::new("crash::without_its_helper_the_next_start_undoes_it", choice, true);
                assert!(!names(&crashed.root.join("data/scratch")).is_empty());
                assert!(names(&crashed.root.join("workspace")).contains(&".claude".to_owned()));
                // What only looks like a placeholder is none, whatever its date.
                assert!(!is_placeholder(&crashed.root.join("workspace/.claude")));
                crashed.start().await;
                crashed.is_as_it_was();
            }
        }
    }
}

#[test]
fn the_same_as_nobody() {
    as_nobody(module_path!(), "what_was_planted_is_undone_at_once");
    as_nobody(module_path!(), "without_its_helper_the_next_start_undoes_it");
}

async fn daemon(choice: &str) {
    let choice = if choice == "landlock" { BackendChoice::Landlock } else { BackendChoice::Bubblewrap };
    let world = SandboxWorld::new(choice).await;
    world.host_git(&world.workspace, &["init", "-q"]);
    let data = world.place.path().join("data");
    let confined = world.sandbox.command(&world.profile(), "/bin/bash", ["-c", PLANT]).unwrap();
    let confined = confined.envs([("PATH", PATH)]).envs([("DATA", data)]);
    let (mut command, _confinement) = confined.prepare();
    println!("root {}", world.place.path().canonicalize().unwrap().display());
    let _child = command.spawn().unwrap();
    std::future::pending::<()>().await;
}

/// What a killed daemon has left.
struct Crashed {
    root: PathBuf,
    config: PathBuf,
    /// What it was made in goes with this.
    _place: tempfile::TempDir,
}

impl Crashed {
    fn new(test: &str, choice: &str, with_helper: bool) -> Crashed {
        let inside = std::env::var_os(TEST_DIRECTORY_VARIABLE).map(PathBuf::from);
        let place = inside.unwrap_or_else(|| crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR")));
        let place = tempfile::tempdir_in(place).unwrap();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(TEST_DIRECTORY_VARIABLE, place.path())
            .env(DAEMON, choice)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = |word: &str| {
            let line = output.find_map(|line| Some(line.unwrap().split_once(word)?.1.trim().to_owned()));
            line.unwrap()
        };
        let root = PathBuf::from(told("root "));
        let command = told("planted ");
        if with_helper {
            for lease in leases(&root.join("data/scratch")) {
                kill(fs::read_to_string(lease).unwrap().lines().next().unwrap());
            }
            // Nothing but the helper ends it under Landlock; in a namespace it has another number.
            if choice == "landlock" {
                kill(&command);
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The pipe is closed when the last process that had it is gone, the helper included.
        output.for_each(drop);
        Crashed { config: root.join("workspace/.git/config"), root, _place: place }
    }

    async fn start(&self) {
        let at = |path: &str| self.root.join(path);
        Sandbox::probe(SandboxSettings {
            home: at("home"),
            data_dir: at("data"),
            scratch: at("data/scratch"),
            helper: Program::at("/bin/false".into()),
            helper_arguments: Vec::new(),
            hidden: Vec::new(),
            hides_home: true,
            readable: Vec::new(),
            search_path: Vec::new(),
            backend_choice: BackendChoice::Best,
            ignore_cached_probe: true,
        })
        .await;
    }

    fn is_as_it_was(&self) {
        assert_eq!(names(&self.root.join("workspace")), [".git"]);
        assert!(!fs::read_to_string(&self.config).unwrap().contains("fsmonitor"));
        let git = self.root.join("workspace/.git");
        assert!(!git.join("hooks/pre-commit").exists() && !git.join("commondir").exists());
        for (path, mode) in [("data/scratch", 0o700), ("data", 0o700), ("data/token", 0o600)] {
            assert_eq!(crate::fixture::mode(&self.root.join(path)), mode, "{path}");
        }
        assert!(names(&self.root.join("data/scratch")).iter().all(|name| !name.starts_with("run-")));
    }
}

fn kill(process: &str) {
    let process = process.parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(process, Signal::KILL).unwrap();
}

fn leases(scratch: &Path) -> Vec<PathBuf> {
    let runs = fs::read_dir(scratch).unwrap().map(|entry| entry.unwrap().path());
    let commands = runs.filter(|run| run.is_dir()).flat_map(|run| fs::read_dir(run).unwrap());
    commands.map(|entry| entry.unwrap().path().join("lease")).filter(|lease| lease.exists()).collect()
}
