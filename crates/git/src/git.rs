//! Runs git on one repository, so that nothing of the repository's own runs: by a git directory of our own, which
//! has none of the repository's settings, hooks and attributes; and in the sandbox, where it writes only what its
//! caller names and reaches no network.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_process::{Invocation, Program};
use ostler_sandbox::{Sandbox, SandboxProfile, WorkspaceAccess};
use tokio_util::sync::CancellationToken;

use crate::error::GitError;
use crate::git_process::{self, GitCallLimits, NOT_INSTALLED, PreparedGitCall};
use crate::output::GitOutput;
use crate::private_git_directory::PrivateGitDirectory;
use crate::repository::GitRepository;

/// How long one call of git may take, unless it is said otherwise.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(20);
/// How much of an answer is read, unless it is said otherwise.
pub(crate) const MAX_OUTPUT: u64 = 4 * 1024 * 1024;
/// Where git finds its parts: not where a project could put one.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin";

/// The tree without files, by the repository's kind of hash. Attributes are read from it, so that files are taken
/// and written byte for byte.
const EMPTY_TREE_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", PATH),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C.UTF-8"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PAGER", "cat"),
    ("GIT_ASKPASS", "true"),
    ("SSH_ASKPASS", "true"),
];

/// What git runs in.
#[derive(Debug, Clone)]
pub enum Isolation {
    /// The sandbox, which must be able to confine.
    Sandbox(Sandbox),
    /// Nothing, because nothing can confine it or its owner wants it so. Only for calls that a person agreed to.
    None,
}

impl Isolation {
    fn scratch(&self) -> Option<&Path> {
        match self {
            Isolation::Sandbox(sandbox) => Some(&sandbox.settings().scratch),
            Isolation::None => None,
        }
    }
}

/// The git of one work tree.
pub(crate) struct Git<'a> {
    isolation: &'a Isolation,
    pub(crate) repository: GitRepository,
    private: PrivateGitDirectory,
    canceled: CancellationToken,
    is_sha256: bool,
}

/// One call of a program on the work tree.
pub(crate) struct GitCall {
    program: &'static str,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    writable: Vec<PathBuf>,
    current_dir: Option<PathBuf>,
    limits: GitCallLimits,
}

impl GitCall {
    /// Git with these arguments, only to read, within the usual limits.
    pub(crate) fn git(arguments: &[&str]) -> GitCall {
        let arguments = arguments.iter().map(OsString::from).collect();
        let limits = GitCallLimits { input: Vec::new(), max_output: MAX_OUTPUT, time_limit: TIME_LIMIT };
        let (variables, writable) = (Vec::new(), Vec::new());
        GitCall { program: "git", arguments, variables, writable, current_dir: None, limits }
    }

    /// A script for the shell, in which `git` is git. What is not fixed in it goes into `arguments`, which it has
    /// as `$1` and so on.
    pub(crate) fn script(script: &'static str, arguments: &[&OsStr]) -> GitCall {
        let mut words: Vec<OsString> = vec!["-c".into(), script.into(), "git".into()];
        words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        GitCall { program: "sh", arguments: words, ..GitCall::git(&[]) }
    }

    /// With one more argument.
    pub(crate) fn argument(mut self, argument: &Path) -> GitCall {
        self.arguments.push(argument.into());
        self
    }

    /// With this in its environment, besides.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> GitCall {
        self.variables.push((name, value.into()));
        self
    }

    /// Which may write this directory.
    pub(crate) fn with_writable(mut self, directory: &Path) -> GitCall {
        self.writable.push(directory.to_owned());
        self
    }

    /// Which reads this.
    pub(crate) fn input(mut self, input: Vec<u8>) -> GitCall {
        self.limits.input = input;
        self
    }

    /// In this directory of the work tree.
    pub(crate) fn in_directory(mut self, directory: &Path) -> GitCall {
        self.current_dir = Some(directory.to_owned());
        self
    }

    /// Within these limits.
    pub(crate) fn with_limits(mut self, max_output: u64, time_limit: Duration) -> GitCall {
        (self.limits.max_output, self.limits.time_limit) = (max_output, time_limit);
        self
    }
}

