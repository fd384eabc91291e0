//! Which paths of a workspace nobody writes for a model, whatever does the writing: file tools, merges, undo,
//! reviews. The sandbox holds the same names at the top of a workspace for programs.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use ostler_workspace_fs::is_git_name;

use crate::protected_paths::{OTHER_REPOSITORIES, PROTECTED_NAMES, settings_targets};

/// Git's own directory, which has rules of its own in the sandbox.
const GIT: &str = ".git";
/// What a path is called that git's settings name.
const GIT_SETTINGS: &str = "git's settings";
/// What a path is called that makes a git repository. It may be removed.
pub const GIT_REPOSITORY: &str = "a git repository";
/// By this file git knows a directory for a repository, whatever the directory is called.
const HEAD: &str = "HEAD";
/// What of such a directory git obeys.
const IN_REPOSITORY: [&str; 9] =
    ["config", "config.worktree", "commondir", "hooks", "info", "modules", "objects", "refs", "worktrees"];

/// Why a relative path must not be written, by a name for it: the protected name that it has in it, at any depth and in
/// capitals too; the protected name at the top of the workspace that is a link to a place which the path is in; that
/// git's settings name it; or that it makes a git repository. None where it may be written.
pub fn protected_name(workspace: &Path, relative: &Path, home: &Path) -> Option<&'static str> {
    let by_name = relative.components().find_map(|part| protected_component(part.as_os_str()));
    by_name.or_else(|| protected_place(workspace, &workspace.join(relative), home))
}

/// The protected name that this is, in capitals too, and as file systems of other machines read it.
pub fn protected_component(name: &OsStr) -> Option<&'static str> {
    if is_git_name(name) {
        return Some(GIT);
    }
    let others = OTHER_REPOSITORIES.iter().map(|(directory, _)| *directory);
    PROTECTED_NAMES.iter().copied().chain(others).find(|protected| name.eq_ignore_ascii_case(protected))
}

/// The same for an absolute path without links, by where it is and not by its names.
pub fn protected_place(workspace: &Path, path: &Path, home: &Path) -> Option<&'static str> {
    protected_target(workspace, path)
        .or_else(|| makes_repository(workspace, path).then_some(GIT_REPOSITORY))
        .or_else(|| is_named_by_git_settings(workspace, path, home).then_some(GIT_SETTINGS))
}

/// Returns true where git would take a directory above the path for a repository, or take what is written for its
/// settings. Git looks for `HEAD` first, so that without a new one no directory becomes a repository.
fn makes_repository(workspace: &Path, path: &Path) -> bool {
    if path.file_name().is_some_and(|name| name == HEAD) {
        return true;
    }
    directories_above(workspace, path).any(|directory| {
        let first = path.strip_prefix(directory).ok().and_then(|inner| inner.components().next());
        let is_inner = |part: Component<'_>| {
            IN_REPOSITORY.iter().any(|inner| part.as_os_str().eq_ignore_ascii_case(inner))
        };
        first.is_some_and(is_inner) && directory.join(HEAD).symlink_metadata().is_ok()
    })
}

/// Returns true where the settings of a repository that the path is in, or of the user, lead git to the path.
fn is_named_by_git_settings(workspace: &Path, path: &Path, home: &Path) -> bool {
    let is_worktree = |directory: &&Path| directory.join(GIT).symlink_metadata().is_ok();
    let inside = directories_above(workspace, path).filter(|directory| *directory != workspace);
    // The workspace may be a directory of a larger worktree.
    let around = workspace.ancestors().skip(1).find(is_worktree);
    let worktrees = inside.filter(is_worktree).chain([workspace]).chain(around);
    worktrees.flat_map(|directory| settings_targets(directory, home)).any(|place| path.starts_with(place))
}

/// The directories from the one that a path is in up to the workspace.
fn directories_above<'a>(workspace: &'a Path, path: &'a Path) -> impl Iterator<Item = &'a Path> {
    path.ancestors().skip(1).take_while(move |directory| directory.starts_with(workspace))
}

/// The protected name at the top of a workspace that is a link to a place which this path is in.
fn protected_target(workspace: &Path, path: &Path) -> Option<&'static str> {
    let mut names = PROTECTED_NAMES.iter().copied().chain([GIT]);
    names.find(|name| {
        let place = workspace.join(name);
        let is_link = place.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        is_link
            && (leads_to(&place, path) || place.canonicalize().is_ok_and(|target| path.starts_with(target)))
    })
}

