//! Decides what a restore does, path by path, before anything is touched. A path is brought back only
//! from the state in which a turn left it; everything else is a conflict. Where several turns are taken
//! back, each path goes back through those that changed it, the newest first, and stops at the first
//! state that is somebody else's. A protected path stays as it is, whoever changed it. Directories go only when nothing is left in them, so what no checkpoint
//! holds is never lost.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use crate::diff::scan_current_workspace;
use crate::error::Error;
use crate::manifest::{Manifest, ManifestNode};
use crate::manifest_changes::{IgnoredPaths, ManifestChange, changes};
use crate::scan_walk::names;
use crate::store::CheckpointStore;
use crate::workspace_tree::{FileStamp, WorkspaceTree};

use super::{
    RestoreConflict, RestoreJournal, RestoreOrder, RestoreReport, RestoreStep, RestoreTransition,
    SkippedProtectedPath, StateAfterTurn,
};

const CREATED: &str = "was created since";
const DELETED: &str = "was deleted since";
const CHANGED: &str = "was changed since";
const BETWEEN: &str = "was changed between the turns, and is brought back no further than that";
const UNKNOWN: &str = "may hold a change of your own: it is not known how the turn left it";
const IN_THE_WAY: &str = "cannot be made again, because something else is where its directory was";
const NOT_EMPTY: &str = "still holds files that are no part of what is restored";

/// What a run does, in the order of the paths, and what it reports.
#[derive(Debug)]
pub(crate) struct RestorePlan {
    pub(crate) steps: Vec<RestoreStep>,
    pub(crate) opened: Vec<(PathBuf, u32)>,
    pub(crate) report: RestoreReport,
}

/// What a plan goes by.
pub(crate) struct RestorePlanner<'a> {
    store: &'a CheckpointStore,
    tree: &'a WorkspaceTree,
    order: &'a RestoreOrder,
    interrupted: Option<&'a RestoreJournal>,
    /// Larger files are left out.
    max_file_bytes: u64,
    /// The directories above what is to be made, as they were.
    directories: HashMap<PathBuf, ManifestNode>,
    steps: BTreeMap<Vec<u8>, RestoreStep>,
    report: RestoreReport,
}

/// What one turn did at a path.
#[derive(Debug)]
struct TurnEffect {
    /// What was there before.
    target: Option<ManifestNode>,
    /// How the turn left it, as far as that is known.
    since: Option<Option<ManifestNode>>,
}

/// What the turns did at a path, the newest first.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    effects: Vec<TurnEffect>,
}