impl<'a> Git<'a> {
    /// Prepares git for a repository. Calls end when `canceled` fires.
    pub(crate) async fn open(
        repository: GitRepository,
        isolation: &'a Isolation,
        canceled: CancellationToken,
    ) -> Result<Git<'a>, GitError> {
        let (scratch, of) = (isolation.scratch().map(Path::to_owned), repository.clone());
        let made = tokio::task::spawn_blocking(move || {
            let private = PrivateGitDirectory::make(&of, scratch.as_deref())?;
            Ok::<_, std::io::Error>((private, of.settings().is_sha256()))
        });
        let made =
            made.await.map_err(|error| GitError::new(format!("Preparing git broke down: {error}.")))?;
        let (private, is_sha256) = made.map_err(|error| {
            GitError::io("The git repository cannot be looked at:", &repository.directory, error)
        })?;
        Ok(Git { isolation, repository, private, canceled, is_sha256 })
    }

    /// A file that goes with the calls of this git.
    pub(crate) fn own_file(&self, name: &str) -> PathBuf {
        self.private.file(name)
    }

    /// The name of the tree without files.
    pub(crate) fn empty_tree(&self) -> &'static str {
        if self.is_sha256 { EMPTY_TREE_SHA256 } else { EMPTY_TREE_SHA1 }
    }

    /// Runs a call to its end.
    pub(crate) async fn run(&self, call: GitCall) -> Result<GitOutput, GitError> {
        let program = Program::from_system(call.program).ok_or_else(|| GitError::new(NOT_INSTALLED))?;
        let environment = self.environment(&call)?;
        let directory = call.current_dir.as_ref().unwrap_or(&self.repository.top).clone();
        let started = match self.isolation {
            Isolation::Sandbox(sandbox) => {
                let profile = self.profile(directory, call.writable);
                let (sandbox, arguments) = (sandbox.clone(), call.arguments);
                // Making a sandbox looks at the disk.
                let confined = tokio::task::spawn_blocking(move || {
                    sandbox
                        .command(&profile, program.path(), arguments)
                        .map(|confined| confined.envs(environment))
                });
                let confined = confined.await.map_err(|error| GitError::new(format!("{error}")))?;
                let (command, confinement) =
                    confined.map_err(|error| GitError::new(error.to_string()))?.prepare();
                PreparedGitCall { command, confinement: Some(confinement) }
            }
            Isolation::None => {
                let invocation = Invocation::new(program).args(call.arguments).envs(environment);
                PreparedGitCall { command: invocation.current_dir(directory).prepare(), confinement: None }
            }
        };
        git_process::run(started, call.limits, &self.canceled).await
    }

    fn environment(&self, call: &GitCall) -> Result<Vec<(OsString, OsString)>, GitError> {
        let own = self.private.path();
        let mut environment: Vec<(OsString, OsString)> =
            ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into())).collect();
        for (name, path) in [
            ("GIT_DIR", own.to_owned()),
            ("GIT_COMMON_DIR", own.to_owned()),
            ("GIT_OBJECT_DIRECTORY", self.repository.objects()?),
            ("GIT_WORK_TREE", self.repository.top.clone()),
            ("GIT_INDEX_FILE", self.repository.directory.join("index")),
        ] {
            environment.push((name.into(), path.into_os_string()));
        }
        environment.extend(call.variables.iter().map(|(name, value)| (name.into(), value.clone())));
        Ok(environment)
    }

    /// The work tree and the repository read-only, and what the call names.
    fn profile(&self, directory: PathBuf, writable: Vec<PathBuf>) -> SandboxProfile {
        let mut profile = SandboxProfile::new(&self.repository.top);
        profile.access = WorkspaceAccess::ReadOnly;
        profile.current_dir = directory;
        let (common, own) = (self.repository.common.clone(), self.private.path().to_owned());
        profile.readable = vec![common, self.repository.directory.clone(), own];
        profile.own_directories = writable;
        profile
    }
}
