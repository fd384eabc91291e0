//! Which paths in a writable directory stay read-only, whether they exist or not.
//!
//! They are what makes somebody outside the sandbox run code later: git's hooks and settings, and the
//! settings of agents and editors. `AGENTS.md`, build scripts and `.gitattributes` are ordinary content:
//! editing them is what an agent is for, and they are seen in a diff.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::git_directory::{self, GitSettingsSources, ProtectedRepositories};
use crate::nested_repositories::NestedRepositories;
use crate::profile::SandboxProfile;

/// Names that are protected at the top of a workspace, besides `.git`. Further down, where they count only for
/// somebody who opens that directory by itself, those are held that exist and are found. Tools that write files
/// refuse them at any depth.
pub const PROTECTED_NAMES: &[&str] = &[
    ".ostler",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".opencode",
    ".agents",
    ".vscode",
    ".idea",
    ".zed",
    ".husky",
    ".envrc",
    ".mcp.json",
    ".qwen",
    ".kiro",
    ".amazonq",
    ".windsurf",
    ".roo",
    ".kilocode",
    ".continue",
    ".junie",
    ".factory",
    ".crush.json",
    ".aider.conf.yml",
    ".helix",
    ".devcontainer",
    ".devcontainer.json",
    "opencode.json",
    "opencode.jsonc",
    "crush.json",
    ".trae",
    ".amp",
    ".cline",
    ".goose",
    ".theia",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
];

/// How many of them, the first, are common.
const COMMON_NAMES: usize = 13;

/// Which protected names have their place held at the top of a writable directory where they do not exist. What a
/// command makes under one of the others is taken away when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldNames {
    /// The common ones: to make a directory for each would take longer than all the rest of a sandbox.
    Common,
    /// All: a program that runs for hours is given no hours to use one.
    All,
}

/// Repositories of other kinds, and the settings in them that name programs.
pub(crate) const OTHER_REPOSITORIES: &[(&str, &str)] = &[(".hg", "hgrc"), (".jj", "repo/config.toml")];

/// How many repositories below a workspace are protected, the nearest first; each takes several mounts.
const MAXIMUM_NESTED: usize = 64;
/// How many protected names below the top of a workspace are held.
const MAXIMUM_BELOW: usize = 32;

/// A path that must stay as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ResolvedProtectedPath {
    /// The path. Its parent exists and is no link.
    pub(crate) path: PathBuf,
    /// The writable directory that it is in.
    pub(crate) root: PathBuf,
    /// What to put there if it does not exist.
    pub(crate) if_missing: MissingPathAction,
    /// What holds it.
    pub(crate) method: ProtectionMethod,
}

impl ResolvedProtectedPath {
    /// Whether a command must not go on when the mount that holds this is gone, as it is when somebody outside replaces
    /// what it is mounted on: at the top of a writable directory and in the repository there. Registered worktrees
    /// come and go; what is further down is held as far as it is found.
    pub(crate) fn is_watched(&self) -> bool {
        let Ok(inner) = self.path.strip_prefix(&self.root) else { return false };
        let in_git = inner.strip_prefix(".git").unwrap_or(inner);
        in_git.components().count() <= 1 && !in_git.starts_with("worktrees")
    }
}

/// A path that is to stay as it is, before it is known where it leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProtectionRequest {
    pub(crate) path: PathBuf,
    pub(crate) missing_path_action: MissingPathAction,
    pub(crate) method: ProtectionMethod,
}

/// What holds the place of a protected path that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MissingPathAction {
    /// An empty directory, whatever was to be there: git does not see it, so it is never committed.
    Directory,
    /// A file with this text, inside a repository directory or where git would read settings: for settings a
    /// directory is an error.
    File(&'static str),
    /// Nothing, because every program that lists the directory would stumble over it. What a command makes there
    /// is taken away when it has ended.
    Nothing,
    /// Nothing: it does no harm where it is missing.
    Leave,
}

/// What holds a protected path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProtectionMethod {
    /// A mount where there are mounts, else a snapshot.
    Both,
    /// Only a mount.
    Mount,
    /// Only a snapshot.
    Snapshot,
}

/// What is protected for one command.
#[derive(Debug, Default)]
pub(crate) struct ProtectedPaths {
    /// By mounts.
    pub(crate) mounted: Vec<ResolvedProtectedPath>,
    /// By a snapshot, where there are no mounts.
    pub(crate) snapshotted: Vec<ResolvedProtectedPath>,
    /// Repository directories, each after the writable directory that it is in.
    pub(crate) repositories: Vec<(PathBuf, PathBuf)>,
    /// The repositories that were found below the workspace.
    pub(crate) nested: Arc<NestedRepositories>,
}

