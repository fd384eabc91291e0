//! Runs git so that nothing of the repository's own runs: no hook, monitor, filter, pager, program for
//! diffs or signatures, transport, and no configuration but the repository's, with all of it that names a
//! program put out of force. Where there is a sandbox, git also runs in it and can only read.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ostler_sandbox::{Sandbox, hardened_git};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::Failed;
use crate::environment::child_environment;
use crate::text::reveal;

/// How long one call of git may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// How much of an answer is read.
const MAX_OUTPUT: u64 = 1024 * 1024;
/// How much of what git says beside it is read.
const MAX_ERRORS: u64 = 4 * 1024;
/// How many settings of the repository are put out of force.
const MAX_SETTINGS: usize = 1_000;

/// What the sandbox ends with where there is no such program.
const NOT_FOUND: i32 = 127;
const NOT_INSTALLED: &str = "Git is not installed on this machine.";

/// Settings that a repository cannot change.
const SETTINGS: &[(&str, &str)] = &[
    ("safe.directory", "*"),
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "true"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("log.follow", "false"),
    ("protocol.allow", "never"),
    ("status.renames", "true"),
    ("submodule.recurse", "false"),
];

/// The environment beside the settings. Without lazy fetches and protocols a partial clone reaches for
/// nothing.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PAGER", "cat"),
    ("GIT_ASKPASS", "true"),
    ("SSH_ASKPASS", "true"),
    ("LC_ALL", "C"),
];

/// The tree without files, by the repository's kind of hash. Attributes are read from it, so that those
/// of the work tree choose no filter.
const EMPTY_TREE_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// The git of one workspace.
pub(super) struct Git<'a> {
    workspace: &'a OwnedFd,
    path: &'a Path,
    sandbox: Option<&'a Sandbox>,
    /// Where the repository keeps what it knows.
    pub(super) directory: PathBuf,
    settings: Vec<(String, String)>,
    empty_tree: &'static str,
}

/// What git said.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub(super) is_success: bool,
    pub(super) stdout: Vec<u8>,
    /// Whether there was more.
    pub(super) is_cut: bool,
    stderr: String,
}