impl<'a> RestorePlanner<'a> {
    pub(crate) fn new(
        store: &'a CheckpointStore,
        tree: &'a WorkspaceTree,
        order: &'a RestoreOrder,
        begun: Option<&'a RestoreJournal>,
    ) -> RestorePlanner<'a> {
        let (directories, steps, report) = (HashMap::new(), BTreeMap::new(), RestoreReport::default());
        RestorePlanner {
            store,
            tree,
            order,
            interrupted: begun,
            max_file_bytes: 0,
            directories,
            steps,
            report,
        }
    }

    /// Makes the plan.
    pub(crate) fn plan(mut self) -> Result<RestorePlan, Error> {
        for candidate in self.candidates()?.into_values() {
            self.plan_path(candidate)?;
        }
        self.add_directories()?;
        self.keep_full_directories();
        self.check_blobs()?;
        for step in self.steps.values() {
            let list = match (&step.before, &step.target) {
                (Some(_), Some(_)) => &mut self.report.restored,
                (Some(_), None) => &mut self.report.deleted,
                (None, _) => &mut self.report.recreated,
            };
            list.push(step.path.clone());
        }
        self.report.sort();
        let steps: Vec<RestoreStep> = self.steps.into_values().collect();
        let opened = closed_directories(self.tree, &steps);
        Ok(RestorePlan { steps, opened, report: self.report })
    }

    /// The paths that the turns changed, among those that were asked for.
    fn candidates(&mut self) -> Result<BTreeMap<Vec<u8>, Candidate>, Error> {
        let mut candidates: BTreeMap<Vec<u8>, Candidate> = BTreeMap::new();
        let mut newer: Option<Manifest> = None;
        for RestoreTransition { to, since } in &self.order.transitions {
            let to = self.store.manifest(*to)?;
            self.max_file_bytes = self.max_file_bytes.max(to.max_file_bytes);
            let is_known = *since != StateAfterTurn::Unknown;
            let after = match since {
                StateAfterTurn::Checkpoint(since) => self.store.manifest(*since)?,
                StateAfterTurn::Now => scan_current_workspace(self.store, self.tree, &to)?,
                // Whatever became different until the next turn may be this one's doing.
                StateAfterTurn::Unknown => match newer.take() {
                    Some(newer) => newer,
                    None => scan_current_workspace(self.store, self.tree, &to)?,
                },
            };
            for ManifestChange { path, before: target, after } in self.changes(&to, &after) {
                self.remember_directories(&to, &path, target.as_ref());
                let done = TurnEffect { target, since: is_known.then_some(after) };
                candidates
                    .entry(key(&path))
                    .or_insert_with(|| Candidate { path, effects: Vec::new() })
                    .effects
                    .push(done);
            }
            newer = Some(to);
        }
        Ok(candidates)
    }

    fn changes(&self, to: &Manifest, after: &Manifest) -> Vec<ManifestChange> {
        let mut ignored = IgnoredPaths::new(to, &self.store.blobs, self.tree.path(), Some(self.tree));
        let mut changes = changes(to, after, &mut ignored);
        if let Some(only) = &self.order.only {
            changes.retain(|change| only.iter().any(|asked| change.path.starts_with(asked)));
        }
        changes.retain(|change| !self.is_temporary(change.path.file_name()));
        let left_alone = self.store.files.excluded_directories(self.tree.path());
        changes.retain(|change| !left_alone.iter().any(|directory| change.path.starts_with(directory)));
        changes
    }

    /// Keeps how the directories above a path were, should they have to be made again.
    fn remember_directories(&mut self, to: &Manifest, path: &Path, target: Option<&ManifestNode>) {
        if target.is_none() {
            return;
        }
        for directory in ancestors(path).into_iter().rev() {
            if self.directories.contains_key(directory) {
                return;
            }
            if let Some(node) = to.get(directory).filter(|node| node.is_directory()) {
                self.directories.insert(directory.to_owned(), node.clone());
            }
        }
    }

    /// Whether a name was given by the run that was cut short.
    fn is_temporary(&self, name: Option<&OsStr>) -> bool {
        self.interrupted
            .zip(name)
            .is_some_and(|(begun, name)| name.as_bytes().starts_with(begun.temporary_prefix().as_bytes()))
    }

    fn look(&self, path: &Path) -> Result<Option<(ManifestNode, FileStamp)>, Error> {
        self.tree.read_node(path, self.max_file_bytes)
    }

    /// Decides about one path that turns changed: goes back through them for as long as each finds the
    /// path as it left it.
    fn plan_path(&mut self, candidate: Candidate) -> Result<(), Error> {
        let Candidate { path, effects: done } = candidate;
        let before = self.look(&path)?;
        let now = before.as_ref().map(|(node, _)| node);
        if let Some(name) =
            self.tree.protected_name(&path, done.last().is_some_and(|oldest| oldest.target.is_none()))
        {
            if done.last().is_some_and(|oldest| oldest.target.as_ref() != now) {
                self.report.protected.push(SkippedProtectedPath { path, name });
            }
            return Ok(());
        }
        let begun =
            self.interrupted.and_then(|begun| begun.step(&path).filter(|_| begun.may_have_left(&path, now)));
        // A run that was cut short had decided already.
        if let Some(step) = begun.filter(|step| done.iter().any(|done| done.target == step.target)) {
            let target = step.target.clone();
            if target.as_ref() != now {
                self.steps.insert(key(&path), RestoreStep { path, before, target });
            }
            return Ok(());
        }
        let mut current = now.cloned();
        let (mut moved, from) = (false, already_undone(&current, &done));
        for TurnEffect { target, since } in &done[from..] {
            if current == *target {
                continue;
            }
            if let Some(left_out) = target.as_ref().and_then(|target| target.left_out(&path)) {
                self.report.left_out.push(left_out);
                break;
            }
            if since.as_ref() != Some(&current) && !self.order.force {
                self.conflict(&path, conflict_reason(moved, current.as_ref(), since.as_ref()));
                break;
            }
            (current, moved) = (target.clone(), true);
        }
        if current.as_ref() != now {
            self.steps.insert(key(&path), RestoreStep { path, before, target: current });
        }
        Ok(())
    }

    fn conflict(&mut self, path: &Path, why: &str) {
        self.report.conflicts.push(RestoreConflict { path: path.to_owned(), why: why.to_owned() });
    }

    /// Adds the directories that are missing above what is to be made. A directory comes before what
    /// it holds, so a path whose directory cannot be had takes with it all that lies below.
    fn add_directories(&mut self) -> Result<(), Error> {
        let made: Vec<PathBuf> =
            self.steps.values().filter(|step| step.target.is_some()).map(|step| step.path.clone()).collect();
        let mut usable: HashMap<PathBuf, bool> = HashMap::from([(PathBuf::new(), true)]);
        for path in made {
            let mut is_usable = true;
            for directory in ancestors(&path) {
                is_usable = match usable.get(directory) {
                    Some(known) => *known,
                    None => self.have_directory(directory)?,
                };
                usable.insert(directory.to_owned(), is_usable);
                if !is_usable {
                    break;
                }
            }
            if !is_usable {
                self.steps.remove(&key(&path));
                self.conflict(&path, IN_THE_WAY);
            }
        }
        Ok(())
    }

    /// Whether a directory is there, or will be. Those above it are.
    fn have_directory(&mut self, directory: &Path) -> Result<bool, Error> {
        if let Some(step) = self.steps.get(&key(directory)) {
            return Ok(step.target.as_ref().is_some_and(ManifestNode::is_directory));
        }
        let before = self.look(directory)?;
        let target = self.directories.get(directory).cloned();
        match &before {
            Some((node, _)) if node.is_directory() => return Ok(true),
            Some(_) if !self.order.force => return Ok(false),
            Some(_) | None => {}
        }
        if target.is_none() {
            return Ok(false);
        }
        self.steps.insert(key(directory), RestoreStep { path: directory.to_owned(), before, target });
        Ok(true)
    }

    /// Keeps each directory in which something stays that no step removes.
    fn keep_full_directories(&mut self) {
        let removed: Vec<PathBuf> = self
            .steps
            .values()
            .filter(|step| {
                step.removes() && step.before.as_ref().is_some_and(|(node, _)| node.is_directory())
            })
            .map(|step| step.path.clone())
            .collect();
        for path in removed.into_iter().rev() {
            let listed = self.tree.directory(&path).and_then(|directory| names(&directory));
            let is_emptied = listed.is_ok_and(|names| {
                names.iter().all(|(name, _)| {
                    let step = self.steps.get(&key(&path.join(name)));
                    step.is_some_and(|step| step.target.is_none()) || self.is_temporary(Some(name))
                })
            });
            if !is_emptied {
                self.steps.remove(&key(&path));
                self.conflict(&path, NOT_EMPTY);
            }
        }
    }

    /// Makes sure that all that is to be written can be had, before anything is changed.
    fn check_blobs(&self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for digest in self.steps.values().filter_map(|step| step.target.as_ref()?.digest()) {
            if seen.insert(digest) {
                self.store.blob(self.order.first(), &digest)?;
            }
        }
        Ok(())
    }
}

