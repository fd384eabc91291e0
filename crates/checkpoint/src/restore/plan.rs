//! Decides what a restore does, path by path, before anything is touched. A path is brought back only
//! from the state in which the turn left it; everything else is a conflict. Directories go only when
//! nothing is left in them, so what no checkpoint holds is never lost.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use crate::beneath::{Stamp, Tree};
use crate::changes::{Change, Ignored, changes};
use crate::diff::workspace_now;
use crate::error::Error;
use crate::manifest::{Manifest, Node};
use crate::store::Store;
use crate::walk::names;

use super::{Conflict, Journal, Order, Restored, Step};

const CREATED: &str = "was created since";
const DELETED: &str = "was deleted since";
const CHANGED: &str = "was changed since";
const IN_THE_WAY: &str = "cannot be made again, because something else is where its directory was";
const NOT_EMPTY: &str = "still holds files that are no part of what is restored";

/// What a run does, in the order of the paths, and what it reports.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) opened: Vec<(PathBuf, u32)>,
    pub(crate) report: Restored,
}

/// What a plan goes by.
pub(crate) struct Planner<'a> {
    store: &'a Store,
    tree: &'a Tree,
    order: &'a Order,
    begun: Option<&'a Journal>,
    to: Manifest,
    steps: BTreeMap<Vec<u8>, Step>,
    report: Restored,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        store: &'a Store,
        tree: &'a Tree,
        order: &'a Order,
        begun: Option<&'a Journal>,
    ) -> Result<Planner<'a>, Error> {
        let to = store.manifest(order.to)?;
        Ok(Planner { store, tree, order, begun, to, steps: BTreeMap::new(), report: Restored::default() })
    }

    /// Makes the plan.
    pub(crate) fn plan(mut self) -> Result<Plan, Error> {
        for change in self.candidates()? {
            self.consider(change)?;
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
        self.report.conflicts.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        let steps: Vec<Step> = self.steps.into_values().collect();
        let opened = closed_directories(self.tree, &steps);
        Ok(Plan { steps, opened, report: self.report })
    }

    /// The paths that the turn changed, among those that were asked for.
    fn candidates(&self) -> Result<Vec<Change>, Error> {
        let since = match self.order.since {
            Some(since) => self.store.manifest(since)?,
            None => workspace_now(self.store, self.tree, &self.to)?,
        };
        let mut ignored = Ignored::new(&self.to, &self.store.blobs, self.tree.path(), Some(self.tree));
        let mut changes = changes(&self.to, &since, &mut ignored);
        if let Some(only) = &self.order.only {
            changes.retain(|change| only.iter().any(|asked| change.path.starts_with(asked)));
        }
        changes.retain(|change| !self.is_temporary(change.path.file_name()));
        let left_alone = self.store.files.left_alone(self.tree.path());
        changes.retain(|change| !left_alone.iter().any(|directory| change.path.starts_with(directory)));
        Ok(changes)
    }

    /// Whether a name was given by the run that was cut short.
    fn is_temporary(&self, name: Option<&OsStr>) -> bool {
        self.begun
            .zip(name)
            .is_some_and(|(begun, name)| name.as_bytes().starts_with(begun.temporary_prefix().as_bytes()))
    }

    fn look(&self, path: &Path) -> Result<Option<(Node, Stamp)>, Error> {
        self.tree.look(path, self.to.max_file_bytes)
    }

    /// Decides about one path that the turn changed.
    fn consider(&mut self, change: Change) -> Result<(), Error> {
        let Change { path, before: target, after: since } = change;
        let before = self.look(&path)?;
        let now = before.as_ref().map(|(node, _)| node);
        if now == target.as_ref() {
            return Ok(());
        }
        if let Some(left_out) = target.as_ref().and_then(|target| target.left_out(&path)) {
            self.report.left_out.push(left_out);
            return Ok(());
        }
        let is_ours = now == since.as_ref() || self.begun.is_some_and(|begun| begun.explains(&path, now));
        if is_ours || self.order.force {
            self.steps.insert(key(&path), Step { path, before, target });
        } else {
            let why = match (now, &since) {
                (None, _) => DELETED,
                (Some(_), None) => CREATED,
                (Some(_), Some(_)) => CHANGED,
            };
            self.conflict(&path, why);
        }
        Ok(())
    }

    fn conflict(&mut self, path: &Path, why: &str) {
        self.report.conflicts.push(Conflict { path: path.to_owned(), why: why.to_owned() });
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
            return Ok(step.target.as_ref().is_some_and(Node::is_directory));
        }
        let before = self.look(directory)?;
        let target = self.to.get(directory).filter(|node| node.is_directory()).cloned();
        match &before {
            Some((node, _)) if node.is_directory() => return Ok(true),
            Some(_) if !self.order.force => return Ok(false),
            Some(_) | None => {}
        }
        if target.is_none() {
            return Ok(false);
        }
        self.steps.insert(key(directory), Step { path: directory.to_owned(), before, target });
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
                self.store.blob(self.order.to, &digest)?;
            }
        }
        Ok(())
    }
}

/// The directories in which steps are done and in which their owner may not write.
pub(crate) fn closed_directories(tree: &Tree, steps: &[Step]) -> Vec<(PathBuf, u32)> {
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