/// What is protected in the writable directories `roots`, of which the first is the workspace.
pub(crate) fn find_protected_paths(
    (workspace, roots): (&Path, &[PathBuf]),
    profile: &SandboxProfile,
    home: &Path,
) -> ProtectedPaths {
    let held = if profile.long_lived { HeldNames::All } else { HeldNames::Common };
    let own = git_directory::linked_worktree_directory(workspace);
    let around = GitSettingsSources { home, own: own.as_deref() };
    let mut inside = ProtectedRepositories::default();
    let mut below = Arc::default();
    for root in roots {
        // A repository directory that was opened for commits is protected as one, not as a worktree.
        if git_directory::is_repository(root) && root != workspace {
            inside.add(root, Some(workspace), around);
            continue;
        }
        let names = PROTECTED_NAMES.iter().map(|name| request(root.join(name), missing(name, held)));
        inside.requests.extend(names);
        add_repository(root, around, &mut inside);
        add_bare_repository(root, around, &mut inside);
        for (directory, settings) in OTHER_REPOSITORIES {
            let directory = root.join(directory);
            let (path, missing) = match directory.is_dir() {
                true => (directory.join(settings), MissingPathAction::File("")),
                false => (directory, MissingPathAction::Nothing),
            };
            inside.requests.push(request(path, missing));
        }
        let nested = NestedRepositories::find_below(root);
        nested
            .repositories
            .iter()
            .take(MAXIMUM_NESTED)
            .for_each(|nested| add_repository(nested, around, &mut inside));
        let names = nested.protected.iter().take(MAXIMUM_BELOW);
        inside.requests.extend(names.map(|path| request(path.clone(), MissingPathAction::Leave)));
        if root == workspace {
            below = nested;
        }
    }
    inside
        .requests
        .extend(profile.protected.iter().map(|path| request(path.clone(), MissingPathAction::Leave)));
    inside.requests.sort();
    let mut search = ProtectedPathSearch::new(roots);
    inside.requests.iter().for_each(|wanted| search.add(wanted));
    let all = search.found;
    let repositories =
        inside.repositories.iter().filter_map(|path| path.canonicalize().ok()).collect::<BTreeSet<_>>();
    let repositories =
        repositories.into_iter().filter_map(|path| Some((innermost_root(&path, roots)?.clone(), path)));
    let by = |other: ProtectionMethod| {
        all.iter().filter(move |protected| protected.method != other).cloned().collect()
    };
    ProtectedPaths {
        mounted: by(ProtectionMethod::Snapshot),
        snapshotted: by(ProtectionMethod::Mount),
        repositories: repositories.collect(),
        nested: below,
    }
}

/// The places that the settings of a worktree's repository and of the user lead git to, without links.
pub(crate) fn settings_targets(worktree: &Path, home: &Path) -> Vec<PathBuf> {
    let own = git_directory::linked_worktree_directory(worktree);
    let mut inside = ProtectedRepositories::default();
    add_repository(worktree, GitSettingsSources { home, own: own.as_deref() }, &mut inside);
    // The settings of the user count where there is no repository of the worktree's own, too.
    inside.requests.extend(git_directory::paths_named_by_settings(
        &worktree.join(".git"),
        Some(worktree),
        home,
    ));
    if let Some(elsewhere) = git_directory::external_repository(worktree) {
        inside.add(&elsewhere, Some(worktree), GitSettingsSources { home, own: own.as_deref() });
    }
    let roots = [worktree.to_owned()];
    let mut search = ProtectedPathSearch::new(&roots);
    inside.requests.iter().for_each(|wanted| search.add(wanted));
    search.found.into_iter().map(|protected| protected.path).collect()
}

/// What holds a protected name at the top of a workspace.
fn missing(name: &str, held: HeldNames) -> MissingPathAction {
    if held == HeldNames::All || PROTECTED_NAMES[..COMMON_NAMES].contains(&name) {
        MissingPathAction::Directory
    } else {
        MissingPathAction::Nothing
    }
}

fn request(path: PathBuf, missing: MissingPathAction) -> ProtectionRequest {
    ProtectionRequest { path, missing_path_action: missing, method: ProtectionMethod::Both }
}

/// The `.git` of one worktree and what it leads to.
fn add_repository(worktree: &Path, around: GitSettingsSources<'_>, inside: &mut ProtectedRepositories) {
    let marker = worktree.join(".git");
    let Ok(metadata) = fs::metadata(&marker) else {
        return inside.requests.push(request(marker, MissingPathAction::Directory));
    };
    // A pointer elsewhere, or a directory that is no repository, such as a placeholder.
    if !metadata.is_dir() || !git_directory::is_repository(&marker) {
        if let Some(elsewhere) = git_directory::git_file_target(worktree)
            && !inside.repositories.contains(&elsewhere)
        {
            inside.add(&elsewhere, Some(worktree), around);
        }
        return inside.requests.push(request(marker, MissingPathAction::Leave));
    }
    inside.add(&marker, Some(worktree), around);
    if fs::symlink_metadata(&marker).is_ok_and(|metadata| metadata.is_symlink()) {
        inside.requests.push(request(marker, MissingPathAction::Leave));
    }
}

