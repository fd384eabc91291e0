//! Which paths of a workspace nobody writes for a model, whatever does the writing: file tools, merges, undo,
//! reviews. The sandbox holds the same names at the top of a workspace for programs.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::protected::PROTECTED_NAMES;

/// Git's own directory, which has rules of its own in the sandbox.
const GIT: &str = ".git";

/// The protected name that a relative path has in it, at any depth and in capitals too; or the protected name at the
/// top of the workspace that is a link to a place which the path is in. None where it may be written.
pub fn protected_name(workspace: &Path, relative: &Path) -> Option<&'static str> {
    let by_name = relative.components().find_map(|part| protected_component(part.as_os_str()));
    by_name.or_else(|| protected_target(workspace, &workspace.join(relative)))
}

/// The protected name that this is, in capitals too.
pub fn protected_component(name: &OsStr) -> Option<&'static str> {
    let mut names = PROTECTED_NAMES.iter().copied().chain([GIT]);
    names.find(|protected| name.eq_ignore_ascii_case(protected))
}

/// The protected name at the top of a workspace that is a link to a place which this path is in.
pub fn protected_target(workspace: &Path, path: &Path) -> Option<&'static str> {
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

    #[test]
    fn names_count_at_any_depth_and_behind_links() {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        let name = |path: &str| protected_name(&root, Path::new(path));
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
}
