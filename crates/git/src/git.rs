//! Runs git so that nothing of the repository's own runs: no hook, monitor, filter, pager, program for
//! diffs or signatures, transport, and no configuration but the repository's, with all of it that names a
//! program put out of force. Where there is a sandbox, git also runs in it and can only read.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_sandbox::{Sandbox, hardened_git_calls};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::error::GitError;
use crate::output::GitOutput;
use crate::process::{self, Call, NOT_INSTALLED};

/// How long one call of git may take, unless it is said otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// How much of an answer is read, unless it is said otherwise.
const MAX_OUTPUT: u64 = 1024 * 1024;
/// How many settings of the repository are put out of force.
const MAX_SETTINGS: usize = 1_000;

/// What the sandbox ends with where there is no such program.
const NOT_FOUND: i32 = 127;
/// The path where the daemon has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

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
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("log.follow", "false"),
    ("protocol.allow", "never"),
    ("status.renames", "true"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
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

/// Where the repository is, what its hashes are, and where its work tree begins.
const WHERE: &[&str] = &["rev-parse", "--absolute-git-dir", "--show-object-format", "--show-toplevel"];

/// The git of one workspace.
pub(crate) struct Git<'a> {
    workspace: &'a OwnedFd,
    path: &'a Path,
    /// Where the repository keeps what it knows.
    pub(crate) directory: PathBuf,
    /// The root of the work tree that the workspace is in.
    pub(crate) top: PathBuf,
    settings: Vec<(String, String)>,
    empty_tree: &'static str,
    variables: Vec<(OsString, OsString)>,
    canceled: CancellationToken,
}

/// What a repository answered.
pub struct Answers {
    /// Where it keeps what it knows.
    pub directory: PathBuf,
    /// What git said to each question, in their order. The last ones are missing where those before them had too
    /// much to say.
    pub outputs: Vec<GitOutput>,
}

/// Asks the repository of a workspace, which is only to be read: in the sandbox if there is one. No answer may hold
/// two zero bytes in a row.
pub async fn ask(
    workspace: &OwnedFd,
    path: &Path,
    sandbox: Option<&Sandbox>,
    questions: &[&[&str]],
) -> Result<Answers, GitError> {
    if !is_in_repository(path) {
        return Err(GitError::no_repository());
    }
    let Some(sandbox) = sandbox else {
        let git = Git::open_to_write(workspace, path, Vec::new(), CancellationToken::new()).await?;
        let mut outputs = Vec::new();
        for question in questions {
            outputs.push(git.run(question).await?);
        }
        return Ok(Answers { directory: git.directory, outputs });
    };
    let calls: Vec<&[&str]> = std::iter::once(WHERE).chain(questions.iter().copied()).collect();
    let outputs = hardened_git_calls(sandbox, path, &calls).await;
    let outputs = outputs.map_err(|error| GitError::new(error.to_string()))?;
    if outputs.iter().any(|output| output.status.code() == Some(NOT_FOUND)) {
        return Err(GitError::new(NOT_INSTALLED));
    }
    let mut outputs = outputs.into_iter().map(|output| GitOutput {
        is_success: output.truncated || output.status.success(),
        code: output.status.code(),
        stdout: output.stdout,
        is_cut: output.truncated,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    });
    let place = Place::read(&outputs.next().expect("there is one output at least"), path)?;
    Ok(Answers { directory: place.directory, outputs: outputs.collect() })
}

/// Whether git could find a repository here. Where it could not, it need not be started to say so.
fn is_in_repository(path: &Path) -> bool {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real.ancestors().any(|directory| directory.join(".git").symlink_metadata().is_ok())
}

/// Where a repository is.
struct Place {
    directory: PathBuf,
    top: PathBuf,
    empty_tree: &'static str,
}

impl Place {
    fn read(found: &GitOutput, path: &Path) -> Result<Place, GitError> {
        if !found.is_success {
            return Err(found.no_repository());
        }
        let text = String::from_utf8_lossy(&found.stdout);
        let mut lines = text.lines();
        let directory = PathBuf::from(lines.next().unwrap_or_default());
        let empty_tree = if lines.next() == Some("sha256") { EMPTY_TREE_SHA256 } else { EMPTY_TREE_SHA1 };
        // The repository's settings may name a work tree that is none of the workspace's business.
        let top = PathBuf::from(lines.next().unwrap_or_default());
        if !std::fs::canonicalize(path).is_ok_and(|real| real.starts_with(&top)) {
            return Err(GitError::new(
                "The git repository here has its work tree elsewhere (core.worktree), so its state is not shown.",
            ));
        }
        Ok(Place { directory, top, empty_tree })
    }
}

impl<'a> Git<'a> {
    /// Finds the repository of a workspace and what in its settings has to be put out of force. Git runs outside of
    /// any sandbox, since it is to write: with more in the environment of every call, and ended when somebody says so.
    pub(crate) async fn open_to_write(
        workspace: &'a OwnedFd,
        path: &'a Path,
        variables: Vec<(OsString, OsString)>,
        canceled: CancellationToken,
    ) -> Result<Git<'a>, GitError> {
        let settings =
            SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (directory, top, empty_tree) = (PathBuf::new(), PathBuf::new(), "");
        let mut git = Git { workspace, path, directory, top, settings, empty_tree, variables, canceled };
        let place = Place::read(&git.run(WHERE).await?, git.path)?;
        (git.directory, git.top, git.empty_tree) = (place.directory, place.top, place.empty_tree);
        git.disarm().await?;
        Ok(git)
    }

    /// Runs git to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<GitOutput, GitError> {
        self.run_in_the_open(arguments, &[], self.call(Vec::new(), MAX_OUTPUT, TIME_LIMIT)).await
    }

    pub(crate) fn call(&self, input: Vec<u8>, max_output: u64, time_limit: Duration) -> Call {
        Call { input, max_output, time_limit, canceled: self.canceled.clone() }
    }

    /// Runs git outside of the sandbox, since it is to write, with this in its environment besides.
    pub(crate) async fn run_in_the_open(
        &self,
        arguments: &[&str],
        variables: &[(&str, OsString)],
        call: Call,
    ) -> Result<GitOutput, GitError> {
        let mut command = self.command(arguments);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        process::run(command, call).await
    }

    /// Puts every filter and driver out of force that the repository's settings name: attributes in
    /// `.git/info` still choose them.
    async fn disarm(&mut self) -> Result<(), GitError> {
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
                return Err(GitError::new(
                    "The git repository here has too many filters to look at it safely.",
                ));
            }
            self.settings.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }

    /// Git with everything around it that keeps it tame. The one place where it is put together.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .args(["--no-pager", "--no-optional-locks"])
            .args(arguments)
            .current_dir(format!("/proc/self/fd/{}", self.workspace.as_raw_fd()))
            .env_clear()
            .envs(ENVIRONMENT.iter().copied())
            .env("PATH", absolute_path(std::env::var_os("PATH")))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (number, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        if !self.empty_tree.is_empty() {
            command.env("GIT_ATTR_SOURCE", self.empty_tree);
        }
        command
    }
}

/// Where git and its parts are looked for: in no directory that is named relative to the workspace.
fn absolute_path(path: Option<OsString>) -> OsString {
    let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
    std::env::join_paths(std::env::split_paths(&path).filter(|path| path.is_absolute())).unwrap_or_default()
}
