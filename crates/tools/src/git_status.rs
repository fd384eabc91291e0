//! The tool that says how the repository stands: branch, upstream, changes, recent commits, and what is
//! half done. It only looks; how git is kept from running anything of the repository's is known to
//! `ostler-git`, and how its answer is read in `porcelain`.

mod porcelain;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_git::{CheckedOut, GitError, GitOutput, Isolation, QueryAnswers};
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use ostler_workspace_fs::GitHead;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::porcelain::{PorcelainChange, PorcelainStatus};
use crate::program_confiner::ProgramConfiner;
use crate::text::{reveal, reveal_line};
use crate::workspace::Workspace;
use crate::{Failed, input, prompts};

/// How many paths of each kind are listed.
const MAX_PATHS: usize = 50;
const STATUS_ARGUMENTS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "--show-stash",
    "-z",
    "--untracked-files=normal",
    "--ignore-submodules=dirty",
    "--",
    ".",
];
const UNCOMMITTED_ARGUMENTS: &[&str] =
    &["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"];
const LOG_ARGUMENTS: &[&str] =
    &["log", "-10", "--no-show-signature", "--no-patch", "--no-color", "--date=short", "--format=%h %ad %s"];
/// How much of a commit's subject is shown, in characters.
const MAX_SUBJECT: usize = 120;

/// Says how the repository stands.
pub(crate) struct GitStatus {
    confiner: Arc<ProgramConfiner>,
}

impl GitStatus {
    pub(crate) fn new(confines: Arc<ProgramConfiner>) -> GitStatus {
        GitStatus { confiner: confines }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitStatusInput {}

impl Tool for GitStatus {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "git_status".to_owned(),
            description: prompts::GIT_STATUS.to_owned(),
            input_schema: input::schema::<GitStatusInput>(),
        }
    }

    /// Where nothing confines git, it is a program like any other.
    fn kind(&self) -> ToolKind {
        if self.confiner.sandbox().is_some() { ToolKind::Read } else { ToolKind::Exec }
    }

    fn warning(&self, _input: &Value) -> Option<String> {
        self.confiner.warning()
    }

    fn summary(&self, _input: &Value) -> String {
        "look at the state of the git repository".to_owned()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async move { run(&self.confiner, input, &context).await.unwrap_or_else(ToolOutcome::from) }.boxed()
    }
}

/// The changes that are not committed, a line for each as git writes it; empty where everything is. Git does not obey what
/// the repository names, and where nothing confines it, runs only if somebody has agreed.
pub(crate) async fn uncommitted(
    confines: &ProgramConfiner,
    workspace: &Path,
    unconfined: bool,
) -> Result<String, Failed> {
    Workspace::open(workspace, &confines.hidden_paths)?;
    let isolation = isolation(confines, unconfined || confines.allow_unconfined)?;
    let answers = ostler_git::query_repository(workspace, &isolation, &[UNCOMMITTED_ARGUMENTS]).await;
    let status = answers.map_err(|error| failed(&error))?.outputs.into_iter().next();
    let status = status.ok_or_else(|| Failed::new("git did not report the state of the repository."))?;
    let status = status.expect_success("status").map_err(|error| failed(&error))?;
    Ok(reveal(&String::from_utf8_lossy(&status.stdout)))
}

fn isolation(confines: &ProgramConfiner, unconfined: bool) -> Result<Isolation, Failed> {
    match confines.sandbox() {
        Some(sandbox) => Ok(Isolation::Sandbox(sandbox.clone())),
        None if unconfined => Ok(Isolation::None),
        None => Err(confines.unconfined_refusal()),
    }
}

async fn run(confines: &ProgramConfiner, input: Value, context: &ToolContext) -> Result<ToolOutcome, Failed> {
    let GitStatusInput {} = input::parse(input)?;
    // Refuses a workspace that no tool may look at.
    Workspace::open(&context.workspace, &confines.hidden_paths)?;
    let isolation = isolation(confines, context.unconfined || confines.allow_unconfined)?;
    let answers =
        ostler_git::query_repository(&context.workspace, &isolation, &[STATUS_ARGUMENTS, LOG_ARGUMENTS])
            .await;
    let QueryAnswers { directory, outputs } = answers.map_err(|error| failed(&error))?;
    let mut outputs = outputs.into_iter();
    let status =
        outputs.next().ok_or_else(|| Failed::new("git did not report the state of the repository."))?;
    let status = status.expect_success("status").map_err(|error| failed(&error))?;
    Ok(outcome(
        &PorcelainStatus::parse(&status.stdout),
        status.is_cut,
        outputs.next().as_ref(),
        &operations_in_progress(&directory),
    ))
}

