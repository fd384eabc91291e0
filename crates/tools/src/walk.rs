//! Walks the files of a workspace in order, without those that git ignores.
//!
//! Directories are opened through descriptors and never through links, so a walk cannot leave the
//! workspace even while directories are swapped under it. The rules of `.gitignore` are those of the
//! `ignore` crate; what to do with a file is left to the visitor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::Failed;
use crate::blocking::Stop;
use crate::path::{Links, ReadError, Workspace, directory_beneath, is_git, read_beneath};

/// How many names a walk looks at before it gives up.
const MAX_ENTRIES: usize = 500_000;
/// How deep a walk goes.
pub(crate) const MAX_DEPTH: usize = 64;
/// How much of an ignore file is read.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;

/// Something that a walk met.
pub(crate) struct Entry<'a> {
    /// Relative to the workspace.
    pub(crate) path: &'a Path,
    /// Its own name.
    pub(crate) name: &'a OsStr,
    /// 1 for what lies in the directory where the walk began.
    pub(crate) depth: usize,
    pub(crate) kind: FileType,
    /// Relative to the directory where the walk began.
    inner: &'a Path,
}

/// What a walk left out, other than what is ignored.
#[derive(Debug, Default)]
pub(crate) struct Omitted {
    /// Directories below the depth.
    pub(crate) too_deep: usize,
    /// Directories that could not be read.
    pub(crate) unreadable: usize,
    /// Whether the walk gave up because there is too much.
    pub(crate) too_many: bool,
}

/// A walk through one directory of a workspace.
pub(crate) struct Walk<'a> {
    base: OwnedFd,
    base_path: PathBuf,
    max_depth: usize,
    stop: &'a Stop,
    /// The rules of the directories above the current one, and its own, with the path of each.
    rules: Vec<(PathBuf, Gitignore)>,
    seen: usize,
    omitted: Omitted,
}

impl<'a> Walk<'a> {
    /// Prepares a walk through the directory `path`.
    pub(crate) fn new(
        workspace: &Workspace,
        path: &str,
        max_depth: usize,
        stop: &'a Stop,
    ) -> Result<Walk<'a>, Failed> {
        let base = workspace.directory(path)?;
        let relative = workspace.relative(path)?;
        let base_path: PathBuf = if relative == Path::new(".") { PathBuf::new() } else { relative };
        let mut rules = Vec::new();
        if let Ok(root) = workspace.open_directory(Path::new(".")) {
            push_rules(&mut rules, &root, &[".git/info/exclude"], Path::new(""));
        }
        for above in base_path.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let opened = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            if let Ok(directory) = workspace.open_directory(opened) {
                push_rules(&mut rules, &directory, IGNORE_FILES, above);
            }
        }
        let omitted = Omitted::default();
        Ok(Walk { base, base_path, max_depth: max_depth.min(MAX_DEPTH), stop, rules, seen: 0, omitted })
    }

    /// Shows every entry to `visit`, a directory before what it holds, each directory by name.
    pub(crate) fn run(mut self, visit: &mut dyn FnMut(&Walk<'_>, &Entry<'_>) -> ControlFlow<()>) -> Omitted {
        // Whether it was stopped is known to whoever stopped it.
        let _ = self.enter(Path::new(""), 0, visit);
        self.omitted
    }

    /// Opens a file that the walk has met.
    pub(crate) fn read(&self, entry: &Entry<'_>) -> Result<File, ReadError> {
        read_beneath(&self.base, entry.inner, Links::None).map(|(file, _)| file)
    }

    fn enter(
        &mut self,
        inner: &Path,
        depth: usize,
        visit: &mut dyn FnMut(&Walk<'_>, &Entry<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let opened = if inner.as_os_str().is_empty() { Path::new(".") } else { inner };
        let Ok(directory) = directory_beneath(&self.base, opened, Links::None) else {
            self.omitted.unreadable += 1;
            return ControlFlow::Continue(());
        };
        let path = self.base_path.join(inner);
        let rules_above = self.rules.len();
        push_rules(&mut self.rules, &directory, IGNORE_FILES, &path);
        let names = self.names(&directory);
        drop(directory);
        for (name, kind) in names {
            if self.stop.is_set() {
                return ControlFlow::Break(());
            }
            let (inner, path) = (inner.join(&name), path.join(&name));
            if is_git(&name) || self.is_ignored(&path, kind == FileType::Directory) {
                continue;
            }
            let entry = Entry { path: &path, name: &name, depth: depth + 1, kind, inner: &inner };
            visit(self, &entry)?;
            if kind == FileType::Directory && depth + 1 < self.max_depth {
                self.enter(&inner, depth + 1, visit)?;
            } else if kind == FileType::Directory {
                self.omitted.too_deep += 1;
            }
        }
        self.rules.truncate(rules_above);
        ControlFlow::Continue(())
    }

    /// The names in a directory, sorted, as many as the walk may still look at.
    fn names(&mut self, directory: &OwnedFd) -> Vec<(OsString, FileType)> {
        let mut names = Vec::new();
        let Ok(mut listing) = Dir::read_from(directory) else {
            self.omitted.unreadable += 1;
            return names;
        };
        while let Some(Ok(entry)) = listing.read() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if self.seen == MAX_ENTRIES || self.stop.is_set() {
                self.omitted.too_many = true;
                break;
            }
            self.seen += 1;
            let kind = match entry.file_type() {
                FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            names.push((name.to_owned(), kind));
        }
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        names
    }

    /// The nearest rule that says anything decides.
    fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        for (above, rules) in self.rules.iter().rev() {
            match path.strip_prefix(above).map(|path| rules.matched(path, is_directory)) {
                Ok(Match::Ignore(_)) => return true,
                Ok(Match::Whitelist(_)) => return false,
                Ok(Match::None) | Err(_) => {}
            }
        }
        false
    }
}

/// The second overrules the first, as ripgrep has it.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];

fn push_rules(rules: &mut Vec<(PathBuf, Gitignore)>, directory: impl AsFd, files: &[&str], path: &Path) {
    let mut builder = GitignoreBuilder::new(".");
    for file in files {
        let Ok((file, _)) = read_beneath(directory.as_fd(), Path::new(file), Links::None) else {
            continue;
        };
        let mut bytes = Vec::new();
        if file.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes).is_err() {
            continue;
        }
        for line in String::from_utf8_lossy(&bytes).lines() {
            // Git passes over a line that it does not understand, too.
            let _ = builder.add_line(None, line);
        }
    }
    match builder.build() {
        Ok(built) if !built.is_empty() => rules.push((path.to_owned(), built)),
        Ok(_) | Err(_) => {}
    }
}
