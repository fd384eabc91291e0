//! What may be read unasked: the workspace, and what the system shows to everybody.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ostler_command_line::ReadExtent;

use super::resolve::resolve;
use crate::hidden_paths::WorkspaceHiddenPaths;
use crate::program_confiner::ProgramConfiner;

/// How many entries of directories, and files that they lead to, are looked at for one line.
const MAX_LOOKUPS: usize = 2048;

/// Directories that hold what the system's packages brought, and that are public as a whole.
const SYSTEM_DIRECTORIES: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/// Directories of which single files and listings are public, but not everything below.
const PARTLY_PUBLIC: &[&str] = &["/etc", "/opt"];
/// Names of what is private although it may be readable by mistake.
const PRIVATE_NAMES: &[&str] = &[
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "sudoers",
    "sudoers.d",
    "private",
    "krb5.keytab",
    "system-connections",
    "wireguard",
    "chap-secrets",
    "pap-secrets",
    ".env",
];
/// Files that the kernel makes, and that are the same for every process or say little about it. They are known
/// by their whole name only: a link on the way to another one is never followed.
const KERNEL_FILES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/version",
    "/proc/self/status",
    "/proc/self/limits",
];

/// What one workspace may read.
pub(super) struct PublicReadScope {
    root: PathBuf,
    home: Option<PathBuf>,
    /// Where confined programs may write besides the workspace.
    writable: Vec<PathBuf>,
    hidden_paths: WorkspaceHiddenPaths,
    search_path: Vec<PathBuf>,
    lookups: usize,
}

impl PublicReadScope {
    /// None where the workspace cannot be opened or is hidden.
    pub(super) fn for_workspace(workspace: &Path, confines: &ProgramConfiner) -> Option<PublicReadScope> {
        let root = workspace.canonicalize().ok()?;
        let closed = confines.hidden_paths.for_workspace(&root)?;
        let temporary =
            [confines.temporary_directory(), PathBuf::from("/dev/shm"), PathBuf::from("/var/tmp")];
        let writable = confines.writable.iter().chain(&temporary);
        let writable = writable.filter_map(|place| place.canonicalize().ok()).collect();
        let home = confines.hidden_paths.home();
        Some(PublicReadScope {
            root,
            home,
            writable,
            hidden_paths: closed,
            search_path: confines.search_path(),
            lookups: 0,
        })
    }

    /// The workspace, without links.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether git finds its repository in the workspace, rather than above it.
    pub(super) fn has_repository(&self) -> bool {
        self.root.join(".git").symlink_metadata().is_ok()
    }

    /// Counts a look at the disk. False when there were too many.
    pub(super) fn count_lookup(&mut self) -> bool {
        self.lookups += 1;
        self.lookups <= MAX_LOOKUPS
    }

    /// Whether a directory without links may be listed.
    pub(super) fn is_public_directory(&self, real: &Path) -> bool {
        self.is_real_public(real, ReadExtent::Itself)
    }

    /// Whether this much of an absolute path may be read, wherever links lead.
    pub(super) fn is_public(&mut self, path: &Path, extent: ReadExtent) -> bool {
        if !self.count_lookup() {
            return false;
        }
        if path.to_str().is_some_and(|path| KERNEL_FILES.contains(&path)) {
            return matches!(extent, ReadExtent::Itself | ReadExtent::File);
        }
        resolve(path).is_some_and(|real| self.is_real_public(&real, extent))
    }

    fn is_real_public(&self, real: &Path, extent: ReadExtent) -> bool {
        if self.hidden_paths.covers(real) || (extent == ReadExtent::File && real.is_dir()) {
            return false;
        }
        if real.starts_with(&self.root) {
            return true;
        }
        let is_below = |places: &[&str]| places.iter().any(|place| real.starts_with(place));
        let is_known =
            is_below(SYSTEM_DIRECTORIES) || (extent != ReadExtent::Below && is_below(PARTLY_PUBLIC));
        is_known && !self.is_personal(real) && !is_private(real) && is_readable_by_all(real)
    }

    /// Whether a path lies where the user or a confined program keeps files.
    fn is_personal(&self, real: &Path) -> bool {
        let home = self.home.as_deref().filter(|home| home.parent().is_some());
        home.is_some_and(|home| real.starts_with(home))
            || self.writable.iter().any(|place| real.starts_with(place))
    }

    /// Whether a program is found where only the system can have put it. One that is not found at all cannot
    /// run. Whether the file can be executed does not matter, because that may change.
    pub(super) fn is_system_program(&self, program: &str) -> bool {
        if program.contains('/') {
            return Path::new(program).is_absolute() && self.is_system_file(Path::new(program));
        }
        let mut candidates = self.search_path.iter().map(|place| place.join(program));
        match candidates.find(|candidate| candidate.symlink_metadata().is_ok()) {
            Some(found) => self.is_system_file(&found),
            None => true,
        }
    }

    fn is_system_file(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let is_system = SYSTEM_DIRECTORIES.iter().chain(&["/opt"]).any(|place| real.starts_with(place));
        is_system && !real.starts_with(&self.root) && !self.is_personal(&real)
    }
}

fn is_private(real: &Path) -> bool {
    let is_private_name = |name: &OsStr| {
        let name = name.to_string_lossy();
        PRIVATE_NAMES.contains(&name.as_ref()) || (name.starts_with("ssh_host_") && !name.ends_with(".pub"))
    };
    real.starts_with("/etc") && real.components().any(|part| is_private_name(part.as_os_str()))
}

/// Whether every user of the machine could read it, however many rights this one has. What does not exist has
/// nothing to be read.
fn is_readable_by_all(real: &Path) -> bool {
    real.ancestors().all(|path| {
        let Ok(metadata) = path.symlink_metadata() else { return true };
        let wanted = match (metadata.is_dir(), path == real) {
            (true, true) => 0o005,
            (true, false) => 0o001,
            (false, _) => 0o004,
        };
        metadata.permissions().mode() & wanted == wanted
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::PublicReadScope;
    use crate::program_confiner::ProgramConfiner;

    fn executable(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_counts_only_where_the_system_has_put_it() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, elsewhere) = (folder.path().join("workspace"), folder.path().join("elsewhere"));
        executable(&workspace.join("bin/ls"));
        executable(&elsewhere.join("cat"));
        symlink("/usr/bin/env", elsewhere.join("head")).unwrap();
        symlink(workspace.join("bin/ls"), elsewhere.join("tail")).unwrap();
        let mut scope = PublicReadScope::for_workspace(&workspace, &ProgramConfiner::default()).unwrap();
        let system = Path::new("/usr/bin").to_owned();
        scope.search_path = vec![system.clone()];
        assert!(scope.is_system_program("ls") && scope.is_system_program("/usr/bin/cat"));
        assert!(scope.is_system_program("no-such-program"), "nothing runs");
        assert!(!scope.is_system_program("bin/ls"));
        assert!(!scope.is_system_program(workspace.join("bin/ls").to_str().unwrap()));
        scope.search_path = vec![workspace.join("bin"), elsewhere, system];
        assert!(!scope.is_system_program("ls"), "the workspace's comes first");
        assert!(!scope.is_system_program("cat"), "anybody may have put it there");
        assert!(scope.is_system_program("head"), "a link to one of the system's");
        assert!(!scope.is_system_program("tail"), "a link into the workspace");
        assert!(scope.is_system_program("wc"));
    }
}