/// The beginning of what the tool says, as far as it can be read without running git: what is checked out, and what is half
/// done. None where git has to be asked, or where nothing may be said without asking a person. Blocks.
pub(crate) fn checked_out(confines: &ProgramConfiner, workspace: &Path) -> Option<String> {
    confines.sandbox()?;
    Workspace::open(workspace, &confines.hidden_paths).ok()?;
    let CheckedOut { directory, head } = ostler_git::checked_out(workspace)?;
    let (branch, commit) = match head {
        GitHead::Branch { name, commit } => (Some(name), commit),
        GitHead::Detached { commit } => (None, Some(commit)),
    };
    let status = PorcelainStatus { branch, commit, ..PorcelainStatus::default() };
    Some(heading(&status) + &in_progress_text(&operations_in_progress(&directory)))
}

/// What git itself said may hold anything.
fn failed(error: &GitError) -> Failed {
    Failed::new(reveal(&error.to_string()))
}

/// What is half done, by the files that git keeps while it is.
fn operations_in_progress(git_directory: &Path) -> Vec<&'static str> {
    [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
    ]
    .into_iter()
    .filter(|(file, _)| git_directory.join(file).symlink_metadata().is_ok())
    .map(|(_, what)| what)
    .collect()
}

fn outcome(
    status: &PorcelainStatus,
    is_cut: bool,
    log: Option<&GitOutput>,
    under_way: &[&str],
) -> ToolOutcome {
    let mut text = heading(status);
    text.push_str(&in_progress_text(under_way));
    let groups = [
        ("In conflict", &status.conflicted),
        ("Staged", &status.staged),
        ("Changed, not staged", &status.unstaged),
        ("Not tracked", &status.untracked),
    ];
    for (title, changes) in groups {
        write_group(&mut text, title, changes);
    }
    if groups.iter().all(|(_, changes)| changes.is_empty()) {
        text.push_str("Nothing is changed.\n");
    }
    if is_cut {
        text.push_str("[Too many changes to list them all.]\n");
    }
    let log = log.filter(|log| log.is_success).map(|log| String::from_utf8_lossy(&log.stdout));
    let commits = log.unwrap_or_default();
    let commits: Vec<String> =
        commits.lines().map(|line| reveal_line(crate::text::cut(line, MAX_SUBJECT).0)).collect();
    if !commits.is_empty() {
        text.push_str(&format!("Recent commits:\n  {}\n", commits.join("\n  ")));
    }
    let details = json!({
        "branch": status.branch,
        "commit": status.commit,
        "upstream": status.upstream,
        "ahead": status.ahead,
        "behind": status.behind,
        "staged": status.staged.len(),
        "unstaged": status.unstaged.len(),
        "untracked": status.untracked.len(),
        "conflicted": status.conflicted.len(),
        "stashes": status.stashes,
        "under_way": under_way,
        "truncated": is_cut,
    });
    ToolOutcome::done(text, details)
}

fn in_progress_text(under_way: &[&str]) -> String {
    under_way.iter().map(|what| format!("A {what} is in progress.\n")).collect()
}

fn heading(status: &PorcelainStatus) -> String {
    let mut text = match (&status.branch, &status.commit) {
        (Some(branch), Some(_)) => format!("On branch {}", reveal_line(branch)),
        (Some(branch), None) => format!("On branch {}, which has no commits yet", reveal_line(branch)),
        (None, Some(commit)) => {
            format!("No branch is checked out; HEAD is at {}", crate::text::head(commit, 12))
        }
        (None, None) => "No branch is checked out".to_owned(),
    };
    if let Some(upstream) = &status.upstream {
        let upstream = reveal_line(upstream);
        let _ = match (status.ahead, status.behind) {
            (Some(0), Some(0)) => write!(text, ", up to date with {upstream}"),
            (Some(ahead), Some(behind)) => write!(text, ", {ahead} ahead of and {behind} behind {upstream}"),
            (Some(_) | None, Some(_) | None) => write!(text, "; its upstream {upstream} is gone"),
        };
    }
    text.push_str(".\n");
    if status.stashes > 0 {
        text.push_str(&format!("There are {} stashes.\n", status.stashes));
    }
    text
}

fn write_group(text: &mut String, title: &str, changes: &[PorcelainChange]) {
    if changes.is_empty() {
        return;
    }
    text.push_str(&format!("{title} ({}):\n", changes.len()));
    for change in changes.iter().take(MAX_PATHS) {
        let from =
            change.from.as_ref().map(|from| format!(" (from {})", reveal_line(from))).unwrap_or_default();
        text.push_str(&format!("  {} {}{from}\n", change.change_kind, reveal_line(&change.path)));
    }
    if changes.len() > MAX_PATHS {
        text.push_str(&format!("  … and {} more\n", changes.len() - MAX_PATHS));
    }
}
