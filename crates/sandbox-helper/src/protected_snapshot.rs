//! Protected paths as they were, kept to be restored where nothing could hold them: all of them under
//! Landlock, and links under bubblewrap.
//!
//! All reading and writing goes by descriptors beneath the writable directory that a path is in, so that a
//! program that still runs cannot lead it elsewhere. What is above a path is restored before the path itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use ostler_workspace_fs::RootedTree;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::repository_state::RepositoryState;
use crate::saved_modes::SavedModes;

/// How much is kept.
const MAXIMUM_BYTES: u64 = 16 << 20;
/// How many paths are kept.
const MAXIMUM_PATHS: usize = 4096;
/// How often restoring is repeated until everything is as it was.
const RESTORE_PASSES: usize = 4;

/// A path to be kept, and the writable directory that it is in.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotPath<'a> {
    /// The path.
    pub path: &'a Path,
    /// The directory.
    pub root: &'a Path,
}

/// Protected paths as they were, by the writable directory that they are in.
#[derive(Debug, Default)]
pub struct ProtectedSnapshot {
    trees: Vec<SavedTree>,
    modes: SavedModes,
    bytes: u64,
    paths: usize,
}

#[derive(Debug)]
struct SavedTree {
    root: PathBuf,
    tree: RootedTree,
    /// By their paths in the directory, from the outside in.
    entries: BTreeMap<PathBuf, SavedEntry>,
    repositories: Vec<RepositoryState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SavedEntry {
    Missing,
    /// A directory whose entries are the program's business; its owner must be able to enter it.
    Around,
    /// A directory that has these entries and no others.
    Directory {
        mode: u32,
    },
    Link(PathBuf),
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    /// A socket, a pipe or a device, of which only the kind is kept.
    Special(u32),
}

/// How a snapshot is written: this in one line of JSON, then the bytes of all files.
#[derive(Serialize, Deserialize)]
struct SnapshotHeader {
    trees: Vec<SnapshotHeaderTree>,
    modes: SavedModes,
}

#[derive(Serialize, Deserialize)]
struct SnapshotHeaderTree {
    root: OsString,
    identity: (u64, u64),
    kept: Vec<(OsString, SnapshotHeaderEntry)>,
    repositories: Vec<RepositoryState>,
}

#[derive(Serialize, Deserialize)]
enum SnapshotHeaderEntry {
    Missing,
    Around,
    Directory(u32),
    Link(OsString),
    File(u64, u32),
    Special(u32),
}

impl ProtectedSnapshot {
    /// Reads them, and the state of repository directories. Fails where there is too much of it to keep.
    pub fn take(
        protected: &[SnapshotPath<'_>],
        repositories: &[(PathBuf, PathBuf)],
        modes: SavedModes,
    ) -> Result<ProtectedSnapshot> {
        let mut snapshot = ProtectedSnapshot { modes, ..ProtectedSnapshot::default() };
        for SnapshotPath { path, root } in protected {
            let Ok(inner) = path.strip_prefix(root) else { continue };
            let place = snapshot.tree_index(root)?;
            for above in inner.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
                snapshot.trees[place].entries.entry(above.to_owned()).or_insert(SavedEntry::Around);
            }
            snapshot.save(place, inner)?;
        }
        for (root, directory) in repositories {
            let Ok(inner) = directory.strip_prefix(root) else { continue };
            let place = snapshot.tree_index(root)?;
            let kept = &mut snapshot.trees[place];
            kept.repositories.push(RepositoryState::read(&kept.tree, inner));
        }
        Ok(snapshot)
    }

    /// Returns true where there is nothing to restore.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty() && self.modes.is_empty()
    }

