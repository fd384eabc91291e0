//! What a profile comes to on this machine: every path resolved and checked, each in the one role that
//! it has. How a role is enforced is left to `mounts` and `ruleset`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ostler_sandbox_helper::{DirectoryIdentity, PRIVATE_DIRECTORIES};

use crate::error::SandboxError;
use crate::home::HomePlaces;
use crate::profile::{SandboxProfile, WorkspaceAccess};
use crate::protected_paths::{self, ProtectedPaths, ResolvedProtectedPath};
use crate::sandbox::SandboxSettings;
use crate::{git_directory, secrets};

/// Directories that hold up the machine: writing there, a program could change what others run.
const SYSTEM_DIRECTORIES: &[&str] =
    &["/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/proc", "/sbin", "/sys", "/usr"];
/// Parts of `/run` that some systems keep their programs and their resolver in.
const NEEDED_RUN_DIRECTORIES: &[&str] = &["/run/current-system", "/run/wrappers", "/run/opengl-driver"];

/// Paths, resolved.
#[derive(Debug)]
pub(crate) struct SandboxLayout {
    pub(crate) workspace: PathBuf,
    pub(crate) current_dir: PathBuf,
    /// Directories and single files that are written to.
    pub(crate) writable: Vec<PathBuf>,
    /// Those of them that hold the program's own state.
    pub(crate) state: Vec<PathBuf>,
    /// What is read though something around it is hidden or private.
    pub(crate) readable: Vec<PathBuf>,
    /// What is not read.
    pub(crate) hidden: Vec<PathBuf>,
    /// Where keys and tokens are kept, as far as these places exist.
    pub(crate) secret: Vec<PathBuf>,
    /// The home directory, if the program has another in its place. It is also hidden.
    pub(crate) home: Option<PathBuf>,
    /// What is read, and written for the program alone.
    pub(crate) caches: Vec<PathBuf>,
    /// Names in hidden directories that are links, and where these lead.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// What stays as it is inside what is writable.
    pub(crate) protected: ProtectedPaths,
    pub(crate) identities: Vec<DirectoryIdentity>,
}

impl SandboxLayout {
    /// Works it out, and also holds what is `held` already for others. Reads directories, changes nothing.
    pub(crate) fn from_profile(
        profile: &SandboxProfile,
        settings: &SandboxSettings,
        held: &[ResolvedProtectedPath],
    ) -> Result<SandboxLayout, SandboxError> {
        let secret = secrets::resolved_secret_places(&settings.home);
        let workspace = check_workspace(&profile.workspace, &settings.data_dir, &settings.home, &secret)?;
        let current_dir = resolve(&profile.current_dir)?;
        let mut writable = Vec::new();
        if profile.access == WorkspaceAccess::ReadWrite {
            writable.push(workspace.clone());
            writable.extend(git_directory::external_repository(&workspace));
        }
        for path in &profile.writable {
            writable.push(check_writable(path, &settings.data_dir, &settings.home)?);
        }
        let mut state = Vec::new();
        for path in &profile.state {
            state.push(check_writable(path, &settings.data_dir, &settings.home)?);
        }
        let mut readable = [std::slice::from_ref(&workspace), &state].concat();
        for path in &profile.readable {
            readable.push(resolve(path)?);
        }
        readable.extend(settings.readable.iter().filter_map(|path| path.canonicalize().ok()));
        let (home, places) = home_places(profile, settings)?;
        readable.extend(places.toolchains.iter().chain(&places.caches).cloned());
        readable.extend(NEEDED_RUN_DIRECTORIES.iter().map(PathBuf::from).filter(|path| path.exists()));
        if profile.network {
            readable.extend(Path::new("/etc/resolv.conf").canonicalize().ok());
        }
        let mut hidden = hidden_places(profile, settings, &secret, &workspace, [&writable, &readable]);
        if let Some(home) = &home {
            hide_home(home, &mut hidden, &[&writable, &readable, &profile.own_directories]);
        }
        if let Some(path) = writable.iter().chain(&readable).find(|path| hidden.contains(*path)) {
            return Err(SandboxError::Unfit { path: path.clone(), reason: "It is to be hidden as well." });
        }
        let roots: Vec<PathBuf> = writable.iter().filter(|path| path.is_dir()).cloned().collect();
        let mut protected =
            protected_paths::find_protected_paths((&workspace, &roots), profile, &settings.home);
        add_held_paths(&mut protected.mounted, held, &roots);
        drop_hidden(&mut protected, &hidden);
        for path in &profile.own_directories {
            writable.push(resolve(path)?);
        }
        writable.extend_from_slice(&state);
        let between = directories_between(&protected.mounted);
        let identities = identities(writable.iter().chain([&workspace]).chain(&between))?;
        let named = profile.state.iter().zip(&state);
        let mut links: BTreeSet<(PathBuf, PathBuf)> = places.links.into_iter().collect();
        links.extend(named.filter_map(|(path, real)| hidden_link(path, real, &hidden)));
        Ok(SandboxLayout {
            workspace,
            current_dir,
            writable,
            state,
            readable,
            hidden: hidden.into_iter().collect(),
            secret,
            home,
            caches: places.caches,
            links: links.into_iter().collect(),
            protected,
            identities,
        })
    }
}

