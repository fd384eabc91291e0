//! Finds programs by name for processes that have more rights than a sandboxed command. A PATH often leads
//! into a project (an activated virtual environment, `node_modules/.bin`), where a sandboxed command can put
//! anything under any name. So nothing counts that lies in such a place, or that a link leads to from outside.

use std::env::{join_paths, split_paths};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::invocation::{Program, is_executable};

/// The PATH where there is none.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Tells which directories sandboxed commands may write, as of now.
type WritablePlaces = Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>;

/// Finds programs in a PATH, but in no directory that a sandboxed command may write.
#[derive(Clone)]
pub struct ProgramFinder {
    path: OsString,
    writable: WritablePlaces,
}

/// Why a program was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramNotFound {
    /// There is none.
    #[error("there is no program `{0}` in the daemon's PATH")]
    Missing(String),
    /// The only one lies where sandboxed commands can write.
    #[error(
        "`{name}` leads to {}, which sandboxed commands can change, so it is not run outside the sandbox; \
         install it outside of every workspace, or name another one by its absolute path", path.display()
    )]
    Writable {
        /// The name that was looked for.
        name: String,
        /// Where it was found.
        path: PathBuf,
    },
    /// A path that starts nowhere in particular.
    #[error("`{0}` is a relative path: name the program by its absolute path, or by its name alone")]
    Relative(String),
}

impl ProgramFinder {
    /// Looks in the directories of a PATH; `writable` tells where sandboxed commands may write, and is asked anew
    /// each time.
    pub fn new(
        path: Option<&OsStr>,
        writable: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static,
    ) -> ProgramFinder {
        let path = path.map_or_else(|| USUAL_PATH.into(), OsStr::to_owned);
        ProgramFinder { path, writable: Arc::new(writable) }
    }

    /// The program of this name or absolute path, with every link resolved.
    pub fn find(&self, name: &str) -> Result<Program, ProgramNotFound> {
        let places = self.writable_places();
        if Path::new(name).is_absolute() {
            return candidate(PathBuf::from(name), &places)
                .unwrap_or_else(|| Err(ProgramNotFound::Missing(name.to_owned())));
        }
        if name.contains('/') {
            return Err(ProgramNotFound::Relative(name.to_owned()));
        }
        let mut refused = None;
        for directory in split_paths(&self.path).filter(|directory| directory.is_absolute()) {
            match candidate(directory.join(name), &places) {
                Some(Ok(program)) => return Ok(program),
                Some(Err(error)) => refused = refused.or(Some(error)),
                None => {}
            }
        }
        let refused = refused.map(|error| match error {
            ProgramNotFound::Writable { path, .. } => {
                ProgramNotFound::Writable { name: name.to_owned(), path }
            }
            other => other,
        });
        Err(refused.unwrap_or_else(|| ProgramNotFound::Missing(name.to_owned())))
    }

    /// The PATH for a process with more rights than a sandboxed command: only absolute directories in which
    /// nothing can be changed by one.
    pub fn path(&self) -> OsString {
        let places = self.writable_places();
        let kept = split_paths(&self.path).filter(|directory| {
            directory.is_absolute() && directory.canonicalize().is_ok_and(|real| !is_within(&real, &places))
        });
        join_paths(kept).unwrap_or_else(|_| USUAL_PATH.into())
    }

    /// The directories of PATH that do not count, because they are relative or can be changed by sandboxed
    /// commands.
    pub fn ignored_directories(&self) -> Vec<PathBuf> {
        let places = self.writable_places();
        let counts = |directory: &PathBuf| {
            let real = directory.canonicalize();
            directory.is_absolute() && !real.is_ok_and(|real| is_within(&real, &places))
        };
        split_paths(&self.path).filter(|directory| !counts(directory)).collect()
    }

    /// Whether sandboxed commands may change what lies at a path, or where it leads.
    pub fn is_writable_by_commands(&self, path: &Path) -> bool {
        let places = self.writable_places();
        // Each step counts: a link in such a place leads out of it again.
        path.ancestors().any(|step| step.canonicalize().is_ok_and(|real| is_within(&real, &places)))
    }

    pub(crate) fn writable_places(&self) -> Vec<PathBuf> {
        (self.writable)().into_iter().filter_map(|place| place.canonicalize().ok()).collect()
    }
}

/// The program at a path, if there is one, or why it does not count.
fn candidate(path: PathBuf, places: &[PathBuf]) -> Option<Result<Program, ProgramNotFound>> {
    let real = path.canonicalize().ok().filter(|real| is_executable(real))?;
    if is_within(&real, places) {
        let name = path.display().to_string();
        return Some(Err(ProgramNotFound::Writable { name, path: real }));
    }
    Some(Ok(Program::at(real).with_name(path.into_os_string())))
}

pub(crate) fn is_within(path: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

impl std::fmt::Debug for ProgramFinder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ProgramFinder").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::{ProgramFinder, ProgramNotFound};

    fn executable(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn nothing_is_taken_from_where_sandboxed_commands_write() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let (workspace, outside) = (root.join("workspace"), root.join("outside"));
        executable(&workspace.join(".venv/bin/git"));
        executable(&outside.join("git"));
        executable(&workspace.join("only-here"));
        fs::create_dir_all(outside.join("links")).unwrap();
        symlink(workspace.join("only-here"), outside.join("links/linked")).unwrap();
        symlink(workspace.join(".venv/bin"), outside.join("venv")).unwrap();
        let path = std::env::join_paths([
            workspace.join(".venv/bin"),
            outside.join("venv"),
            Path::new("relative").to_owned(),
            outside.join("links"),
            outside.clone(),
            workspace.clone(),
        ]);
        let path: OsString = path.unwrap();
        let places = vec![workspace.clone()];
        let finder = ProgramFinder::new(Some(&path), move || places.clone());

        assert_eq!(finder.find("git").unwrap().path(), outside.join("git"));
        let refused = |name: &str| matches!(finder.find(name), Err(ProgramNotFound::Writable { .. }));
        assert!(refused("only-here") && refused("linked"));
        assert!(refused(workspace.join(".venv/bin/git").to_str().unwrap()));
        assert!(refused(outside.join("links/linked").to_str().unwrap()));
        assert_eq!(finder.find("./git"), Err(ProgramNotFound::Relative("./git".to_owned())));
        assert_eq!(finder.find("missing"), Err(ProgramNotFound::Missing("missing".to_owned())));
        assert_eq!(finder.find("/etc/passwd"), Err(ProgramNotFound::Missing("/etc/passwd".to_owned())));
        let kept = std::env::join_paths([outside.join("links"), outside.clone()]).unwrap();
        assert_eq!(finder.path(), kept);
        assert_eq!(finder.ignored_directories().len(), 4);
        assert!(finder.is_writable_by_commands(&workspace.join("missing")));
        assert!(
            finder.is_writable_by_commands(&outside.join("links/linked"))
                && !finder.is_writable_by_commands(&outside.join("git"))
        );
    }

    #[test]
    fn what_becomes_writable_later_no_longer_counts() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        executable(&root.join("bin/tool"));
        let marker = root.join("now");
        let (place, told) = (root.join("bin"), marker.clone());
        let places = move || if told.exists() { vec![place.clone()] } else { Vec::new() };
        let finder = ProgramFinder::new(Some(OsStr::new(root.join("bin").to_str().unwrap())), places);
        assert!(finder.find("tool").is_ok());
        fs::write(marker, "").unwrap();
        assert!(matches!(finder.find("tool"), Err(ProgramNotFound::Writable { .. })));
    }
}
