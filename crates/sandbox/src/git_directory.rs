//! Where the repository of a workspace really is, and which of its files let git run code.
//!
//! A workspace may say that its repository is elsewhere, and a sandbox must write there for a commit.
//! What a workspace says is not to be trusted, so the place is opened only when it says by itself that
//! it belongs to the workspace; a sandbox cannot make it say so.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::{GitConfig, read_unlinked};

use crate::embedded_repositories::HARMLESS;
use crate::protected_paths::{MissingPathAction, ProtectionMethod, ProtectionRequest};

/// How deep repositories of submodules are looked for.
const MODULE_DEPTH: usize = 4;
/// How many repositories inside one are protected.
const MAXIMUM_INSIDE: usize = 256;
/// How many files of settings are read for one repository.
const MAXIMUM_SETTINGS: usize = 32;
/// How many files that settings name are protected for one repository.
const MAXIMUM_OBEYED: usize = 64;
/// How much of a pointer file is read.
const POINTER_BYTES: u64 = 4096;

/// The repository directory outside of `workspace` that its `.git` file leads to, if it agrees. For a
/// linked worktree that is the directory that it shares with the others.
pub(crate) fn external_repository(workspace: &Path) -> Option<PathBuf> {
    let directory = read_pointer_file(&workspace.join(".git"), "gitdir:")?;
    let marker = workspace.join(".git");
    if let Some(shared) = read_pointer_file(&directory.join("commondir"), "") {
        let agrees = read_pointer_file(&directory.join("gitdir"), "").is_some_and(|back| back == marker);
        let inside = directory.parent() == Some(shared.join("worktrees").as_path());
        return (agrees && inside && is_repository(&shared)).then_some(shared);
    }
    let config = GitConfig::read(&directory.join("config"));
    let worktree = config.values("core.worktree").next_back()?;
    let agrees = directory.join(worktree).canonicalize().is_ok_and(|worktree| worktree == workspace);
    let is_module = directory.components().any(|part| part.as_os_str() == "modules");
    (agrees && is_module && is_repository(&directory)).then_some(directory)
}

/// The repository directory that belongs to a worktree alone, where that is linked to another one.
pub(crate) fn linked_worktree_directory(workspace: &Path) -> Option<PathBuf> {
    read_pointer_file(&workspace.join(".git"), "gitdir:")
        .filter(|directory| directory.join("commondir").exists())
}

/// The repository directory that a worktree's `.git` file leads to, wherever it is: the one whose settings and hooks git
/// obeys, which for a linked worktree is the one that it shares with the others.
pub(crate) fn git_file_target(worktree: &Path) -> Option<PathBuf> {
    let directory = read_pointer_file(&worktree.join(".git"), "gitdir:")?;
    let shared = read_pointer_file(&directory.join("commondir"), "");
    Some(shared.unwrap_or(directory)).filter(|directory| is_repository(directory))
}

/// What has to do with repository directories and must stay as it is.
#[derive(Debug, Default)]
pub(crate) struct ProtectedRepositories {
    pub(crate) requests: Vec<ProtectionRequest>,
    /// Repository directories, whose state is put right when a command has ended.
    pub(crate) repositories: Vec<PathBuf>,
}

/// Whose settings a repository obeys, besides its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GitSettingsSources<'a> {
    /// The user's home directory.
    pub(crate) home: &'a Path,
    /// The directory of the linked worktree that is being worked in.
    pub(crate) own: Option<&'a Path>,
}

impl ProtectedRepositories {
    /// Adds a repository directory and those of its submodules.
    pub(crate) fn add(&mut self, directory: &Path, worktree: Option<&Path>, around: GitSettingsSources<'_>) {
        self.add_one(directory, worktree, around);
        let modules = directory.join("modules");
        let before = self.requests.len();
        let mut waiting = vec![(modules.clone(), 0)];
        while let Some((place, depth)) = waiting.pop() {
            let children = directories(&place);
            let are_too_many = children.is_none() || self.requests.len() - before > MAXIMUM_INSIDE * 4;
            if are_too_many {
                // Each cannot be held by itself, so none of them changes.
                self.requests.truncate(before);
                return self.request(modules, MissingPathAction::Leave, ProtectionMethod::Both);
            }
            for child in children.unwrap_or_default() {
                if is_repository(&child) {
                    let config = GitConfig::read(&child.join("config"));
                    let worktree = config.values("core.worktree").next_back().map(|path| child.join(path));
                    let worktree = worktree.and_then(|path| path.canonicalize().ok());
                    self.add_one(&child, worktree.as_deref(), around);
                    waiting.push((child.join("modules"), depth + 1));
                } else if depth < MODULE_DEPTH {
                    waiting.push((child, depth + 1));
                }
            }
        }
    }

