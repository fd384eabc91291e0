//! Where paths lead. Unlike `canonicalize` this never goes through `/proc`, whose links lead elsewhere for each process:
//! what they say to the daemon says nothing about a command.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;
/// Where files are made by the kernel as somebody looks.
const VIRTUAL: &[&str] = &["/proc", "/dev", "/sys"];

/// An absolute path without links; of one that does not exist, as far as it does, followed by the rest. None where that
/// cannot be told, as for a link to nothing, which may lead to something by the time that it is read.
pub(super) fn resolve(path: &Path) -> Option<PathBuf> {
    let mut rest: VecDeque<PathStep> =
        path.components().map(PathStep::from_component).collect::<Option<_>>()?;
    let (mut real, mut links, mut is_missing) = (PathBuf::from("/"), 0, false);
    while let Some(step) = rest.pop_front() {
        let name = match step {
            PathStep::Root => {
                real = PathBuf::from("/");
                continue;
            }
            PathStep::Up if is_missing => return None,
            PathStep::Up => {
                real.pop();
                continue;
            }
            PathStep::Name(name) => name,
        };
        real.push(name);
        if VIRTUAL.iter().any(|place| real.starts_with(place)) {
            return None;
        }
        if is_missing {
            continue;
        }
        match real.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                let target = real.read_link().ok().filter(|_| links <= MAX_LINKS)?;
                // A link to nothing ends where nothing is.
                if real.metadata().is_err() {
                    return None;
                }
                let steps: Vec<PathStep> =
                    target.components().map(PathStep::from_component).collect::<Option<_>>()?;
                real.pop();
                steps.into_iter().rev().for_each(|step| rest.push_front(step));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => is_missing = true,
            Err(_) => return None,
        }
    }
    Some(real)
}

enum PathStep {
    Root,
    Up,
    Name(OsString),
}

impl PathStep {
    fn from_component(component: Component<'_>) -> Option<PathStep> {
        match component {
            Component::RootDir => Some(PathStep::Root),
            Component::ParentDir => Some(PathStep::Up),
            Component::Normal(name) => Some(PathStep::Name(name.to_owned())),
            // At the beginning of a path that is not absolute; elsewhere it is left out.
            Component::CurDir => Some(PathStep::Name(OsString::new())),
            Component::Prefix(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::resolve;

    #[test]
    fn links_are_followed_but_never_into_virtual_places() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("a/b", root.join("in")).unwrap();
        symlink("/proc/self/cwd", root.join("cwd")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("nothing", root.join("dangling")).unwrap();
        symlink("./a", root.join("dot")).unwrap();
        let at = |path: &str| resolve(&root.join(path));
        assert_eq!(at("in/../x"), Some(root.join("a/x")), "up from where the link leads");
        assert_eq!(at("in/new/file"), Some(root.join("a/b/new/file")));
        assert_eq!(at("dot/b"), Some(root.join("a/b")));
        for path in ["cwd", "cwd/x", "loop", "dangling", "dangling/x", "missing/../a"] {
            assert_eq!(at(path), None, "{path}");
        }
        for path in ["/proc/self/root/etc/hostname", "/proc/cpuinfo", "/dev/fd/0", "/usr/../proc/1"] {
            assert_eq!(resolve(Path::new(path)), None, "{path}");
        }
    }
}
