//! Places that no tool reads or writes, whatever the workspace is: Ostler's own data, and where programs
//! keep keys and tokens. The sandbox hides the same from programs; this is for tools that open files
//! themselves. What is opened, and what is said of a refusal, is left to `path`.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ostler_sandbox::secret_places;
use rustix::fs::Stat;

/// The files there are the daemon's own memory and environment, whoever the workspace belongs to.
const PROCESSES: &str = "/proc";

/// What is hidden, as it was given. It is looked up anew with each workspace that is opened, because a place
/// may be made, or become a link, at any time.
#[derive(Debug, Clone, Default)]
pub(crate) struct HiddenPaths {
    paths: Vec<PathBuf>,
    home: Option<PathBuf>,
}

/// What is hidden from one workspace: by path, also where nothing is there yet, and by identity, which holds
/// for every other name that links and mounts give to a place.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceHiddenPaths {
    paths: Vec<PathBuf>,
    identities: HashSet<(u64, u64)>,
    /// Those in the workspace, relative to it.
    pub(crate) inside_workspace: Vec<PathBuf>,
}

impl HiddenPaths {
    /// Hides `places`, and the places of secrets that are known in a home directory.
    pub(crate) fn new(places: Vec<PathBuf>, home: Option<PathBuf>) -> HiddenPaths {
        HiddenPaths { paths: places, home }
    }

    /// The places that were given, for programs.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The user's home directory, without links.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.home.as_deref().map(resolve_existing_part)
    }

    /// What is hidden from a workspace. None where the workspace is itself in a hidden place. Below a place
    /// of secrets it may be: other agents keep worktrees beside their tokens, and who works in one has
    /// chosen that directory and not the place.
    pub(crate) fn for_workspace(&self, real_root: &Path) -> Option<WorkspaceHiddenPaths> {
        let mut closed = WorkspaceHiddenPaths::default();
        for place in self.paths.iter().map(PathBuf::as_path).chain([Path::new(PROCESSES)]) {
            let place = resolve_existing_part(place);
            closed.add(identity(&place), place);
        }
        if closed.covers(real_root) {
            return None;
        }
        let home = self.home.as_deref().map(resolve_existing_part);
        let secrets = home.as_deref().map(secret_places).unwrap_or_default();
        let above: Vec<_> = real_root.ancestors().skip(1).map(|above| (above, identity(above))).collect();
        for place in secrets {
            let id = identity(&place);
            if !above.iter().any(|(path, known)| *path == place || id.is_some() && *known == id) {
                closed.add(id, place);
            }
        }
        if closed.covers(real_root) {
            return None;
        }
        let inside = closed.paths.iter().filter_map(|path| path.strip_prefix(real_root).ok());
        closed.inside_workspace = inside.map(Path::to_owned).collect();
        Some(closed)
    }
}

impl WorkspaceHiddenPaths {
    /// Whether a path without links is hidden.
    pub(crate) fn covers(&self, real: &Path) -> bool {
        self.covers_name(real)
            || real.ancestors().any(|above| identity(above).is_some_and(|id| self.identities.contains(&id)))
    }

    /// The same by its name alone, without a look at the disk.
    pub(crate) fn covers_name(&self, path: &Path) -> bool {
        self.paths.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Whether this file or directory is a hidden place itself.
    pub(crate) fn is_hidden_file(&self, stat: &Stat) -> bool {
        self.identities.contains(&(stat.st_dev, stat.st_ino))
    }

    fn add(&mut self, identity: Option<(u64, u64)>, place: PathBuf) {
        self.identities.extend(identity);
        self.paths.push(place);
    }
}

/// A path without links, as far as it exists.
fn resolve_existing_part(path: &Path) -> PathBuf {
    let above = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(above).unwrap_or_else(|| path.to_owned())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::HiddenPaths;

    /// As where a hidden directory is mounted a second time.
    #[test]
    fn a_place_is_known_by_identity_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (data, workspace) = (root.join("data"), root.join("workspace"));
        std::fs::create_dir_all(data.join("deep")).unwrap();
        std::fs::create_dir(&workspace).unwrap();
        let mut closed = HiddenPaths::new(vec![data.clone()], None).for_workspace(&workspace).unwrap();
        closed.paths.clear();
        assert!(closed.covers(&data.join("deep/token")));
        assert!(!closed.covers(&workspace.join("token")));
    }

    #[test]
    fn a_workspace_in_a_hidden_place_is_hidden_itself() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("home/.ssh/deep")).unwrap();
        std::fs::create_dir_all(root.join("data/deep")).unwrap();
        let hidden = HiddenPaths::new(vec![root.join("data")], Some(root.join("home")));
        for (workspace, is_hidden) in [
            ("data", true),
            ("data/deep", true),
            ("home/.ssh", true),
            ("home/.ssh/deep", false),
            ("home", false),
        ] {
            assert_eq!(hidden.for_workspace(&root.join(workspace)).is_none(), is_hidden, "{workspace}");
        }
        assert!(hidden.for_workspace(&root).unwrap().inside_workspace.contains(&"data".into()));
    }
}