/// Whether a link names a place that a path is in, also where nothing is there yet.
fn leads_to(link: &Path, path: &Path) -> bool {
    let (Ok(target), Some(parent)) = (std::fs::read_link(link), link.parent()) else { return false };
    let mut named = PathBuf::new();
    for part in parent.join(target).components() {
        match part {
            Component::ParentDir => _ = named.pop(),
            Component::CurDir => {}
            part => named.push(part),
        }
    }
    path.starts_with(named)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::protected_name;

    const HOME: &str = "/nonexistent";

    #[test]
    fn names_count_at_any_depth_and_behind_links() {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        let name = |path: &str| protected_name(&root, Path::new(path), Path::new(HOME));
        assert_eq!(name("src/main.rs"), None);
        assert_eq!(name(".mcp.json"), Some(".mcp.json"));
        assert_eq!(name("sub/.ENVRC"), Some(".envrc"));
        assert_eq!(name("a/.GIT/config"), Some(".git"));
        std::fs::create_dir(root.join("conf")).unwrap();
        symlink("conf", root.join(".claude")).unwrap();
        assert_eq!(name("conf/settings.json"), Some(".claude"));
        assert_eq!(name("config/settings.json"), None);
        symlink("./x/../not there/yet", root.join(".zed")).unwrap();
        assert_eq!(name("not there/yet/settings.json"), Some(".zed"));
    }

    #[test]
    fn what_other_file_systems_take_for_git_counts_as_git() {
        let name = |path: &str| protected_name(Path::new("/w"), Path::new(path), Path::new(HOME));
        for path in [
            ".Git/x",
            "git~1/config",
            "GIT~2",
            ".git./config",
            ".git /x",
            ".g\u{200c}it/config",
            ".git::$DATA",
        ] {
            assert_eq!(name(path), Some(".git"), "{path}");
        }
        for path in [".hg/hgrc", "sub/.jj/repo/config.toml"] {
            assert!(name(path).is_some(), "{path}");
        }
        for path in ["git/x", ".github/workflows/x.yml", ".gitignore", "git~x", "legit.rs"] {
            assert_eq!(name(path), None, "{path}");
        }
    }

    #[test]
    fn no_directory_becomes_a_repository() {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        let name = |path: &str| protected_name(&root, Path::new(path), Path::new(HOME));
        assert_eq!(name("docs/config"), None);
        assert_eq!(name("docs/HEAD"), Some("a git repository"));
        assert_eq!(name("bin/head"), None);
        std::fs::create_dir(root.join("docs")).unwrap();
        std::fs::write(root.join("docs/HEAD"), "").unwrap();
        for path in ["docs/config", "docs/objects/info/packs", "docs/refs/heads/x", "docs/hooks/post-commit"]
        {
            assert_eq!(name(path), Some("a git repository"), "{path}");
        }
        assert_eq!(name("docs/readme.md"), None);
    }

    #[test]
    fn what_settings_of_git_name_is_written_by_nobody() {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        let home = root.join("home");
        for directory in [".git/objects", ".git/refs", "tools", "real", "home"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        symlink("real", root.join("linked")).unwrap();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join("tools/commit-hook"), "").unwrap();
        symlink("../../tools/commit-hook", root.join(".git/hooks/pre-commit")).unwrap();
        symlink(root.join("dotfiles.cfg"), home.join(".gitconfig.local")).unwrap();
        std::fs::write(root.join("dotfiles.cfg"), "").unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(root.join("tools/monitor"), "").unwrap();
        std::fs::write(root.join("tools/clean.py"), "").unwrap();
        std::fs::write(root.join("tools/shown.sh"), "").unwrap();
        std::fs::write(root.join("manage.py"), "").unwrap();
        let settings = "[include]\npath = ../local.cfg\n[core]\nhooksPath = linked/hooks\nfsmonitor = tools/monitor\n\
                        [filter \"x\"]\nclean = \"python3 tools/clean.py %f\"\n\
                        [diff]\nexternal = \"$PWD\"/tools/shown.sh\n[alias]\nt = !python3 manage.py test\n";
        std::fs::write(root.join(".git/config"), settings).unwrap();
        std::fs::write(
            home.join(".gitconfig"),
            "[core]\nhooksPath = own-hooks\n[include]\npath = ~/.gitconfig.local\n",
        )
        .unwrap();
        let name = |path: &str| protected_name(&root, Path::new(path), &home);
        for path in [
            "local.cfg",
            "real/hooks/post-commit",
            "linked/hooks/post-commit",
            "own-hooks/pre-push",
            "tools/monitor",
            "tools/clean.py",
            "tools/shown.sh",
            "tools/commit-hook",
            "dotfiles.cfg",
        ] {
            assert_eq!(name(path), Some("git's settings"), "{path}");
        }
        for path in ["tools/other.py", "src/main.rs", "real/other", "manage.py"] {
            assert_eq!(name(path), None, "{path}");
        }
    }
}