    fn add_one(&mut self, directory: &Path, worktree: Option<&Path>, around: GitSettingsSources<'_>) {
        let config = directory.join("config");
        let per_worktree = GitConfig::read(&config).values("extensions.worktreeconfig").next_back().is_some();
        self.request(config, MissingPathAction::File(""), ProtectionMethod::Both);
        self.request(directory.join("hooks"), MissingPathAction::Directory, ProtectionMethod::Both);
        self.requests.extend(links_in(&directory.join("hooks")));
        // It would send git elsewhere for its settings. It cannot be empty; a dot means right here.
        self.request(directory.join("commondir"), MissingPathAction::File(".\n"), ProtectionMethod::Both);
        self.worktree_settings(directory, per_worktree, ProtectionMethod::Both);
        self.repositories.push(directory.to_owned());
        self.worktrees(&directory.join("worktrees"), per_worktree, around.own);
        self.requests.extend(paths_named_by_settings(directory, worktree, around.home));
    }

    /// What lies there leads each linked worktree to its repository. Mounts hold it as a whole; a snapshot of
    /// it would undo what other sessions do in their worktrees meanwhile, so that keeps what leads git.
    fn worktrees(&mut self, place: &Path, per_worktree: bool, own: Option<&Path>) {
        let own = own.filter(|own| own.parent() == Some(place));
        let worktrees = directories(place);
        // Of too many none changes, not even one's own.
        if own.is_none() || worktrees.is_none() {
            self.request(place.to_owned(), MissingPathAction::Directory, ProtectionMethod::Mount);
        }
        for worktree in worktrees.unwrap_or_default() {
            let is_own = own == Some(&*worktree);
            if own.is_some() && !is_own {
                self.request(worktree.clone(), MissingPathAction::Leave, ProtectionMethod::Mount);
            }
            let by = if is_own { ProtectionMethod::Both } else { ProtectionMethod::Snapshot };
            self.request(worktree.join("commondir"), MissingPathAction::Leave, by);
            self.request(worktree.join("gitdir"), MissingPathAction::Leave, by);
            self.worktree_settings(&worktree, per_worktree, by);
            if is_own {
                self.repositories.push(worktree);
            }
        }
    }

    /// The settings of one worktree. Where they do not count yet, the user's next command may have them count.
    fn worktree_settings(&mut self, directory: &Path, per_worktree: bool, by: ProtectionMethod) {
        let settings = directory.join("config.worktree");
        let missing = if per_worktree || settings.exists() {
            MissingPathAction::File("")
        } else {
            MissingPathAction::Nothing
        };
        self.request(settings, missing, by);
    }

    fn request(&mut self, path: PathBuf, missing: MissingPathAction, by: ProtectionMethod) {
        self.requests.push(ProtectionRequest { path, missing_path_action: missing, method: by });
    }
}

