//! Projects: workspaces that their owner has registered, in the order in which that was done. Kept in
//! `projects.json`, replaced atomically. Sessions belong to a project by their workspace and know nothing of it, so
//! that taking a project off the list loses none of them.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use ostler_eventlog::LogError;
use ostler_types::{Refusal, RefusalCode, RefusalKind};
use ostler_workspace_fs::{ReplaceOptions, replace_file};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::engine::Engine;
use crate::error::EngineError;

/// How many projects there can be.
const LIMIT: usize = 10_000;
/// The version of the file.
const VERSION: u32 = 1;

/// A registered workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id.
    pub id: Uuid,
    /// The directory, as it really is.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// When it was registered.
    pub added_at: Timestamp,
}

impl Engine {
    /// The projects, in the order in which they were added.
    pub fn projects(&self) -> Result<Vec<Project>, EngineError> {
        let known = self.shared.projects.lock();
        known.clone().ok_or_else(|| failed(&unreadable()))
    }

    /// Registers a directory. It is one of the projects once it is on disk.
    pub async fn add_project(&self, path: &str) -> Result<Project, EngineError> {
        self.refuse_if_stopping()?;
        let path = self.project_path(path).await?;
        self.refuse_unfit(&path).await?;
        let name =
            Path::new(&path).file_name().map_or_else(|| path.clone(), |name| name.display().to_string());
        let clock = self.clock();
        let project = Project { id: clock.uuid(), path, name, added_at: clock.now() };
        let added = project.clone();
        self.change_projects(move |projects| {
            if projects.iter().any(|known| known.path == added.path) {
                return Err(Refusal::conflict("project_exists", "Project already added"));
            }
            if projects.len() >= LIMIT {
                let message = format!("there are {LIMIT} projects already");
                return Err(Refusal::new(RefusalKind::TooMany, "too_many_projects", message)
                    .hint("remove those that are no longer used"));
            }
            projects.push(added);
            Ok(())
        })
        .await?;
        Ok(project)
    }

    /// Takes a project off the list. Its sessions stay as they are.
    pub async fn remove_project(&self, id: Uuid) -> Result<(), EngineError> {
        self.refuse_if_stopping()?;
        self.change_projects(move |projects| {
            let before = projects.len();
            projects.retain(|project| project.id != id);
            if projects.len() < before {
                return Ok(());
            }
            Err(Refusal::not_found("project_not_found", "Project not found"))
        })
        .await
    }

    /// The path of a directory that can be a project, as it really is: sessions know theirs in the same way.
    async fn project_path(&self, path: &str) -> Result<String, Refusal> {
        let missing =
            || Refusal::invalid(RefusalCode::BadWorkspace, format!("Directory does not exist: {path}"));
        if !Path::new(path).is_absolute() || path.contains('\0') {
            return Err(missing().hint("name it by an absolute path"));
        }
        let real = tokio::fs::canonicalize(path).await.map_err(|_| missing())?;
        if !tokio::fs::metadata(&real).await.is_ok_and(|metadata| metadata.is_dir()) {
            return Err(missing());
        }
        let data =
            tokio::fs::canonicalize(self.data_dir()).await.unwrap_or_else(|_| self.data_dir().to_owned());
        if real.starts_with(data) {
            let message = format!("`{path}` lies in the daemon's own data directory");
            return Err(
                Refusal::invalid(RefusalCode::BadWorkspace, message).hint("name a directory of your own")
            );
        }
        real.into_os_string().into_string().map_err(|_| {
            Refusal::invalid(RefusalCode::BadWorkspace, "the directory's path is not UTF-8").hint("rename it")
        })
    }

    async fn change_projects(
        &self,
        change: impl FnOnce(&mut Vec<Project>) -> Result<(), Refusal> + Send + 'static,
    ) -> Result<(), EngineError> {
        let shared = Arc::clone(&self.shared);
        match tokio::task::spawn_blocking(move || shared.projects.change(change)).await {
            Ok(changed) => changed,
            Err(error) => Err(failed(&Error::other(error))),
        }
    }
}

/// The list, and where it is kept.
#[derive(Debug)]
pub(crate) struct Projects {
    path: PathBuf,
    /// `None` when the file is there and cannot be read: then it is not written over.
    known: Mutex<Option<Vec<Project>>>,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    version: u32,
    data: T,
}

impl Projects {
    /// Reads what was kept.
    pub(crate) fn load(path: PathBuf) -> Projects {
        let known = match std::fs::read(&path) {
            Ok(content) => match serde_json::from_slice::<Kept<Vec<Project>>>(&content) {
                Ok(Kept { version: VERSION, data }) => Some(data),
                Ok(Kept { version, .. }) => {
                    tracing::warn!(version, "projects.json is of another version, and is left as it is");
                    None
                }
                Err(error) => {
                    tracing::warn!(%error, "projects.json is not readable, and is left as it is");
                    None
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Some(Vec::new()),
            Err(error) => {
                tracing::warn!(%error, "projects.json cannot be read");
                None
            }
        };
        Projects { path, known: Mutex::new(known) }
    }

    /// Changes the list, one change at a time. It holds once it is on disk.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Project>) -> Result<(), Refusal>,
    ) -> Result<(), EngineError> {
        let mut known = self.lock();
        let mut next = known.clone().ok_or_else(|| failed(&unreadable()))?;
        change(&mut next)?;
        let written = serde_json::to_vec_pretty(&Kept { version: VERSION, data: &next })
            .map_err(Error::from)
            .and_then(|content| replace_file(&self.path, &content, ReplaceOptions::STATE));
        written.map_err(|error| failed(&error))?;
        *known = Some(next);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Project>>> {
        self.known.lock().expect("no code panics while it holds the projects")
    }
}

fn unreadable() -> Error {
    Error::other("projects.json cannot be read; mend or remove it, then start the daemon again")
}

fn failed(error: &Error) -> EngineError {
    LogError::Io(format!("the projects are not kept: {error}")).into()
}

#[cfg(test)]
mod tests {
    use ostler_types::Refusal;
    use uuid::Uuid;

    use super::{Project, Projects};

    fn project(number: u128) -> Project {
        let path = format!("/p/{number}");
        Project {
            id: Uuid::from_u128(number),
            path,
            name: number.to_string(),
            added_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        }
    }

    fn add(projects: &Projects, number: u128) {
        projects
            .change(|known| {
                known.push(project(number));
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn projects_are_kept_in_order_and_two_at_once_are_both_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("projects.json");
        let projects = Projects::load(path.clone());
        add(&projects, 3);
        std::thread::scope(|scope| {
            for number in 10..18 {
                let projects = &projects;
                scope.spawn(move || add(projects, number));
            }
        });
        add(&projects, 1);
        let known = Projects::load(path.clone()).lock().clone().unwrap();
        assert_eq!(known.len(), 10);
        assert_eq!((&known[0], &known[9]), (&project(3), &project(1)));
        let written: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(written["version"], 1);
        assert_eq!(written["data"][0]["path"], "/p/3");
    }

    #[test]
    fn what_is_refused_or_cannot_be_read_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("projects.json");
        let projects = Projects::load(path.clone());
        add(&projects, 1);
        let before = std::fs::read(&path).unwrap();
        let refused = projects.change(|known| {
            known.clear();
            Err(Refusal::conflict("no", "no"))
        });
        assert!(refused.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(projects.lock().as_ref().unwrap().len(), 1);
        for content in ["{", r#"{"version":2,"data":[]}"#] {
            std::fs::write(&path, content).unwrap();
            let broken = Projects::load(path.clone());
            assert!(broken.change(|_| Ok(())).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
    }
}
