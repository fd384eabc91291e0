//! Repositories inside a workspace whose settings or hooks run programs.
//!
//! A program in the sandbox may make one. The user's own git would run what it names, even from the top of
//! the workspace, where it enters every repository that the index names. Nothing is done about it here but
//! to tell it: a repository is somebody's work. The search is bounded by counts, so one may be missed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ostler_workspace_fs::{GitConfig, RootedTree, visit_git_index};
use rustix::io::Errno;

use crate::git_directory;
use crate::nested_repositories::NestedRepositories;

/// How many repositories are looked at.
const MAXIMUM_REPOSITORIES: usize = 128;
/// How much of an index is read: about 300 thousand files.
const MAXIMUM_INDEX_BYTES: u64 = 32 << 20;
/// How many repositories of one index are looked at.
const MAXIMUM_GITLINKS: usize = 256;
/// The mode of a repository in an index.
const GITLINK: u32 = 0o160_000;
/// How many reasons are given for one.
const MAXIMUM_REASONS: usize = 8;

/// Settings that start nothing. Any other makes a repository suspect: git has very many that name a program,
/// and more with each version.
pub(crate) const HARMLESS: &[&str] = &[
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.worktree",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "remote.url",
    "remote.fetch",
    "remote.pushurl",
    "remote.tagopt",
    "branch.remote",
    "branch.merge",
    "branch.rebase",
    "branch.description",
    "branch.vscode-merge-base",
    "submodule.url",
    "submodule.active",
    "submodule.branch",
    "submodule.ignore",
    "user.name",
    "user.email",
    "init.defaultbranch",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "gc.auto",
    "commit.gpgsign",
    "tag.gpgsign",
    "advice.detachedhead",
    "lfs.repositoryformatversion",
];

/// A repository in which git runs programs that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspectRepository {
    /// Its worktree.
    pub path: PathBuf,
    /// The settings and hooks that are, or may be, programs.
    pub reasons: Vec<String>,
}

/// The repositories of a workspace at one time, and why each of them is suspect.
#[derive(Debug)]
pub(crate) struct EmbeddedRepositories {
    workspace: PathBuf,
    nested: Arc<NestedRepositories>,
    suspect: BTreeMap<PathBuf, BTreeSet<String>>,
    own: Option<OwnSettings>,
}

/// The settings of the workspace's own repository, and what in them is suspect. A mount holds them; but for a moment
/// after somebody outside has replaced them, nothing does.
#[derive(Debug)]
struct OwnSettings {
    text: Vec<u8>,
    mode: u32,
    reasons: BTreeSet<String>,
}

/// Where they are in the workspace.
const OWN_SETTINGS: &str = ".git/config";

impl OwnSettings {
    fn read(workspace: &Path) -> Option<OwnSettings> {
        let tree = RootedTree::open(workspace).ok()?;
        let (text, stat) = tree.read(Path::new(OWN_SETTINGS), GitConfig::MAX_BYTES).ok()?;
        let reasons =
            GitConfig::suspects(&String::from_utf8_lossy(&text), |setting| !HARMLESS.contains(&setting));
        Some(OwnSettings { text, mode: stat.st_mode & 0o777, reasons: reasons.into_iter().collect() })
    }
}

impl EmbeddedRepositories {
    /// Looks at them: at those that were found below the workspace, and at those that an index names. Reads
    /// directories and small files, changes nothing.
    pub(crate) fn scan(workspace: &Path, nested: Arc<NestedRepositories>) -> EmbeddedRepositories {
        let mut armed = BTreeMap::new();
        let mut seen = BTreeSet::from([workspace.to_owned()]);
        let mut waiting: VecDeque<PathBuf> = VecDeque::from([workspace.to_owned()]);
        waiting.extend(nested.repositories.iter().cloned());
        let mut looked = 0;
        while looked < MAXIMUM_REPOSITORIES
            && let Some(worktree) = waiting.pop_front()
        {
            looked += 1;
            let Some(directory) = repository_directory(&worktree) else { continue };
            // The settings of the workspace itself are protected.
            let mut reasons =
                if worktree == workspace { BTreeSet::new() } else { reasons(&directory, workspace) };
            seen.insert(worktree.clone());
            let (links, unread) = gitlinks(&directory);
            reasons.extend(unread.map(str::to_owned));
            armed.insert(worktree.clone(), reasons);
            for link in links {
                let inside = link.components().all(|part| matches!(part, Component::Normal(_)));
                let path = worktree.join(link);
                if inside && seen.insert(path.clone()) {
                    waiting.push_back(path);
                }
            }
        }
        if !waiting.is_empty() || nested.bare.len() > MAXIMUM_REPOSITORIES {
            let reason =
                format!("more than {MAXIMUM_REPOSITORIES} repositories, which are not all looked at");
            armed.entry(workspace.to_owned()).or_default().insert(reason);
        }
        for directory in nested.bare.iter().take(MAXIMUM_REPOSITORIES) {
            armed.entry(directory.clone()).or_insert_with(|| reasons(directory, workspace));
        }
        armed.retain(|_, reasons: &mut BTreeSet<String>| !reasons.is_empty());
        EmbeddedRepositories {
            workspace: workspace.to_owned(),
            nested,
            suspect: armed,
            own: OwnSettings::read(workspace),
        }
    }

