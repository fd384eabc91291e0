//! What a profile comes to on this machine: every path resolved and checked, each in the one role that
//! it has. How a role is enforced is left to `mounts` and `ruleset`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::SandboxError;
use crate::nested::Nested;
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
    pub(crate) workspace: PathBuf,
    pub(crate) current_dir: PathBuf,
    /// Directories that are written to.
    pub(crate) writable: Vec<PathBuf>,
    /// What is read though something around it is hidden or private.
    pub(crate) readable: Vec<PathBuf>,
    /// What is not read.
    pub(crate) hidden: Vec<PathBuf>,
    /// What stays as it is inside what is writable.
    pub(crate) protected: Vec<Protected>,
    /// The repositories below the workspace, if it is writable.
    pub(crate) nested: Arc<Nested>,
    pub(crate) identities: Vec<Identity>,
}

impl Layout {
    /// Works it out. Reads directories, changes nothing.
    pub(crate) fn of(profile: &Profile, settings: &Settings) -> Result<Layout, SandboxError> {
        let workspace = fit_workspace(&profile.workspace, &settings.data_dir, &settings.home)?;
        let current_dir = resolve(&profile.current_dir)?;
        let mut writable = Vec::new();
        if profile.access == WorkspaceAccess::ReadWrite {
            writable.push(workspace.clone());
            writable.extend(git_directory::outside(&workspace));
        }
        for path in &profile.writable {
            writable.push(fit(path, &settings.data_dir, &settings.home)?);
        }
        let mut readable = vec![workspace.clone()];
        for path in &profile.readable {
            readable.push(resolve(path)?);
        }
        readable.extend(NEEDED.iter().map(PathBuf::from).filter(|path| path.exists()));
        if profile.network {
            readable.extend(Path::new("/etc/resolv.conf").canonicalize().ok());
        }
        // What the profile opens by name is open with all that is in it; a workspace opens no secrets.
        let named = writable.iter().chain(&readable).filter(|path| **path != workspace);
        let opened: Vec<&PathBuf> = named.collect();
        let places = secrets::secret_places(&settings.home).into_iter();
        let places = places.filter_map(|path| path.canonicalize().ok());
        let mut hidden: BTreeSet<PathBuf> =
            places.filter(|path| !opened.iter().any(|open| path.starts_with(open))).collect();
        let named =
            settings.hidden.iter().chain([&settings.data_dir, &settings.scratch]).chain(&profile.hidden);
        hidden.extend(named.filter_map(|path| path.canonicalize().ok()));
        if let Some(path) = writable.iter().chain(&readable).find(|path| hidden.contains(*path)) {
            return Err(SandboxError::Unfit { path: path.clone(), reason: "It is to be hidden as well." });
        }
        let (mut protected, nested) = protected::find(&workspace, &writable, &profile.protected);
        // What is hidden inside a writable directory is not held in place there: that would uncover it.
        protected.retain(|protected| {
            let covers =
                |hidden: &PathBuf| protected.path.starts_with(hidden) && hidden.starts_with(&protected.root);
            !hidden.iter().any(covers)
        });
        let identities = identities(writable.iter().chain([&workspace]))?;
        Ok(Layout {
            workspace,
            current_dir,
            writable,
            readable,
            hidden: hidden.into_iter().collect(),
            protected,
            nested: Arc::new(nested),
            identities,
        })
    }
}

/// Why a directory cannot be a workspace, as sentences for people; none where it can. The same check that
/// [`crate::Sandbox::command`] makes, so that a session can be refused before it has begun, and also where
/// nothing confines. One that holds the data directory somewhere inside is fit: what is inside is hidden.
pub fn unfit(workspace: &Path, data_dir: &Path, home: &Path) -> Option<String> {
    fit_workspace(workspace, data_dir, home).err().map(|error| error.to_string())
}

/// A directory that a session may work in. One that is a place of secrets can be opened to a program by
/// name, but is no workspace.
fn fit_workspace(path: &Path, data_dir: &Path, home: &Path) -> Result<PathBuf, SandboxError> {
    let path = fit(path, data_dir, home)?;
    let mut places = secrets::secret_places(home).into_iter();
    if places.any(|place| place.canonicalize().is_ok_and(|place| place == path)) {
        let reason = "It is a place where keys and tokens are kept.";
        return Err(SandboxError::Unfit { path, reason });
    }
    Ok(path)
}

/// A directory that may be opened without giving away more than itself.
fn fit(path: &Path, data_dir: &Path, home: &Path) -> Result<PathBuf, SandboxError> {
    let path = resolve(path)?;
    let unfit = |reason| Err(SandboxError::Unfit { path: path.clone(), reason });
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    if home.starts_with(&path) {
        return unfit("It holds your home directory, with your keys and what your shell starts.");
    }
    if is_within(&path, data_dir) {
        return unfit("It is where Ostler keeps its own data.");
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

/// Whether a resolved path is a directory or something in it, by name and by identity: a directory that is
/// mounted a second time has another name there.
fn is_within(path: &Path, directory: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let wanted = identity(&directory);
    path.starts_with(&directory)
        || wanted.is_some() && path.ancestors().any(|above| identity(above) == wanted)
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
