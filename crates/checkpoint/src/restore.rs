//! Brings a workspace back to a checkpoint. `plan` decides, `execute` does, and `journal` remembers
//! what was begun, so that a run that was cut short is completed by the same call. A preview is the
//! plan and nothing else, so it says exactly what a run would do.

#[cfg(test)]
mod crash;
mod execute;
mod journal;
mod plan;

use std::path::{Path, PathBuf};

use rustix::fs::syncfs;

use crate::capture::Checkpoint;
use crate::digest::CheckpointDigest;
use crate::error::Error;
use crate::manifest::{LeftOut, ManifestNode};
use crate::store::CheckpointStore;
use crate::workspace_tree::{FileStamp, WorkspaceTree};

use self::execute::{RestoreRun, StepFailure};
pub(crate) use self::journal::RestoreJournal;
use self::plan::{RestorePlan, RestorePlanner};

/// How a workspace is restored.
#[derive(Debug, Clone, Default)]
pub struct RestoreOptions {
    /// Only these paths, relative to the workspace, and what lies below them.
    pub only: Option<Vec<PathBuf>>,
    /// Changes nothing, and says what would be done.
    pub preview: bool,
    /// Also overwrites what was changed since.
    pub force: bool,
}

/// What a restore did, or would do. The paths are relative to the workspace and sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// What is there and was brought back to what it was.
    pub restored: Vec<PathBuf>,
    /// What had been added and was removed.
    pub deleted: Vec<PathBuf>,
    /// What had been removed and was made again.
    pub recreated: Vec<PathBuf>,
    /// What was not touched, because that would have destroyed something.
    pub conflicts: Vec<RestoreConflict>,
    /// What has changed and cannot be brought back, because the checkpoint lacks its content.
    pub left_out: Vec<LeftOut>,
    /// What has changed and stays as it is, because nobody writes it for a model.
    pub protected: Vec<SkippedProtectedPath>,
}

/// A path that differs and that a restore leaves as it is, forced or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedProtectedPath {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// The protected name that it has in it, or that is a link to a place which it is in.
    pub name: &'static str,
}

impl SkippedProtectedPath {
    /// Why it stays as it is, in a sentence without its end.
    pub fn why(&self) -> String {
        format!(
            "`{}` makes editors, agents, git or shells run code outside the sandbox, so it is left as it is; change it \
             yourself if you want to",
            self.name
        )
    }
}

impl RestoreReport {
    /// Brings what was not touched into the order of the paths.
    fn sort(&mut self) {
        self.conflicts.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        self.protected.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    }
}

/// A path that a restore did not touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreConflict {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Why, as the end of a sentence that begins with the path.
    pub why: String,
}

/// A restore that was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptedRestore {
    /// To which checkpoint; the newest, when several turns were to be undone.
    pub to: CheckpointDigest,
    /// From which one, if it was named.
    pub since: Option<CheckpointDigest>,
}

/// What one turn did to a workspace: from which checkpoint to which.
#[derive(Debug, Clone, Copy)]
pub struct TurnCheckpoints<'a> {
    /// Before its first change.
    pub before: &'a Checkpoint,
    /// As it left the workspace. Where that is not known, nobody can tell its changes from others, so all
    /// of them are conflicts.
    pub after: Option<&'a Checkpoint>,
}

/// What was asked for; the same again completes what was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RestoreOrder {
    /// What is taken back, the newest first. Never empty.
    transitions: Vec<RestoreTransition>,
    only: Option<Vec<PathBuf>>,
    force: bool,
}

/// From which state to which one a workspace is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RestoreTransition {
    to: CheckpointDigest,
    since: StateAfterTurn,
}

/// How the workspace was left by what is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateAfterTurn {
    /// Like this.
    Checkpoint(CheckpointDigest),
    /// As it is now.
    Now,
    /// Nobody knows.
    Unknown,
}

impl RestoreOrder {
    fn single(
        to: &Checkpoint,
        since: Option<&Checkpoint>,
        only: Option<Vec<PathBuf>>,
        force: bool,
    ) -> RestoreOrder {
        let since = since.map_or(StateAfterTurn::Now, |since| StateAfterTurn::Checkpoint(since.id));
        RestoreOrder { transitions: vec![RestoreTransition { to: to.id, since }], only, force }
    }

    /// The checkpoint that is gone back to first.
    fn first(&self) -> CheckpointDigest {
        self.transitions[0].to
    }
}

impl StateAfterTurn {
    fn checkpoint(self) -> Option<CheckpointDigest> {
        match self {
            StateAfterTurn::Checkpoint(id) => Some(id),
            StateAfterTurn::Now | StateAfterTurn::Unknown => None,
        }
    }
}

/// One path, from what it is to what it is to be. At most one side is nothing.
#[derive(Debug, Clone)]
pub(crate) struct RestoreStep {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<(ManifestNode, FileStamp)>,
    pub(crate) target: Option<ManifestNode>,
}

