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

use crate::beneath::{Stamp, Tree};
use crate::capture::Checkpoint;
use crate::digest::CheckpointId;
use crate::error::Error;
use crate::manifest::{LeftOut, Node};
use crate::store::Store;

use self::execute::Run;
pub(crate) use self::journal::Journal;
use self::plan::{Plan, Planner};

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
pub struct Restored {
    /// What is there and was brought back to what it was.
    pub restored: Vec<PathBuf>,
    /// What had been added and was removed.
    pub deleted: Vec<PathBuf>,
    /// What had been removed and was made again.
    pub recreated: Vec<PathBuf>,
    /// What was not touched, because that would have destroyed something.
    pub conflicts: Vec<Conflict>,
    /// What has changed and cannot be brought back, because the checkpoint lacks its content.
    pub left_out: Vec<LeftOut>,
}

/// A path that a restore did not touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Why, as the end of a sentence that begins with the path.
    pub why: String,
}

/// A restore that was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted {
    /// To which checkpoint.
    pub to: CheckpointId,
    /// From which one, if it was named.
    pub since: Option<CheckpointId>,
}

/// What was asked for; the same again completes what was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    to: CheckpointId,
    since: Option<CheckpointId>,
    only: Option<Vec<PathBuf>>,
    force: bool,
}

/// One path, from what it is to what it is to be. At most one side is nothing.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<(Node, Stamp)>,
    pub(crate) target: Option<Node>,
}

impl Step {
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
    store: &Store,
    workspace: &Path,
    to: &Checkpoint,
    since: Option<&Checkpoint>,
    options: &RestoreOptions,
) -> Result<Restored, Error> {
    let tree = open(workspace, to)?;
    let order = Order {
        to: to.id,
        since: since.map(|since| since.id),
        only: options.only.clone(),
        force: options.force,
    };
    let begun = Journal::read(&store.files, tree.path())?;
    if let Some(begun) = &begun
        && !options.preview
    {
        execute::remove_temporaries(&tree, begun);
        execute::close_directories(&tree, begun);
    }
    let begun = begun.filter(|begun| begun.order == order);
    let plan = Planner::new(store, &tree, &order, begun.as_ref())?.plan()?;
    if options.preview {
        return Ok(plan.report);
    }
    carry_out(store, &tree, order, plan)
}

/// Opens the workspace of a checkpoint.
pub(crate) fn open(workspace: &Path, checkpoint: &Checkpoint) -> Result<Tree, Error> {
    let tree = Tree::open(workspace)?;
    if tree.path() != checkpoint.workspace {
        let (checkpoint, workspace) = (checkpoint.workspace.clone(), tree.path().to_owned());
        return Err(Error::OtherWorkspace { checkpoint, workspace });
    }
    Ok(tree)
}

/// Writes one file anew, with the mode that it has: `target` is a blob of the store.
pub(crate) fn rewrite(
    store: &Store,
    tree: &Tree,
    to: CheckpointId,
    since: Option<CheckpointId>,
    step: Step,
) -> Result<Restored, Error> {
    let only = Some(vec![step.path.clone()]);
    let report = Restored { restored: vec![step.path.clone()], ..Restored::default() };
    let opened = plan::closed_directories(tree, std::slice::from_ref(&step));
    let plan = Plan { steps: vec![step], opened, report };
    carry_out(store, tree, Order { to, since, only, force: true }, plan)
}

/// The restore that was cut short in a workspace.
pub(crate) fn interrupted(store: &Store, workspace: &Path) -> Result<Option<Interrupted>, Error> {
    let tree = Tree::open(workspace)?;
    let begun = Journal::read(&store.files, tree.path())?;
    Ok(begun.map(|begun| Interrupted { to: begun.order.to, since: begun.order.since }))
}

fn carry_out(store: &Store, tree: &Tree, order: Order, plan: Plan) -> Result<Restored, Error> {
    let Plan { steps, opened, mut report } = plan;
    if steps.is_empty() {
        Journal::remove(&store.files, tree.path())?;
        return Ok(report);
    }
    let journal = Journal { order, steps, opened };
    journal.write(&store.files, tree.path())?;
    let failed = Run::new(store, tree, &journal).run()?;
    if !failed.is_empty() {
        execute::remove_temporaries(tree, &journal);
    }
    syncfs(tree.root()).map_err(|errno| execute::cut_short(tree.path(), errno))?;
    Journal::remove(&store.files, tree.path())?;
    for list in [&mut report.restored, &mut report.deleted, &mut report.recreated] {
        list.retain(|path| !failed.contains_key(path));
    }
    report.conflicts.extend(failed.into_iter().map(|(path, why)| Conflict { path, why }));
    report.conflicts.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(report)
}