/// How many of the turns at a path are taken back already: a path that is as none of them left it, but
/// as one of them found it, has been brought back before.
fn already_undone(current: &Option<ManifestNode>, done: &[TurnEffect]) -> usize {
    if done.first().is_some_and(|newest| newest.since.as_ref() == Some(current)) {
        return 0;
    }
    done.iter().rposition(|done| done.target == *current).map_or(0, |place| place + 1)
}

/// Why a path is not brought back, or no further.
fn conflict_reason(
    moved: bool,
    current: Option<&ManifestNode>,
    since: Option<&Option<ManifestNode>>,
) -> &'static str {
    match (moved, since, current) {
        (_, None, _) => UNKNOWN,
        (true, Some(_), _) => BETWEEN,
        (false, Some(_), None) => DELETED,
        (false, Some(None), Some(_)) => CREATED,
        (false, Some(Some(_)), Some(_)) => CHANGED,
    }
}

/// The directories in which steps are done and in which their owner may not write.
pub(crate) fn closed_directories(tree: &WorkspaceTree, steps: &[RestoreStep]) -> Vec<(PathBuf, u32)> {
    let mut seen = HashSet::new();
    let mut closed = Vec::new();
    for parent in steps.iter().filter_map(|step| step.path.parent()) {
        if !seen.insert(parent) {
            continue;
        }
        if let Ok(stat) = tree.directory(parent).and_then(fstat)
            && stat.st_mode & 0o300 != 0o300
        {
            closed.push((parent.to_owned(), stat.st_mode & 0o7777));
        }
    }
    closed
}

/// The directories above a path, the outermost first, without the workspace itself.
fn ancestors(path: &Path) -> Vec<&Path> {
    let mut above: Vec<&Path> =
        path.ancestors().skip(1).filter(|directory| !directory.as_os_str().is_empty()).collect();
    above.reverse();
    above
}

fn key(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}