    /// The absolute paths that it restores.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.trees.iter().flat_map(|tree| {
            let held = tree.entries.iter().filter(|(_, kept)| **kept != SavedEntry::Around);
            held.map(|(path, _)| tree.root.join(path))
        })
    }

    /// Restores what has changed, and says what that was.
    pub fn restore(&self) -> Vec<PathBuf> {
        let mut changed = self.modes.restore();
        for tree in &self.trees {
            changed.extend(tree.restore().into_iter().map(|path| tree.root.join(path)));
        }
        changed
    }

    /// The same when nothing runs any more that could change it again, until nothing differs.
    pub fn restore_until_stable(&self) -> Vec<PathBuf> {
        let mut changed = self.restore();
        for _ in 1..RESTORE_PASSES {
            let again = self.restore();
            if again.is_empty() {
                break;
            }
            changed.extend(again);
        }
        changed.sort();
        changed.dedup();
        changed
    }

    /// As it is written to disk.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut trees = Vec::new();
        for tree in &self.trees {
            let stat = tree.tree.root()?;
            let mut kept = Vec::new();
            for (path, node) in &tree.entries {
                if let SavedEntry::File { bytes, .. } = node {
                    content.extend_from_slice(bytes);
                }
                kept.push((path.clone().into_os_string(), node.header()));
            }
            let root = tree.root.clone().into_os_string();
            let repositories = tree.repositories.clone();
            trees.push(SnapshotHeaderTree { root, identity: (stat.st_dev, stat.st_ino), kept, repositories });
        }
        let mut bytes = serde_json::to_vec(&SnapshotHeader { trees, modes: self.modes.clone() })?;
        bytes.push(b'\n');
        bytes.append(&mut content);
        Ok(bytes)
    }

    /// Reads one that was written. It is not found where a directory is not; directories that took the place
    /// of others have nothing to be restored.
    pub fn read(path: &Path) -> Result<ProtectedSnapshot> {
        let bytes = fs::read(path)?;
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or(ErrorKind::InvalidData)?;
        let header: SnapshotHeader = serde_json::from_slice(&bytes[..end])?;
        let mut rest = &bytes[end + 1..];
        let mut snapshot = ProtectedSnapshot { modes: header.modes, ..ProtectedSnapshot::default() };
        for SnapshotHeaderTree { root, identity, kept, repositories } in header.trees {
            let mut nodes = BTreeMap::new();
            for (path, node) in kept {
                nodes.insert(path.into(), node.into_entry(&mut rest)?);
            }
            let tree = RootedTree::open(Path::new(&root)).map_err(Error::from)?;
            let stat = tree.root()?;
            if (stat.st_dev, stat.st_ino) == identity {
                snapshot.trees.push(SavedTree { root: root.into(), tree, entries: nodes, repositories });
            }
        }
        Ok(snapshot)
    }

    /// The place of a directory's tree among all.
    fn tree_index(&mut self, root: &Path) -> Result<usize> {
        if let Some(place) = self.trees.iter().position(|tree| tree.root == *root) {
            return Ok(place);
        }
        let tree = RootedTree::open(root)?;
        let (kept, repositories) = (BTreeMap::new(), Vec::new());
        self.trees.push(SavedTree { root: root.to_owned(), tree, entries: kept, repositories });
        Ok(self.trees.len() - 1)
    }

    fn save(&mut self, place: usize, path: &Path) -> Result<()> {
        let tree = &self.trees[place].tree;
        let kept = match tree.stat(path)? {
            None => SavedEntry::Missing,
            Some(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => SavedEntry::Link(tree.read_link(path)?),
                FileType::Directory => {
                    for name in tree.names(path)? {
                        self.save(place, &path.join(name))?;
                    }
                    SavedEntry::Directory { mode: mode(&stat) }
                }
                FileType::RegularFile => {
                    let left = MAXIMUM_BYTES.saturating_sub(self.bytes);
                    let (bytes, stat) = tree.read(path, left).map_err(|error| match error.kind() {
                        ErrorKind::FileTooLarge => too_much(),
                        _ => error,
                    })?;
                    self.bytes += bytes.len() as u64;
                    SavedEntry::File { bytes, mode: mode(&stat) }
                }
                _ => SavedEntry::Special(stat.st_mode),
            },
        };
        self.trees[place].entries.insert(path.to_owned(), kept);
        self.paths += 1;
        if self.paths > MAXIMUM_PATHS { Err(too_much()) } else { Ok(()) }
    }
}