/// What is not read: where secrets are kept, but for what the profile opens, and what is named besides.
fn hidden_places(
    profile: &SandboxProfile,
    settings: &SandboxSettings,
    secret: &[PathBuf],
    workspace: &Path,
    opened: [&Vec<PathBuf>; 2],
) -> BTreeSet<PathBuf> {
    // What the profile opens by name is open with all that is in it; a workspace opens no secrets.
    let opened: Vec<&PathBuf> = opened.into_iter().flatten().filter(|path| *path != workspace).collect();
    let mut hidden: BTreeSet<PathBuf> =
        secret.iter().filter(|path| !opened.iter().any(|open| path.starts_with(open))).cloned().collect();
    let named = settings.hidden.iter().chain([&settings.data_dir, &settings.scratch]).chain(&profile.hidden);
    hidden.extend(named.filter_map(|path| path.canonicalize().ok()));
    hidden
}

/// Adds what is held for others in the same directories, unless it is gone.
fn add_held_paths(
    mounted: &mut Vec<ResolvedProtectedPath>,
    held: &[ResolvedProtectedPath],
    roots: &[PathBuf],
) {
    let known: BTreeSet<PathBuf> = mounted.iter().map(|protected| protected.path.clone()).collect();
    let is_new = |held: &&ResolvedProtectedPath| {
        roots.contains(&held.root) && !known.contains(&held.path) && held.path.symlink_metadata().is_ok()
    };
    mounted.extend(held.iter().filter(is_new).cloned());
}

/// What is hidden inside a writable directory is not held in place there: that would uncover it.
fn drop_hidden(protected: &mut ProtectedPaths, hidden: &BTreeSet<PathBuf>) {
    let is_seen = |protected: &ResolvedProtectedPath| {
        let covers =
            |hidden: &PathBuf| protected.path.starts_with(hidden) && hidden.starts_with(&protected.root);
        !hidden.iter().any(covers)
    };
    protected.mounted.retain(is_seen);
    protected.snapshotted.retain(is_seen);
}

/// The home directory, if it is hidden, and what is opened in it; caches of the profile's own are among that.
fn home_places(
    profile: &SandboxProfile,
    settings: &SandboxSettings,
) -> Result<(Option<PathBuf>, HomePlaces), SandboxError> {
    let home = settings.home.canonicalize().ok().filter(|home| settings.hides_home && home != Path::new("/"));
    let places = home.as_ref().map(|home| HomePlaces::find(home, &settings.search_path));
    let mut places = places.unwrap_or_default();
    for path in &profile.caches {
        places.caches.push(resolve(path)?);
    }
    Ok((home, places))
}