/// Where no repository is in a directory, git may take the directory itself for one.
fn add_bare_repository(root: &Path, around: GitSettingsSources<'_>, inside: &mut ProtectedRepositories) {
    let marker = root.join(".git");
    if marker.is_file() || git_directory::is_repository(&marker) {
        return;
    }
    let head = root.join("HEAD");
    if head.symlink_metadata().is_ok() {
        return inside.add(root, None, around);
    }
    inside.requests.push(request(head, MissingPathAction::Nothing));
}

/// Finds out where wanted paths are, in one look.
struct ProtectedPathSearch<'a> {
    roots: &'a [PathBuf],
    found: BTreeSet<ResolvedProtectedPath>,
    /// Directories without links, or why they have no such path: most wanted paths are in the same few.
    resolved: HashMap<PathBuf, Result<PathBuf, ErrorKind>>,
}

impl<'a> ProtectedPathSearch<'a> {
    fn new(roots: &'a [PathBuf]) -> ProtectedPathSearch<'a> {
        ProtectedPathSearch { roots, found: BTreeSet::new(), resolved: HashMap::new() }
    }

    /// Adds a path, and where it is a link also what that leads to, if these are in a writable directory. Of a
    /// path in a directory that does not exist, the outermost part that does not is added.
    fn add(&mut self, wanted: &ProtectionRequest) {
        let (path, mut missing) = (normalize(&wanted.path), wanted.missing_path_action);
        let mut place = path.as_path();
        let (parent, name) = loop {
            let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return };
            match self.resolve(parent) {
                Ok(parent) => break (parent, name),
                Err(ErrorKind::NotFound) if missing != MissingPathAction::Leave => {
                    (place, missing) = (place.parent().unwrap_or(place), MissingPathAction::Directory);
                }
                Err(_) => return,
            }
        };
        // One that is resolved to itself goes through no links.
        if place.parent() != Some(&parent) {
            self.add_links_above(place, wanted.method);
        }
        let path = parent.join(name);
        let Some(root) = innermost_root(&parent, self.roots) else {
            // What lies outside may be a link into one of them.
            let target = path.canonicalize().ok().filter(|target| *target != path);
            if let Some(path) = target.filter(|target| innermost_root(target, self.roots).is_some()) {
                self.add(&ProtectionRequest {
                    path,
                    missing_path_action: MissingPathAction::Leave,
                    method: wanted.method,
                });
            }
            return;
        };
        let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
        if is_link {
            // A link that leads nowhere yet is as good as the place that it leads to.
            let target = path.canonicalize().ok();
            let leads = || fs::read_link(&path).ok().map(|target| parent.join(target));
            let missing = if target.is_some() { MissingPathAction::Leave } else { missing };
            if let Some(path) = target.or_else(leads).filter(|target| *target != path) {
                let target = ProtectionRequest { path, missing_path_action: missing, method: wanted.method };
                let is_again = fs::symlink_metadata(&target.path).is_ok_and(|found| found.is_symlink());
                if !is_again {
                    self.add(&target);
                }
            }
        }
        self.found.insert(ResolvedProtectedPath {
            path,
            root: root.clone(),
            if_missing: missing,
            method: wanted.method,
        });
    }

    /// Adds the links that a path goes through: another link in the place of one would lead git elsewhere.
    fn add_links_above(&mut self, path: &Path, by: ProtectionMethod) {
        for link in path.ancestors().skip(1) {
            let is_link = fs::symlink_metadata(link).is_ok_and(|metadata| metadata.is_symlink());
            let (true, Some(parent), Some(name)) = (is_link, link.parent(), link.file_name()) else {
                continue;
            };
            let Ok(parent) = self.resolve(parent) else { continue };
            let Some(root) = innermost_root(&parent, self.roots) else { continue };
            let (path, missing) = (parent.join(name), MissingPathAction::Leave);
            self.found.insert(ResolvedProtectedPath {
                path,
                root: root.clone(),
                if_missing: missing,
                method: by,
            });
        }
    }

    fn resolve(&mut self, directory: &Path) -> Result<PathBuf, ErrorKind> {
        if let Some(known) = self.resolved.get(directory) {
            return known.clone();
        }
        let real = directory.canonicalize().map_err(|error| error.kind());
        self.resolved.insert(directory.to_owned(), real.clone());
        real
    }
}

/// The innermost one, so that what is between it and the path is held in place.
fn innermost_root<'a>(path: &Path, roots: &'a [PathBuf]) -> Option<&'a PathBuf> {
    roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len())
}

/// A path without `..` after names that do not exist, which cannot be resolved.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !normal.exists() => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
