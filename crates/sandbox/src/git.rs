//! Ostler's own calls of git, on repositories that nobody has vouched for.
//!
//! A repository can name programs in many of its settings. Each one that is known is turned off, and
//! because there may be others, git also runs in the sandbox, where it can only read.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::error::SandboxError;
use crate::git_config::GitConfig;
use crate::profile::{Profile, WorkspaceAccess};
use crate::sandbox::{Confined, Sandbox};

/// How long a call may take.
const TIME: Duration = Duration::from_secs(30);
/// How much of its output is kept.
const OUTPUT_BYTES: u64 = 4 << 20;
/// How much of its errors is kept.
const ERROR_BYTES: u64 = 16 << 10;
/// Where git is looked for: not where a project could put one.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin";

/// Settings that come before those of the repository.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.attributesFile=/dev/null",
    "core.alternateRefsCommand=false",
    "core.untrackedCache=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "submodule.recurse=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.directory=*",
    "safe.bareRepository=explicit",
    "color.ui=false",
];

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
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_PAGER", "cat"),
];

/// The tree without files, in which there are no attributes, by the name that each kind of hash gives it.
const EMPTY_TREE_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// What a call of git came to.
#[derive(Debug, Clone)]
pub struct GitOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed, as far as it was kept.
    pub stdout: Vec<u8>,
    /// Whether it printed more.
    pub truncated: bool,
    /// What it complained about, as far as that was kept.
    pub stderr: Vec<u8>,
}

/// Runs git in a workspace, only to read: no hooks, no helpers, no filters, no pager, no questions, no
/// settings but the repository's own, and none of those that run something. Its output and its time
/// are bounded. Without a sandbox it does not run.
pub async fn hardened_git(
    sandbox: &Sandbox,
    workspace: &Path,
    arguments: &[&str],
) -> Result<GitOutput, SandboxError> {
    run(sandbox, workspace, "git", words(arguments)).await
}

/// The same for several calls, one after the other in one sandbox, which costs more to make than git to run. None
/// may print two zero bytes in a row, with which their outputs are told apart. Those whose output is no longer kept,
/// because others printed too much, are missing at the end.
pub async fn hardened_git_calls(
    sandbox: &Sandbox,
    workspace: &Path,
    calls: &[&[&str]],
) -> Result<Vec<GitOutput>, SandboxError> {
    let script: String = calls.iter().map(|arguments| line(&words(arguments))).collect();
    let output = run(sandbox, workspace, "sh", vec!["-c".into(), script.into()]).await?;
    let outputs = told_apart(&output);
    if outputs.is_empty() {
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(SandboxError::Prepare(format!("Running git: {}.", complaint.trim())));
    }
    Ok(outputs)
}

async fn run(
    sandbox: &Sandbox,
    workspace: &Path,
    program: &str,
    arguments: Vec<OsString>,
) -> Result<GitOutput, SandboxError> {
    let mut profile = Profile::new(workspace);
    profile.access = WorkspaceAccess::ReadOnly;
    // Attributes that are not part of any tree are read all the same.
    profile.hidden.extend(local_attributes(workspace));
    let Confined { mut command, confinement } = sandbox.command(&profile, program, arguments)?;
    command.envs(ENVIRONMENT.iter().copied()).env("GIT_ATTR_SOURCE", empty_tree(workspace));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let failed = |error: std::io::Error| SandboxError::Prepare(format!("Running git: {error}."));
    let mut child = command.spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let whole = async {
        let read = async { tokio::join!(bounded(stdout, OUTPUT_BYTES), bounded(stderr, ERROR_BYTES)) };
        let ((stdout, truncated), (stderr, _)) = read.await;
        child.wait().await.map(|status| GitOutput { status, stdout, truncated, stderr })
    };
    let Ok(output) = tokio::time::timeout(TIME, whole).await else {
        confinement.kill();
        // The helper ends when nothing of git is left; dropping the child sees to one that does not.
        let _ = tokio::time::timeout(Duration::from_secs(1), child.wait()).await;
        return Err(SandboxError::TimedOut { program: "git", seconds: TIME.as_secs() });
    };
    confinement.finish();
    output.map_err(failed)
}

/// A call as a line of a script that says after it how it ended, on both of its outputs.
fn line(words: &[OsString]) -> String {
    let quoted = |word: &OsString| format!(" '{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let words: String = words.iter().map(quoted).collect();
    format!("git{words}; code=$?; printf '\\n\\0\\0%s\\0\\0' $code; printf '\\0\\0' >&2\n")
}

fn told_apart(output: &GitOutput) -> Vec<GitOutput> {
    let mut calls = Vec::new();
    let (mut rest, mut complaints) = (&output.stdout[..], &output.stderr[..]);
    let mut complaint = || {
        let (stderr, after) = cut(complaints);
        complaints = after.unwrap_or_default();
        stderr.to_owned()
    };
    while let (stdout, Some(after)) = cut(rest) {
        let (code, after) = cut(after);
        let code =
            std::str::from_utf8(code).ok().and_then(|code| code.parse().ok()).unwrap_or(i32::from(u8::MAX));
        let stdout = stdout.strip_suffix(b"\n").unwrap_or(stdout).to_owned();
        let status = ExitStatus::from_raw(code << 8);
        calls.push(GitOutput { status, stdout, truncated: false, stderr: complaint() });
        rest = after.unwrap_or_default();
    }
    if output.truncated {
        calls.push(GitOutput {
            status: output.status,
            stdout: rest.to_owned(),
            truncated: true,
            stderr: complaint(),
        });
    }
    calls
}

/// The arguments, with those that keep a command from running what the repository names.
fn words(arguments: &[&str]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--no-pager".into(), "--literal-pathspecs".into()];
    for setting in SETTINGS {
        words.extend(["-c".into(), (*setting).into()]);
    }
    let Some((command, arguments)) = arguments.split_first() else { return words };
    let more: &[&str] = match *command {
        "diff" | "log" | "show" | "diff-tree" | "diff-index" | "diff-files" | "format-patch" => {
            &["--no-ext-diff", "--no-textconv"]
        }
        "blame" | "annotate" | "grep" => &["--no-textconv"],
        "status" => &["--ignore-submodules=all"],
        _ => &[],
    };
    words.push(command.into());
    words.extend(more.iter().map(OsString::from));
    words.extend(arguments.iter().map(OsString::from));
    words
}

fn local_attributes(workspace: &Path) -> Option<PathBuf> {
    Some(workspace.join(".git/info/attributes")).filter(|path| path.exists())
}

fn empty_tree(workspace: &Path) -> &'static str {
    let config = GitConfig::read(&workspace.join(".git/config"));
    match config.values("extensions.objectformat").next_back() {
        Some("sha256") => EMPTY_TREE_SHA256,
        Some(_) | None => EMPTY_TREE_SHA1,
    }
}

/// What is before two zero bytes, and what after them, if they are there.
fn cut(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.windows(2).position(|pair| pair == [0, 0]) {
        Some(place) => (&bytes[..place], Some(&bytes[place + 2..])),
        None => (bytes, None),
    }
}

/// Reads to the end, keeps the beginning, and says whether there was more.
async fn bounded(reader: Option<impl AsyncRead + Unpin>, limit: u64) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let Some(mut reader) = reader else { return (kept, false) };
    // What was read before a failure is all there is.
    let _ = (&mut reader).take(limit).read_to_end(&mut kept).await;
    let more = tokio::io::copy(&mut reader, &mut tokio::io::sink()).await.unwrap_or(0);
    (kept, more > 0)
}
