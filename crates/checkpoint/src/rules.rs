//! What git ignores, in a directory and below it. The same rules are asked of the workspace on disk
//! and of a checkpoint, so that what was ignored when it was made is left alone for ever.
//!
//! Outside a repository nothing is ignored. A repository inside another has its own rules only. Rules
//! of the user's whole account are not read: they are no part of the workspace.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ostler_workspace_fs::{Links, read_beneath, read_unlinked};

use crate::workspace_tree::WorkspaceTree;

/// The file of rules in each directory.
pub(crate) const FILE: &str = ".gitignore";
/// How much of a file of rules is read.
pub(crate) const MAX_BYTES: u64 = 256 * 1024;
/// How many directories above a workspace are looked at for a repository.
const MAX_ABOVE: usize = 64;

/// How a directory stands to git.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    in_repository: bool,
    /// The directory itself is ignored, and with it all that it holds.
    ignored: bool,
    rules: Option<Arc<Rules>>,
}

/// The rules of one directory, and of those above it.
#[derive(Debug)]
struct Rules {
    above: Option<Arc<Rules>>,
    /// The way from the directory of the rules down to the workspace, where they come from above it.
    down: PathBuf,
    /// The length of the way from the workspace to the directory of the rules, with its slash.
    skipped: usize,
    own: Gitignore,
}

impl Standing {
    /// The standing of a workspace as git sees it from above, without the rules in it.
    pub(crate) fn of_workspace(workspace: &Path) -> Standing {
        let Some(root) = repository_of(workspace) else { return Standing::default() };
        let mut standing = Standing { in_repository: true, ..Standing::default() };
        standing.add(read(&root.join(".git/info/exclude")).as_deref(), Path::new(""), below(workspace, root));
        let above: Vec<&Path> =
            workspace.ancestors().skip(1).take_while(|above| above.starts_with(root)).collect();
        for directory in above.into_iter().rev() {
            let text = read(&directory.join(FILE));
            standing.add(text.as_deref(), Path::new(""), below(workspace, directory));
        }
        let mut way = PathBuf::new();
        let ignored = below(workspace, root).iter().any(|part| {
            way.push(part);
            standing.rules.as_deref().is_some_and(|rules| rules.ignore_above(&way, root, workspace))
        });
        // A workspace in a directory that git ignores is work all the same, and git knows nothing of it.
        if ignored { Standing::default() } else { standing }
    }

    /// The standing of the workspace when it is known whether it lies in a repository.
    pub(crate) fn of_workspace_then(workspace: &Path, in_repository: bool) -> Standing {
        if in_repository {
            Standing { in_repository, ..Standing::of_workspace(workspace) }
        } else {
            Standing::default()
        }
    }

    /// The standing in a directory: of what is above it, with the rules of its own.
    pub(crate) fn enter(
        &self,
        path: &Path,
        ignored: bool,
        exclude: Option<Option<&[u8]>>,
        own: Option<&[u8]>,
    ) -> Standing {
        let mut standing = self.clone();
        standing.ignored |= ignored;
        if let Some(exclude) = exclude {
            standing.in_repository = true;
            standing.rules = None;
            standing.add(exclude, path, Path::new(""));
        }
        if standing.in_repository {
            standing.add(own, path, Path::new(""));
        }
        standing
    }

    pub(crate) fn in_repository(&self) -> bool {
        self.in_repository
    }

    /// Whether a path, relative to the workspace and in this directory, is ignored.
    pub(crate) fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        self.ignored || Rules::ignore(self.rules.as_deref(), path, is_directory)
    }

    fn add(&mut self, text: Option<&[u8]>, directory: &Path, down: &Path) {
        let Some(text) = text else { return };
        let mut builder = GitignoreBuilder::new(".");
        let text = String::from_utf8_lossy(text);
        for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines() {
            // Git passes over a line that it does not understand, too.
            let _ = builder.add_line(None, line);
        }
        if let Ok(own) = builder.build()
            && !own.is_empty()
        {
            let length = directory.as_os_str().len();
            let skipped = if length == 0 { 0 } else { length + 1 };
            let above = self.rules.take();
            self.rules = Some(Arc::new(Rules { above, down: down.to_owned(), skipped, own }));
        }
    }
}

impl Rules {
    /// The nearest rule that says anything decides.
    fn ignore(rules: Option<&Rules>, path: &Path, is_directory: bool) -> bool {
        let mut next = rules;
        while let Some(rules) = next {
            let below = path.as_os_str().as_bytes().get(rules.skipped..).unwrap_or_default();
            let below = rules.down.join(OsStr::from_bytes(below));
            match rules.own.matched(below, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = rules.above.as_deref(),
            }
        }
        false
    }

    /// Whether a directory on the way from the repository's root to the workspace is ignored.
    fn ignore_above(&self, way: &Path, root: &Path, workspace: &Path) -> bool {
        let mut next = Some(self);
        let full = root.join(way);
        while let Some(rules) = next {
            let base = workspace.ancestors().nth(rules.down.components().count()).unwrap_or(root);
            if let Ok(below) = full.strip_prefix(base)
                && !below.as_os_str().is_empty()
            {
                match rules.own.matched(below, true) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            next = rules.above.as_deref();
        }
        false
    }
}

/// The root of the repository in which a workspace lies. An empty `.git` is none, as git has it: a
/// sandbox may hold its place.
pub(crate) fn repository_of(workspace: &Path) -> Option<&Path> {
    let is_root = |directory: &&Path| {
        let git = directory.join(".git");
        let is_empty = || std::fs::read_dir(&git).is_ok_and(|mut names| names.next().is_none());
        std::fs::symlink_metadata(&git).is_ok() && !is_empty()
    };
    workspace.ancestors().take(MAX_ABOVE).find(is_root)
}

/// The way from a directory down to another one.
fn below<'a>(path: &'a Path, directory: &Path) -> &'a Path {
    path.strip_prefix(directory).unwrap_or(Path::new(""))
}

/// The rules that a repository in the workspace keeps for itself.
pub(crate) fn exclude_of(tree: &WorkspaceTree, directory: &Path) -> Option<Vec<u8>> {
    read_rules(tree, &directory.join(".git/info/exclude"))
}

/// A file of rules beneath a directory; never through a link, as git has it.
pub(crate) fn read_rules(base: impl AsFd, path: &Path) -> Option<Vec<u8>> {
    let (file, _) = read_beneath(base, path, Links::None).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A file of rules above the workspace.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_unlinked(path, MAX_BYTES).ok()
}