/// What lies between protected paths and their roots: it is mounted as well, and a command that runs already may
/// replace it.
fn directories_between(protected: &[ResolvedProtectedPath]) -> BTreeSet<PathBuf> {
    let above = protected.iter().flat_map(|protected| {
        let above = protected.path.ancestors().skip(1);
        above.take_while(|path| *path != protected.root).map(Path::to_owned)
    });
    above.collect()
}

/// Hides a home directory as a whole, and singly only what lies in something that is open there.
fn hide_home(home: &Path, hidden: &mut BTreeSet<PathBuf>, opened: &[&Vec<PathBuf>]) {
    let is_open = |path: &PathBuf| opened.iter().copied().flatten().any(|open| path.starts_with(open));
    hidden.retain(|path| !path.starts_with(home) || is_open(path));
    hidden.insert(home.to_owned());
}

/// The name of an open place in a hidden directory, and where it leads, if that is elsewhere: by that name the program
/// looks for it.
fn hidden_link(path: &Path, real: &Path, hidden: &BTreeSet<PathBuf>) -> Option<(PathBuf, PathBuf)> {
    let mut above = path.ancestors().skip(1);
    let name = above.find_map(|above| {
        let directory = above.canonicalize().ok().filter(|above| hidden.contains(above))?;
        Some(directory.join(path.strip_prefix(above).ok()?))
    })?;
    (name != real).then(|| (name, real.to_owned()))
}

/// Why a directory cannot be a workspace, as sentences for people; none where it can. The same check that
/// [`crate::Sandbox::command`] makes, so that a session can be refused before it has begun, and also where
/// nothing confines. One that holds the data directory somewhere inside is fit: what is inside is hidden.
pub fn unfit_workspace_reason(workspace: &Path, data_dir: &Path, home: &Path) -> Option<String> {
    let secret = secrets::resolved_secret_places(home);
    check_workspace(workspace, data_dir, home, &secret).err().map(|error| error.to_string())
}

/// A directory that a session may work in. One that is a place of secrets can be opened to a program by
/// name, but is no workspace.
fn check_workspace(
    path: &Path,
    data_dir: &Path,
    home: &Path,
    secret: &[PathBuf],
) -> Result<PathBuf, SandboxError> {
    let path = check_writable(path, data_dir, home)?;
    if !path.is_dir() {
        return Err(SandboxError::Unfit { path, reason: "It is not a directory." });
    }
    if secret.contains(&path) {
        let reason = "It is a place where keys and tokens are kept.";
        return Err(SandboxError::Unfit { path, reason });
    }
    Ok(path)
}

/// A directory or a regular file that may be opened without giving away more than itself.
fn check_writable(path: &Path, data_dir: &Path, home: &Path) -> Result<PathBuf, SandboxError> {
    let path = resolve(path)?;
    let unfit = |reason| Err(SandboxError::Unfit { path: path.clone(), reason });
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    if home.starts_with(&path) {
        return unfit("It holds your home directory, with your keys and what your shell starts.");
    }
    if is_within(&path, data_dir) {
        return unfit("It is where Ostler keeps its own data.");
    }
    if SYSTEM_DIRECTORIES.iter().any(|system| path.starts_with(system) && !path.starts_with("/dev/shm/")) {
        return unfit("It belongs to the system.");
    }
    if PRIVATE_DIRECTORIES.iter().chain(SYSTEM_DIRECTORIES).any(|shared| Path::new(shared).starts_with(&path))
    {
        return unfit("Everybody uses it.");
    }
    if !path.is_dir() && !path.is_file() {
        return unfit("It is neither a directory nor a regular file.");
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

fn identities<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<DirectoryIdentity>, SandboxError> {
    let identity = |path: &PathBuf| {
        let metadata = fs::symlink_metadata(path).map_err(SandboxError::path(path))?;
        Ok(DirectoryIdentity { path: path.clone(), device: metadata.dev(), inode: metadata.ino() })
    };
    paths.collect::<BTreeSet<_>>().into_iter().map(identity).collect()
}