impl SavedTree {
    fn restore(&self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, kept) in &self.entries {
            // What cannot be read differs; what cannot be restored is reported like what can.
            if !self.is_unchanged(path, kept) {
                let _ = self.restore_entry(path, kept);
                changed.push(path.clone());
            }
        }
        changed.extend(self.repositories.iter().flat_map(|state| state.restore(&self.tree)));
        changed
    }

    fn is_unchanged(&self, path: &Path, kept: &SavedEntry) -> bool {
        let Ok(found) = self.tree.stat(path) else { return false };
        let Some(stat) = found else { return *kept == SavedEntry::Missing };
        let kind = FileType::from_raw_mode(stat.st_mode);
        match kept {
            SavedEntry::Missing => false,
            SavedEntry::Around => kind == FileType::Directory && stat.st_mode & 0o700 == 0o700,
            SavedEntry::Directory { mode: kept } => {
                let is_known = || self.unknown_entries(path).is_ok_and(|strangers| strangers.is_empty());
                kind == FileType::Directory && mode(&stat) == *kept && is_known()
            }
            SavedEntry::Link(target) => self.tree.read_link(path).is_ok_and(|found| found == *target),
            SavedEntry::File { bytes, mode: kept } => {
                let is_same = || {
                    let read = self.tree.read(path, bytes.len() as u64);
                    read.is_ok_and(|(found, _)| found == *bytes)
                };
                kind == FileType::RegularFile && mode(&stat) == *kept && is_same()
            }
            SavedEntry::Special(kept) => kind == FileType::from_raw_mode(*kept),
        }
    }

    fn unknown_entries(&self, directory: &Path) -> std::result::Result<Vec<PathBuf>, Errno> {
        let paths = self.tree.names(directory)?.into_iter().map(|name| directory.join(name));
        Ok(paths.filter(|path| !self.entries.contains_key(path)).collect())
    }

    fn restore_entry(&self, path: &Path, kept: &SavedEntry) -> Result<()> {
        let found = self.tree.stat(path)?;
        let is_directory =
            found.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        match kept {
            SavedEntry::Missing | SavedEntry::Special(_) => Ok(self.tree.remove(path)?),
            SavedEntry::Around | SavedEntry::Directory { .. } => {
                if !is_directory {
                    self.tree.remove(path)?;
                    self.tree.make_directory(path, 0o755)?;
                }
                let known = found.filter(|_| is_directory).map_or(0o755, |stat| mode(&stat));
                let wanted = match kept {
                    SavedEntry::Directory { mode } => *mode,
                    _ => known | 0o700,
                };
                self.tree.set_mode(path, wanted)?;
                let is_whole = matches!(kept, SavedEntry::Directory { .. });
                let strangers = if is_whole { self.unknown_entries(path)? } else { Vec::new() };
                Ok(strangers.iter().try_for_each(|path| self.tree.remove(path))?)
            }
            SavedEntry::Link(target) => self.tree.put_link(path, target),
            // A new file: the old one may have other names by now.
            SavedEntry::File { bytes, mode } => self.tree.put_file(path, bytes, *mode),
        }
    }
}

impl SavedEntry {
    fn header(&self) -> SnapshotHeaderEntry {
        match self {
            SavedEntry::Missing => SnapshotHeaderEntry::Missing,
            SavedEntry::Around => SnapshotHeaderEntry::Around,
            SavedEntry::Directory { mode } => SnapshotHeaderEntry::Directory(*mode),
            SavedEntry::Link(target) => SnapshotHeaderEntry::Link(target.clone().into_os_string()),
            SavedEntry::File { bytes, mode } => SnapshotHeaderEntry::File(bytes.len() as u64, *mode),
            SavedEntry::Special(mode) => SnapshotHeaderEntry::Special(*mode),
        }
    }
}

