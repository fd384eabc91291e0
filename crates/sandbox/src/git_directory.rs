//! Where the repository of a workspace really is, and which of its files let git run code.
//!
//! A workspace may say that its repository is elsewhere, and a sandbox must write there for a commit.
//! What a workspace says is not to be trusted, so the place is opened only when it says by itself that
//! it belongs to the workspace; a sandbox cannot make it say so.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git_config::GitConfig;
use crate::protected::Missing;

/// How deep repositories of submodules are looked for.
const MODULE_DEPTH: usize = 4;
/// How many repositories inside one are protected.
const MAXIMUM_INSIDE: usize = 256;
/// How much of a pointer file is read.
const POINTER_BYTES: u64 = 4096;

/// The repository directory outside of `workspace` that its `.git` file leads to, if it agrees. For a
/// linked worktree that is the directory that it shares with the others.
pub(crate) fn outside(workspace: &Path) -> Option<PathBuf> {
    let directory = follow(&workspace.join(".git"), "gitdir:")?;
    let marker = workspace.join(".git");
    if let Some(shared) = follow(&directory.join("commondir"), "") {
        let agrees = follow(&directory.join("gitdir"), "").is_some_and(|back| back == marker);
        let inside = directory.parent() == Some(shared.join("worktrees").as_path());
        return (agrees && inside && is_repository(&shared)).then_some(shared);
    }
    let config = GitConfig::read(&directory.join("config"));
    let worktree = config.values("core.worktree").next_back()?;
    let agrees = directory.join(worktree).canonicalize().is_ok_and(|worktree| worktree == workspace);
    let is_module = directory.components().any(|part| part.as_os_str() == "modules");
    (agrees && is_module && is_repository(&directory)).then_some(directory)
}

/// What must stay as it is in a repository directory, and what to put where it is missing.
pub(crate) fn protected(directory: &Path) -> Vec<(PathBuf, Missing)> {
    let mut found = Vec::new();
    one(directory, &mut found);
    let mut waiting = vec![(directory.join("modules"), 0)];
    while let Some((place, depth)) = waiting.pop() {
        for child in directories(&place) {
            if is_repository(&child) {
                one(&child, &mut found);
                waiting.push((child.join("modules"), depth + 1));
            } else if depth < MODULE_DEPTH {
                waiting.push((child, depth + 1));
            }
        }
        if found.len() > MAXIMUM_INSIDE * 4 {
            break;
        }
    }
    found
}

/// Files that settings lead to and that git obeys: hooks kept in the workspace, included settings.
pub(crate) fn obeyed(directory: &Path, worktree: &Path) -> Vec<PathBuf> {
    let config = GitConfig::read(&directory.join("config"));
    let hooks = config.values("core.hookspath").map(|path| worktree.join(path));
    let included =
        config.values("include.path").chain(config.values("includeif.path")).map(|path| directory.join(path));
    hooks.chain(included).collect()
}

/// Whether git would take a directory for a repository.
pub(crate) fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").exists() && directory.join("objects").is_dir()
}

fn one(directory: &Path, found: &mut Vec<(PathBuf, Missing)>) {
    let config = directory.join("config");
    let per_worktree = GitConfig::read(&config).values("extensions.worktreeconfig").next_back().is_some();
    found.push((config, Missing::File("")));
    found.push((directory.join("hooks"), Missing::Directory));
    // It would send git elsewhere for its settings. It cannot be empty; a dot means right here.
    found.push((directory.join("commondir"), Missing::File(".\n")));
    let settings = |directory: &Path| {
        let path = directory.join("config.worktree");
        (per_worktree || path.exists()).then_some((path, Missing::File("")))
    };
    found.extend(settings(directory));
    for worktree in directories(&directory.join("worktrees")) {
        found.push((worktree.join("commondir"), Missing::Leave));
        found.push((worktree.join("gitdir"), Missing::Leave));
        found.extend(settings(&worktree));
    }
}

/// Where a pointer file leads, resolved. None for anything but a small regular file.
pub(crate) fn follow(file: &Path, prefix: &str) -> Option<PathBuf> {
    let metadata = fs::symlink_metadata(file).ok()?;
    (metadata.is_file() && metadata.len() <= POINTER_BYTES).then_some(())?;
    let text = fs::read_to_string(file).ok()?;
    let target = text.strip_prefix(prefix)?.trim();
    let target = file.parent()?.join(target);
    // The last part may be the very `.git` file that leads here, so only its directory is resolved.
    match target.file_name() {
        Some(name) => Some(target.parent()?.canonicalize().ok()?.join(name)),
        None => target.canonicalize().ok(),
    }
}

fn directories(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .take(MAXIMUM_INSIDE)
        .collect()
}