impl<'a> Git<'a> {
    /// Finds the repository of a workspace and what in its settings has to be put out of force.
    pub(super) async fn open(
        workspace: &'a OwnedFd,
        path: &'a Path,
        sandbox: Option<&'a Sandbox>,
    ) -> Result<Git<'a>, Failed> {
        let settings =
            SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut git = Git { workspace, path, sandbox, directory: PathBuf::new(), settings, empty_tree: "" };
        let found =
            git.run(&["rev-parse", "--absolute-git-dir", "--show-object-format", "--show-toplevel"]).await?;
        if !found.is_success {
            return Err(found.no_repository());
        }
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let mut lines = found.lines();
        git.directory = PathBuf::from(lines.next().unwrap_or_default());
        git.empty_tree = if lines.next() == Some("sha256") { EMPTY_TREE_SHA256 } else { EMPTY_TREE_SHA1 };
        // The repository's settings may name a work tree that is none of the workspace's business.
        let top = lines.next().unwrap_or_default();
        if !std::fs::canonicalize(path).is_ok_and(|real| real.starts_with(top)) {
            return Err(Failed::new(
                "The git repository here has its work tree elsewhere (core.worktree), so its state is not shown.",
            ));
        }
        if sandbox.is_none() {
            git.disarm().await?;
        }
        Ok(git)
    }

    /// Puts every filter and driver out of force that the repository's settings name: attributes in
    /// `.git/info` still choose them.
    async fn disarm(&mut self) -> Result<(), Failed> {
        let names = self
            .run(&["config", "--list", "--name-only", "-z", "--includes"])
            .await?
            .expect_success("config")?;
        let names = String::from_utf8_lossy(&names.stdout).into_owned();
        for name in names.split_terminator('\0') {
            let lower = name.to_lowercase();
            let is_driver = ["filter.", "diff.", "merge."].iter().any(|section| lower.starts_with(section));
            let value = match lower.rsplit('.').next() {
                Some("clean" | "smudge" | "process" | "textconv" | "command" | "driver") if is_driver => "",
                Some("required") if is_driver => "false",
                Some(_) | None => continue,
            };
            if self.settings.len() >= MAX_SETTINGS {
                return Err(Failed::new(
                    "The git repository here has too many filters to look at it safely.",
                ));
            }
            self.settings.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }

    /// Runs git to its end.
    pub(super) async fn run(&self, arguments: &[&str]) -> Result<GitOutput, Failed> {
        match self.sandbox {
            Some(sandbox) => self.run_confined(sandbox, arguments).await,
            None => self.run_in_the_open(arguments).await,
        }
    }

    async fn run_confined(&self, sandbox: &Sandbox, arguments: &[&str]) -> Result<GitOutput, Failed> {
        let output = hardened_git(sandbox, self.path, arguments).await;
        let output = output.map_err(|error| Failed::new(error.to_string()))?;
        if output.status.code() == Some(NOT_FOUND) {
            return Err(Failed::new(NOT_INSTALLED));
        }
        Ok(GitOutput {
            is_success: output.status.success(),
            stdout: output.stdout,
            is_cut: output.truncated,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    async fn run_in_the_open(&self, arguments: &[&str]) -> Result<GitOutput, Failed> {
        let mut group = Group(self.spawn(arguments).map_err(|error| {
            Failed::new(match error.kind() {
                std::io::ErrorKind::NotFound => NOT_INSTALLED.to_owned(),
                _ => format!("Git could not be started: {error}."),
            })
        })?);
        let (stdout, stderr) = (group.0.stdout.take(), group.0.stderr.take());
        let ended = tokio::time::timeout(TIME_LIMIT, async {
            let ((stdout, is_cut), (stderr, _)) =
                tokio::join!(read_to(stdout, MAX_OUTPUT), read_to(stderr, MAX_ERRORS));
            // What is not read would keep git waiting for ever.
            if is_cut {
                group.kill();
            }
            let is_success = group.0.wait().await.is_ok_and(|status| status.success() || is_cut);
            GitOutput { is_success, stdout, is_cut, stderr: String::from_utf8_lossy(&stderr).into_owned() }
        });
        ended.await.map_err(|_| {
            Failed::new(format!("Git took longer than {} s and was ended.", TIME_LIMIT.as_secs()))
        })
    }

    /// Starts git, in a process group of its own. The one place where it is started.
    fn spawn(&self, arguments: &[&str]) -> std::io::Result<Child> {
        let mut command = Command::new("git");
        command
            .args(["--no-pager", "--no-optional-locks"])
            .args(arguments)
            .current_dir(format!("/proc/self/fd/{}", self.workspace.as_raw_fd()))
            .env_clear()
            .envs(environment())
            .env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (number, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        if !self.empty_tree.is_empty() {
            command.env("GIT_ATTR_SOURCE", self.empty_tree);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}

impl GitOutput {
    pub(super) fn expect_success(self, what: &str) -> Result<GitOutput, Failed> {
        if self.is_success {
            return Ok(self);
        }
        Err(Failed::new(format!("`git {what}` failed: {}", reveal(self.stderr.trim()))))
    }

    fn no_repository(&self) -> Failed {
        if self.stderr.contains("not a git repository") {
            return Failed::new("The workspace is not in a git repository.");
        }
        Failed::new(format!("The git repository cannot be looked at: {}", reveal(self.stderr.trim())))
    }
}

/// What children get, with a path that names no directory relative to the workspace.
fn environment() -> Vec<(OsString, OsString)> {
    let mut environment = child_environment(std::env::vars_os());
    for (name, value) in &mut environment {
        if name == "PATH" {
            let kept = std::env::split_paths(value).filter(|path| path.is_absolute());
            *value = std::env::join_paths(kept).unwrap_or_default();
        }
    }
    environment.extend(ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

/// Reads up to a limit, and says whether there was more.
async fn read_to(reader: Option<impl AsyncRead + Unpin>, limit: u64) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    if let Some(mut reader) = reader {
        // What was read before an error is still what git said.
        let _ = (&mut reader).take(limit).read_to_end(&mut bytes).await;
        let is_full = bytes.len() as u64 == limit;
        let is_cut = is_full && reader.read_u8().await.is_ok();
        return (bytes, is_cut);
    }
    (bytes, false)
}

/// A running git and all that it starts. Dropping it kills them.
struct Group(Child);

impl Group {
    fn kill(&self) {
        // The id is there as long as the child was not awaited, and names this group and no other.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // The only failure is that nobody is left.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
