//! What a profile comes to on this machine: every path resolved and checked, each in the one role that
//! it has. How a role is enforced is left to `mounts` and `ruleset`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::orders::Identity;
use crate::profile::{Profile, WorkspaceAccess};
use crate::protected::{self, Protected};
use crate::sandbox::Settings;
use crate::{git_directory, secrets};

/// Directories that a program has for itself.
pub(crate) const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm"];
/// Directories that hold up the machine: writing there, a program could change what others run.
const SYSTEM: &[&str] =
    &["/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/proc", "/sbin", "/sys", "/usr"];
/// Parts of `/run` that some systems keep their programs and their resolver in.
const NEEDED: &[&str] = &["/run/current-system", "/run/wrappers", "/run/opengl-driver"];

/// Paths, resolved.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) current_dir: PathBuf,
    /// Directories that are written to.
    pub(crate) writable: Vec<PathBuf>,
    /// What is read though something around it is hidden or private.
    pub(crate) readable: Vec<PathBuf>,
    /// What is not read.
    pub(crate) hidden: Vec<PathBuf>,
    /// What stays as it is inside what is writable.
    pub(crate) protected: Vec<Protected>,
    pub(crate) identities: Vec<Identity>,
}

impl Layout {
    /// Works it out. Reads directories, changes nothing.
    pub(crate) fn of(profile: &Profile, settings: &Settings) -> Result<Layout, SandboxError> {
        let workspace = directory(&profile.workspace, settings)?;
        let current_dir = resolve(&profile.current_dir)?;
        let mut writable = Vec::new();
        if profile.access == WorkspaceAccess::ReadWrite {
            writable.push(workspace.clone());
            writable.extend(git_directory::outside(&workspace));
        }
        for path in &profile.writable {
            writable.push(directory(path, settings)?);
        }
        let mut readable = vec![workspace.clone()];
        for path in &profile.readable {
            readable.push(resolve(path)?);
        }
        readable.extend(NEEDED.iter().map(PathBuf::from).filter(|path| path.exists()));
        if profile.network {
            readable.extend(Path::new("/etc/resolv.conf").canonicalize().ok());
        }
        let open = |path: &Path| writable.iter().chain(&readable).any(|open| path.starts_with(open));
        let places = secrets::places(&settings.home).filter_map(|path| path.canonicalize().ok());
        let mut hidden: BTreeSet<PathBuf> = places.filter(|path| !open(path)).collect();
        let named =
            settings.hidden.iter().chain([&settings.data_dir, &settings.scratch]).chain(&profile.hidden);
        hidden.extend(named.filter_map(|path| path.canonicalize().ok()));
        if let Some(path) = writable.iter().chain(&readable).find(|path| hidden.contains(*path)) {
            return Err(SandboxError::Unfit { path: path.clone(), reason: "It is to be hidden as well." });
        }
        let protected = protected::find(&workspace, &writable, &profile.protected);
        let identities = identities(writable.iter().chain([&workspace]))?;
        Ok(Layout {
            current_dir,
            writable,
            readable,
            hidden: hidden.into_iter().collect(),
            protected,
            identities,
        })
    }
}

/// A directory that may be opened without giving away more than itself.
fn directory(path: &Path, settings: &Settings) -> Result<PathBuf, SandboxError> {
    let path = resolve(path)?;
    let unfit = |reason| Err(SandboxError::Unfit { path: path.clone(), reason });
    let home = settings.home.canonicalize().unwrap_or_else(|_| settings.home.clone());
    let data_dir = settings.data_dir.canonicalize().unwrap_or_else(|_| settings.data_dir.clone());
    if home.starts_with(&path) {
        return unfit("It holds your home directory, with your keys and what your shell starts.");
    }
    if path == data_dir {
        return unfit("It holds Ostler's own data.");
    }
    if SYSTEM.iter().any(|system| path.starts_with(system) && !path.starts_with("/dev/shm/")) {
        return unfit("It belongs to the system.");
    }
    if PRIVATE.iter().chain(SYSTEM).any(|shared| Path::new(shared).starts_with(&path)) {
        return unfit("Everybody uses it.");
    }
    if !path.is_dir() {
        return unfit("It is not a directory.");
    }
    Ok(path)
}

fn resolve(path: &Path) -> Result<PathBuf, SandboxError> {
    path.canonicalize().map_err(SandboxError::path(path))
}

fn identities<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<Identity>, SandboxError> {
    let identity = |path: &PathBuf| {
        let metadata = fs::symlink_metadata(path).map_err(SandboxError::path(path))?;
        Ok(Identity { path: path.clone(), device: metadata.dev(), inode: metadata.ino() })
    };
    paths.collect::<BTreeSet<_>>().into_iter().map(identity).collect()
}
