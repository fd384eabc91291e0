//! A layout as bubblewrap's arguments: what is mounted where, in which order.
//!
//! The root is read-only, and everything else is mounted over it from the outside in, so that the
//! innermost role of a path is the one that counts. A directory between a writable root and something
//! protected is mounted on itself, because a mount can be neither renamed nor removed: otherwise a
//! program could move `.git` away and put another in its place.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ostler_sandbox_helper::{ExpectedMounts, MountShows, PRIVATE_DIRECTORIES};
use rustix::process::geteuid;

use crate::layout::SandboxLayout;
use crate::profile::SandboxProfile;

/// What the private directories besides `/tmp` may hold.
const PRIVATE_DIRECTORY_BYTES: u64 = 256 << 20;
/// What an empty directory may hold: places to mount on.
const EMPTY_DIRECTORY_BYTES: &str = "65536";

/// The arguments up to the program.
pub(crate) fn bubblewrap_arguments(
    layout: &SandboxLayout,
    profile: &SandboxProfile,
    user_namespace: bool,
    overlays: bool,
) -> Vec<OsString> {
    let mut arguments = BubblewrapArguments::default();
    arguments.add(["--new-session", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
    arguments.add(["--unshare-cgroup-try", "--cap-drop", "ALL"]);
    let covers = overlays && !layout.caches.is_empty();
    if covers && geteuid().is_root() {
        // The kernel wants it of whoever is to be root in a namespace of his own; the helper gives it up.
        arguments.add(["--cap-add", "CAP_SETFCAP"]);
    }
    if user_namespace {
        arguments.add(["--unshare-user"]);
    }
    if !profile.network {
        arguments.add(["--unshare-net"]);
    }
    arguments.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    mount_private_directories(profile, &mut arguments);
    for (path, mount) in &mounts(layout) {
        match mount {
            MountKind::Empty => {
                arguments.add(["--perms", "0555", "--size", EMPTY_DIRECTORY_BYTES, "--tmpfs"]);
                arguments.path(path);
            }
            MountKind::Home => {
                arguments.add(["--perms", "0700", "--size", &PRIVATE_DIRECTORY_BYTES.to_string(), "--tmpfs"]);
                arguments.path(path);
            }
            MountKind::Nothing => arguments.bind("--ro-bind", Path::new("/dev/null"), path),
            MountKind::Writable => arguments.bind("--bind", path, path),
            MountKind::ReadOnly => arguments.bind("--ro-bind", path, path),
        }
    }
    for (link, target) in &layout.links {
        arguments.bind("--symlink", target, link);
    }
    // The helper inside writes there when it covers caches, and makes it read-only after that.
    if proc_is_read_only(profile) && !covers {
        arguments.add(["--remount-ro", "/proc"]);
    }
    arguments.add(["--remount-ro", "/dev", "--chdir"]);
    arguments.path(&layout.current_dir);
    arguments.add(["--"]);
    arguments.0
}

/// What should be mounted when all that is done.
pub(crate) fn expected_mounts(layout: &SandboxLayout) -> ExpectedMounts {
    let mut at = BTreeMap::new();
    for (path, mount) in mounts(layout) {
        // The last one at a path covers the others.
        at.insert(path, mount.expected());
    }
    let protected = &layout.protected.mounted;
    let watched =
        protected.iter().filter(|protected| protected.is_watched() && at.contains_key(&protected.path));
    ExpectedMounts {
        roots: layout.writable.clone(),
        watched: watched.map(|protected| protected.path.clone()).collect(),
        at: at.into_iter().collect(),
    }
}

/// Whether a program cannot write in `/proc`: root owns the switches of the kernel there, and needs no capability to
/// write them. Others do not, and who makes user namespaces has to write in it.
pub(crate) fn proc_is_read_only(profile: &SandboxProfile) -> bool {
    !profile.may_nest_sandboxes || geteuid().is_root()
}

/// What is mounted on a path. In the order in which they are done where depths are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MountKind {
    /// An empty directory of the sandbox's own that nobody may write to. Who owns it could give himself
    /// leave: what he then writes is little, and gone with the sandbox. To mount it read-only as well would
    /// take bubblewrap longer than all the rest of it, because it reads the list of all mounts each time.
    Empty,
    /// A home directory of the program's own.
    Home,
    /// A file that cannot be opened.
    Nothing,
    /// Itself, writable.
    Writable,
    /// Itself, read-only.
    ReadOnly,
}

impl MountKind {
    fn expected(self) -> MountShows {
        match self {
            MountKind::Empty | MountKind::Home => MountShows::Own,
            MountKind::Nothing => MountShows::Nothing,
            MountKind::Writable => MountShows::Writable,
            MountKind::ReadOnly => MountShows::ReadOnly,
        }
    }
}

fn mounts(layout: &SandboxLayout) -> Vec<(PathBuf, MountKind)> {
    let mut mounts: Vec<(PathBuf, MountKind)> = Vec::new();
    for path in &layout.hidden {
        let mount = match layout.home.as_ref() {
            Some(home) if home == path => MountKind::Home,
            Some(_) | None if path.is_dir() => MountKind::Empty,
            Some(_) | None => MountKind::Nothing,
        };
        mounts.push((path.clone(), mount));
        // Moved away with a directory above it, it would not be found, and so not be hidden, next time.
        let root = layout.writable.iter().find(|root| path.starts_with(root));
        let between = root.map(|root| path.ancestors().skip(1).take_while(move |path| *path != root));
        let between: Vec<&Path> = between.into_iter().flatten().collect();
        // One that is hidden itself holds what is in it.
        if !between.iter().any(|path| layout.hidden.iter().any(|hidden| hidden == path)) {
            mounts.extend(between.into_iter().map(|path| (path.to_owned(), MountKind::Writable)));
        }
    }
    for path in layout.readable.iter().filter(|path| !layout.writable.contains(path)) {
        mounts.push((path.clone(), MountKind::ReadOnly));
    }
    mounts.extend(layout.writable.iter().map(|path| (path.clone(), MountKind::Writable)));
    for protected in &layout.protected.mounted {
        let between = protected.path.ancestors().skip(1).take_while(|path| *path != protected.root);
        mounts.extend(between.map(|path| (path.to_owned(), MountKind::Writable)));
        // A link cannot be mounted on; it is put back afterwards instead.
        let mountable = protected.path.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink());
        if mountable {
            let is_empty = fs::read_dir(&protected.path).is_ok_and(|mut entries| entries.next().is_none());
            let mount = if is_empty { MountKind::Empty } else { MountKind::ReadOnly };
            mounts.push((protected.path.clone(), mount));
        }
    }
    mounts.sort_by_key(|(path, mount)| (path.components().count(), path.clone(), *mount));
    mounts.dedup();
    // What is hidden stays hidden, and what is inside something protected is read-only with it.
    let closed: Vec<PathBuf> = mounts
        .iter()
        .filter(|(path, mount)| {
            *mount == MountKind::Nothing
                || layout.protected.mounted.iter().any(|protected| protected.path == *path)
                    && matches!(mount, MountKind::ReadOnly | MountKind::Empty)
        })
        .map(|(path, _)| path.clone())
        .collect();
    mounts.retain(|(path, mount)| {
        *mount != MountKind::Writable
            || !closed.iter().any(|closed| path.starts_with(closed) && path != closed)
    });
    mounts
}

/// The directories that a program has for itself, as far as this machine has them.
fn mount_private_directories(profile: &SandboxProfile, arguments: &mut BubblewrapArguments) {
    for path in PRIVATE_DIRECTORIES {
        let is_directory = Path::new(path).symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_directory && *path != "/dev/shm" {
            continue;
        }
        let (mode, bytes) = match *path {
            "/tmp" => ("1777", profile.limits.tmp_bytes),
            "/run" | "/var/run" => ("0755", PRIVATE_DIRECTORY_BYTES),
            _ => ("1777", PRIVATE_DIRECTORY_BYTES),
        };
        arguments.add(["--perms", mode, "--size", &bytes.to_string(), "--tmpfs", path]);
    }
}

/// Arguments as they are gathered.
#[derive(Default)]
struct BubblewrapArguments(Vec<OsString>);

impl BubblewrapArguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn path(&mut self, path: &Path) {
        self.0.push(path.into());
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([how.into(), from.into(), to.into()]);
    }
}