impl SnapshotHeaderEntry {
    /// Takes the bytes of a file from the beginning of what is left.
    fn into_entry(self, rest: &mut &[u8]) -> Result<SavedEntry> {
        Ok(match self {
            SnapshotHeaderEntry::Missing => SavedEntry::Missing,
            SnapshotHeaderEntry::Around => SavedEntry::Around,
            SnapshotHeaderEntry::Directory(mode) => SavedEntry::Directory { mode },
            SnapshotHeaderEntry::Link(target) => SavedEntry::Link(target.into()),
            SnapshotHeaderEntry::File(length, mode) => {
                let length = usize::try_from(length).map_err(|_| ErrorKind::InvalidData)?;
                let (bytes, after) = rest.split_at_checked(length).ok_or(ErrorKind::InvalidData)?;
                *rest = after;
                SavedEntry::File { bytes: bytes.to_owned(), mode }
            }
            SnapshotHeaderEntry::Special(mode) => SavedEntry::Special(mode),
        })
    }
}

fn mode(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

fn too_much() -> Error {
    Error::other("the protected files are too many or too large to be kept in memory while a command runs")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::{ProtectedSnapshot, SnapshotPath};
    use crate::saved_modes::SavedModes;

    fn take(root: &Path, names: &[&str]) -> ProtectedSnapshot {
        let paths: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
        let protected: Vec<SnapshotPath<'_>> = paths.iter().map(|path| SnapshotPath { path, root }).collect();
        ProtectedSnapshot::take(&protected, &[], SavedModes::default()).unwrap()
    }

    #[test]
    fn nothing_is_written_through_a_link_that_was_left_above() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (root, outside) = (top.join("workspace"), top.join("outside"));
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join(".git/config"), "mine").unwrap();
        let snapshot = take(&root, &[".git/config", ".git/hooks"]);

        fs::remove_dir_all(root.join(".git")).unwrap();
        symlink(&outside, root.join(".git")).unwrap();
        assert!(snapshot.restore().contains(&root.join(".git")));

        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "mine");
        assert!(snapshot.restore().is_empty());
    }

    #[test]
    fn entries_that_were_added_go_and_changed_ones_come_back_also_after_a_crash() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let path = root.join(".claude");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("settings.json"), "{}").unwrap();
        let journal = root.join("journal");
        fs::write(&journal, take(&root, &[".claude", ".envrc"]).to_bytes().unwrap()).unwrap();

        fs::write(path.join("settings.json"), "[]").unwrap();
        fs::write(path.join("more"), "").unwrap();
        fs::create_dir_all(root.join(".envrc/x")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let snapshot = ProtectedSnapshot::read(&journal).unwrap();
        let changed = [path.clone(), path.join("settings.json"), root.join(".envrc")];
        assert_eq!(snapshot.restore_until_stable(), changed);

        assert_eq!(fs::read_to_string(path.join("settings.json")).unwrap(), "{}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(!path.join("more").exists() && !root.join(".envrc").exists());
        assert!(snapshot.restore().is_empty());
    }

    #[test]
    fn a_directory_that_is_swapped_for_a_link_meanwhile_leads_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (root, outside) = (top.join("workspace"), top.join("outside"));
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("id_rsa"), "canary").unwrap();
        for number in 0..50 {
            fs::write(root.join(format!(".git/hooks/{number}")), "mine").unwrap();
        }
        symlink(&outside, root.join(".git/link")).unwrap();
        let swap = || {
            let (one, other) = (root.join(".git/hooks"), root.join(".git/link"));
            // Restoring makes a directory of the link, so that either may be missing for a moment.
            let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    swap();
                }
            });
            let kept = take(&root, &[".git/config"]);
            for _ in 0..60 {
                // Whatever it reads while it is swapped, it is nothing of what is outside.
                let hooks = root.join(".git/hooks");
                let protected = SnapshotPath { path: &hooks, root: &root };
                if let Ok(snapshot) = ProtectedSnapshot::take(&[protected], &[], SavedModes::default()) {
                    let bytes = snapshot.to_bytes().unwrap();
                    assert!(!bytes.windows(6).any(|word| word == b"canary"));
                    fs::write(root.join(".git/hooks/planted"), "x").ok();
                    snapshot.restore();
                }
                kept.restore();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        // The planting above goes by names, and so may have ended up outside.
        let _ = fs::remove_file(outside.join("planted"));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.join("id_rsa")).unwrap(), "canary");
    }
}