/// Files that settings lead to and that git obeys, whether they exist or not: directories of hooks, and
/// included settings with those that they include. Of programs that settings name, those that exist.
pub(crate) fn paths_named_by_settings(
    directory: &Path,
    worktree: Option<&Path>,
    home: &Path,
) -> Vec<ProtectionRequest> {
    let mut found = Vec::new();
    // The settings of the user count in every repository, and may name a directory of hooks in it.
    let mut waiting = vec![
        directory.join("config"),
        directory.join("config.worktree"),
        home.join(".gitconfig"),
        home.join(".config/git/config"),
        "/etc/gitconfig".into(),
    ];
    // Those of the user may be links into the workspace.
    let users = waiting.iter().filter(|file| !file.starts_with(directory));
    let leave = |path: &PathBuf| ProtectionRequest {
        path: path.clone(),
        missing_path_action: MissingPathAction::Leave,
        method: ProtectionMethod::Both,
    };
    found.extend(users.map(leave));
    let mut next = 0;
    while let Some(file) = waiting.get(next).filter(|_| next < MAXIMUM_SETTINGS).cloned() {
        next += 1;
        let config = GitConfig::read(&file);
        for path in config.values("core.hookspath").filter(|path| !path.is_empty()) {
            let path = expand_setting_path(path, worktree.unwrap_or(directory), home);
            found.extend(links_in(&path));
            found.push(ProtectionRequest {
                path,
                missing_path_action: MissingPathAction::Directory,
                method: ProtectionMethod::Both,
            });
        }
        let words = config.words(names_program);
        for path in words.map(|word| expand_setting_path(&word, worktree.unwrap_or(directory), home)) {
            if found.len() < MAXIMUM_OBEYED && path.is_file() {
                found.push(ProtectionRequest {
                    path,
                    missing_path_action: MissingPathAction::Leave,
                    method: ProtectionMethod::Both,
                });
            }
        }
        let beside = file.parent().unwrap_or(directory);
        let included = config.values("include.path").chain(config.values("includeif.path"));
        for path in
            included.filter(|path| !path.is_empty()).map(|path| expand_setting_path(path, beside, home))
        {
            // It is seen in a worktree while a command runs; such files are usually ignored.
            found.push(ProtectionRequest {
                path: path.clone(),
                missing_path_action: MissingPathAction::File(""),
                method: ProtectionMethod::Both,
            });
            if !waiting.contains(&path) {
                waiting.push(path);
            }
        }
    }
    found
}

/// Whether a setting may name a program that git starts by itself. What an alias runs, the user starts by its name.
fn names_program(setting: &str) -> bool {
    let names_data = ["core.excludesfile", "blame.ignorerevsfile", "commit.template", "mailmap.file"];
    let is_text =
        setting.ends_with(".description") || setting.starts_with("user.") || setting.starts_with("alias.");
    !is_text && !names_data.contains(&setting) && !HARMLESS.contains(&setting)
}

/// The links in a directory of hooks: what they lead to is run as if it lay there.
fn links_in(hooks: &Path) -> impl Iterator<Item = ProtectionRequest> {
    let entries = fs::read_dir(hooks).into_iter().flatten().flatten().take(MAXIMUM_OBEYED);
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.map(|entry| ProtectionRequest {
        path: entry.path(),
        missing_path_action: MissingPathAction::Leave,
        method: ProtectionMethod::Both,
    })
}

/// A path in a setting, as git takes it.
fn expand_setting_path(path: &str, beside: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(inner) => home.join(inner),
        None => beside.join(path),
    }
}

/// Whether git would take a directory for a repository.
pub(crate) fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").exists() && directory.join("objects").is_dir()
}

/// Where a pointer file leads, resolved. None for anything but a small regular file. Read as git reads it: a name need not
/// be UTF-8, and a blank at its end belongs to it.
pub(crate) fn read_pointer_file(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = read_unlinked(file, POINTER_BYTES).ok()?;
    let mut target = text.strip_prefix(prefix.as_bytes())?;
    if !prefix.is_empty() {
        target = target.strip_prefix(b" ").unwrap_or(target);
    }
    while let [rest @ .., b'\n' | b'\r'] = target {
        target = rest;
    }
    let target = file.parent()?.join(OsStr::from_bytes(target));
    // The last part may be the very `.git` file that leads here, so only its directory is resolved.
    match target.file_name() {
        Some(name) => Some(target.parent()?.canonicalize().ok()?.join(name)),
        None => target.canonicalize().ok(),
    }
}

/// The directories in one; none where there are too many.
fn directories(place: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let found: Vec<PathBuf> = directories.map(|entry| entry.path()).take(MAXIMUM_INSIDE + 1).collect();
    (found.len() <= MAXIMUM_INSIDE).then_some(found)
}