impl RestoreStep {
    /// Whether what is there has to go before anything can take its place.
    fn removes(&self) -> bool {
        match (&self.before, &self.target) {
            (Some((before, _)), Some(target)) => before.is_directory() != target.is_directory(),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

/// Restores a workspace, or says what that would do.
pub(crate) fn restore(
    store: &CheckpointStore,
    workspace: &Path,
    to: &Checkpoint,
    since: Option<&Checkpoint>,
    options: &RestoreOptions,
) -> Result<RestoreReport, Error> {
    let tree = open(store, workspace, to)?;
    let order = RestoreOrder::single(to, since, options.only.clone(), options.force);
    run(store, &tree, order, options.preview)
}

/// Takes back what turns did, the newest first, or says what that would do.
pub(crate) fn undo(
    store: &CheckpointStore,
    workspace: &Path,
    spans: &[TurnCheckpoints<'_>],
    options: &RestoreOptions,
) -> Result<RestoreReport, Error> {
    let Some(newest) = spans.first() else { return Ok(RestoreReport::default()) };
    let tree = open(store, workspace, newest.before)?;
    let passage = |span: &TurnCheckpoints<'_>| {
        let since = span.after.map_or(StateAfterTurn::Unknown, |after| StateAfterTurn::Checkpoint(after.id));
        RestoreTransition { to: span.before.id, since }
    };
    let passages = spans.iter().map(passage).collect();
    let order = RestoreOrder { transitions: passages, only: options.only.clone(), force: options.force };
    run(store, &tree, order, options.preview)
}

fn run(
    store: &CheckpointStore,
    tree: &WorkspaceTree,
    order: RestoreOrder,
    preview: bool,
) -> Result<RestoreReport, Error> {
    let begun = RestoreJournal::read(&store.files, tree.path())?;
    if let Some(begun) = &begun
        && !preview
    {
        clean(tree, begun);
    }
    let begun = begun.filter(|begun| begun.order == order);
    let plan = RestorePlanner::new(store, tree, &order, begun.as_ref()).plan()?;
    if preview {
        return Ok(plan.report);
    }
    execute_plan(store, tree, order, plan)
}

/// Opens the workspace of a checkpoint.
pub(crate) fn open(
    store: &CheckpointStore,
    workspace: &Path,
    checkpoint: &Checkpoint,
) -> Result<WorkspaceTree, Error> {
    let tree = store.tree(workspace)?;
    if tree.path() != checkpoint.workspace {
        let (checkpoint, workspace) = (checkpoint.workspace.clone(), tree.path().to_owned());
        return Err(Error::OtherWorkspace { checkpoint, workspace });
    }
    Ok(tree)
}

/// Writes one file anew, with the mode that it has: `target` is a blob of the store.
pub(crate) fn rewrite(
    store: &CheckpointStore,
    tree: &WorkspaceTree,
    to: &Checkpoint,
    since: Option<&Checkpoint>,
    step: RestoreStep,
) -> Result<RestoreReport, Error> {
    let only = Some(vec![step.path.clone()]);
    let report = RestoreReport { restored: vec![step.path.clone()], ..RestoreReport::default() };
    let opened = plan::closed_directories(tree, std::slice::from_ref(&step));
    let plan = RestorePlan { steps: vec![step], opened, report };
    execute_plan(store, tree, RestoreOrder::single(to, since, only, true), plan)
}

/// The restore that was cut short in a workspace.
pub(crate) fn interrupted(
    store: &CheckpointStore,
    workspace: &Path,
) -> Result<Option<InterruptedRestore>, Error> {
    let tree = store.tree(workspace)?;
    let begun = RestoreJournal::read(&store.files, tree.path())?;
    Ok(begun.map(|begun| {
        let RestoreTransition { to, since } = begun.order.transitions[0];
        InterruptedRestore { to, since: since.checkpoint() }
    }))
}

/// Removes from all workspaces what runs that were cut short left lying in them. Their journals stay, so
/// that the same call completes them. Says in how many workspaces there was one.
pub(crate) fn clean_interrupted(store: &CheckpointStore) -> Result<usize, Error> {
    let failed = |error| Error::io("Cannot read the checkpoints in", store.files.root(), error);
    let mut cleaned = 0;
    for begun in RestoreJournal::all(&store.files).map_err(failed)? {
        // A workspace that is gone, or of which no checkpoint is left, has nothing to be cleaned.
        let Ok(tree) = store.head(begun.order.first()).and_then(|head| store.tree(&head.workspace)) else {
            continue;
        };
        clean(&tree, &begun);
        cleaned += 1;
    }
    Ok(cleaned)
}

/// Removes what a run left lying in the workspace.
fn clean(tree: &WorkspaceTree, begun: &RestoreJournal) {
    execute::remove_temporaries(tree, begun);
    execute::close_directories(tree, begun);
}

fn execute_plan(
    store: &CheckpointStore,
    tree: &WorkspaceTree,
    order: RestoreOrder,
    plan: RestorePlan,
) -> Result<RestoreReport, Error> {
    let RestorePlan { steps, opened, mut report } = plan;
    if steps.is_empty() {
        RestoreJournal::remove(&store.files, tree.path())?;
        return Ok(report);
    }
    let journal = RestoreJournal { order, steps, opened };
    journal.write(&store.files, tree.path())?;
    let failed = RestoreRun::new(store, tree, &journal).run()?;
    if !failed.is_empty() {
        execute::remove_temporaries(tree, &journal);
    }
    syncfs(tree).map_err(|errno| execute::interrupted_error(tree.path(), errno))?;
    RestoreJournal::remove(&store.files, tree.path())?;
    for list in [&mut report.restored, &mut report.deleted, &mut report.recreated] {
        list.retain(|path| !failed.contains_key(path));
    }
    for (path, failure) in failed {
        match failure {
            StepFailure::Conflict(why) => {
                report.conflicts.push(RestoreConflict { path, why: why.to_owned() })
            }
            StepFailure::Protected(name) => report.protected.push(SkippedProtectedPath { path, name }),
        }
    }
    report.sort();
    Ok(report)
}