    /// Those that have become suspect, or more so, since.
    pub(crate) fn newly_suspect(&self) -> Vec<SuspectRepository> {
        let now =
            EmbeddedRepositories::scan(&self.workspace, Arc::new(self.nested.find_again(&self.workspace)));
        let news = now.suspect.into_iter().filter_map(|(path, reasons)| {
            let known = self.suspect.get(&path);
            let is_new = |reason: &String| known.is_none_or(|known| !known.contains(reason));
            let reasons: Vec<String> = reasons.into_iter().filter(is_new).take(MAXIMUM_REASONS).collect();
            (!reasons.is_empty()).then_some(SuspectRepository { path, reasons })
        });
        news.collect()
    }
}

impl EmbeddedRepositories {
    /// Takes out of the settings of the workspace's own repository what was not there and may start a program. For a command
    /// that could have written to them.
    pub(crate) fn restore_own_settings(&self) -> Option<PathBuf> {
        let before = self.own.as_ref()?;
        let now = OwnSettings::read(&self.workspace);
        if now.as_ref().is_some_and(|now| now.reasons.is_subset(&before.reasons)) {
            return None;
        }
        let known = GitConfig::parse(&String::from_utf8_lossy(&before.text));
        let text = now.and_then(|now| String::from_utf8(now.text).ok());
        let disarmed = text
            .and_then(|text| GitConfig::without_new(&text, &known, |setting| !HARMLESS.contains(&setting)));
        let tree = RootedTree::open(&self.workspace).ok()?;
        let text = disarmed.map_or_else(|| before.text.clone(), String::into_bytes);
        // Where it cannot be put back, it cannot be read either.
        let _ = tree.put_file(Path::new(OWN_SETTINGS), &text, before.mode);
        Some(self.workspace.join(OWN_SETTINGS))
    }
}

/// The directory that a worktree's `.git` is or leads to.
fn repository_directory(worktree: &Path) -> Option<PathBuf> {
    let marker = worktree.join(".git");
    let directory =
        if marker.is_dir() { marker } else { git_directory::read_pointer_file(&marker, "gitdir:")? };
    // A worktree of another one keeps no objects of its own.
    (directory.join("HEAD").exists() || directory.join("config").exists()).then_some(directory)
}

fn reasons(directory: &Path, workspace: &Path) -> BTreeSet<String> {
    let Some(shared) = common_directory(directory) else {
        return BTreeSet::from(["settings elsewhere (commondir)".to_owned()]);
    };
    let mut reasons = BTreeSet::new();
    let mut places = vec![directory.to_owned()];
    // A worktree of the workspace's own repository has its settings, which are protected.
    let own = repository_directory(workspace).and_then(|own| self::common_directory(&own));
    if Some(&shared) != own.as_ref() && directory.canonicalize().is_ok_and(|directory| directory != shared) {
        places.push(shared);
    }
    let tree = RootedTree::open(workspace);
    for place in places {
        let place = place.canonicalize().ok();
        let inner = place.as_deref().and_then(|place| place.strip_prefix(workspace).ok());
        match (&tree, inner) {
            (Ok(tree), Some(inner)) => reasons_inside(tree, inner, &mut reasons),
            _ => drop(reasons.insert("settings outside the workspace (gitdir)".to_owned())),
        }
    }
    reasons
}

/// What is told of a repository directory in the workspace. A program that made it may have put links there to
/// files that it cannot read itself, so none is followed: the model is told what is found.
fn reasons_inside(tree: &RootedTree, directory: &Path, reasons: &mut BTreeSet<String>) {
    for name in ["config", "config.worktree"] {
        match tree.read(&directory.join(name), GitConfig::MAX_BYTES) {
            Ok((text, _)) => {
                let text = String::from_utf8_lossy(&text);
                reasons.extend(GitConfig::suspects(&text, |setting| !HARMLESS.contains(&setting)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => drop(reasons.insert("settings that cannot be read".to_owned())),
        }
    }
    match tree.names(&directory.join("hooks")) {
        Ok(names) => {
            let names = names.iter().map(|name| name.to_string_lossy());
            let active = names.filter(|name| !name.ends_with(".sample")).take(MAXIMUM_REASONS);
            reasons.extend(active.map(|name| format!("hooks/{name}")));
        }
        Err(Errno::NOENT) => {}
        Err(_) => drop(reasons.insert("hooks that cannot be read".to_owned())),
    }
}

/// The directory that holds the settings and hooks of a repository directory, resolved.
fn common_directory(directory: &Path) -> Option<PathBuf> {
    let elsewhere = directory.join("commondir");
    let found = if elsewhere.exists() {
        git_directory::read_pointer_file(&elsewhere, "")?
    } else {
        directory.to_owned()
    };
    found.canonicalize().ok()
}

/// The paths of the repositories that the index in a repository directory names, relative to its worktree, and why
/// some may be missing. Git enters those for every `git status` at the top.
fn gitlinks(directory: &Path) -> (Vec<PathBuf>, Option<&'static str>) {
    let (mut found, mut more) = (Vec::new(), false);
    let read = visit_git_index(directory, MAXIMUM_INDEX_BYTES, |path, mode| {
        if mode == GITLINK && found.len() < MAXIMUM_GITLINKS {
            found.push(path.to_owned());
        } else {
            more |= mode == GITLINK;
        }
    });
    let unread = match read {
        Err(_) => Some("an index that cannot be read, so the repositories in it are not known"),
        Ok(()) if more => Some("an index with more repositories than are looked at"),
        Ok(()) => None,
    };
    (found, unread)
}
