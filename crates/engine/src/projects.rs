//! Projects: workspaces that their owner has registered, in the order in which that was done. Kept in
//! the document `projects.json`. Sessions belong to a project by their workspace and know nothing of it, so
//! that taking a project off the list loses none of them.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use ostler_documents::{Document, DocumentError, Documents};
use ostler_eventlog::LogError;
use ostler_runner::WorkspacePathError;
use ostler_types::{Refusal, RefusalCode, RefusalKind, RunnerName, workspace_key};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::engine::Engine;
use crate::error::EngineError;

/// How many projects there can be.
const MAX_PROJECTS: usize = 10_000;
/// The name of the document, and its version.
const DOCUMENT_NAME: &str = "projects.json";
const VERSION: u32 = 1;

/// A registered workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id.
    pub id: Uuid,
    /// The runner on whose machine the directory is; none for the daemon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerName>,
    /// The directory, as it really is.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// When it was registered.
    pub added_at: Timestamp,
}

impl Project {
    /// The key of its workspace: one path on two machines is two workspaces.
    pub fn workspace_key(&self) -> String {
        workspace_key(self.runner.as_ref(), &self.path)
    }
}

impl Engine {
    /// The projects, in the order in which they were added.
    pub fn projects(&self) -> Result<Vec<Project>, EngineError> {
        match self.shared.projects.0.get() {
            Some(known) => Ok(known.data.clone()),
            None => Err(failed(&DocumentError::Unreadable { name: DOCUMENT_NAME })),
        }
    }

    /// Registers a directory. It is one of the projects once it is on disk.
    pub async fn add_project(&self, path: &str) -> Result<Project, EngineError> {
        self.refuse_if_stopping()?;
        let path = self.project_path(path).await?;
        self.check_workspace(None, &path).await?;
        let name =
            Path::new(&path).file_name().map_or_else(|| path.clone(), |name| name.display().to_string());
        let clock = self.clock();
        let project = Project { id: clock.uuid(), runner: None, path, name, added_at: clock.now() };
        let added = project.clone();
        self.change_projects(move |projects| {
            if projects.iter().any(|known| known.workspace_key() == added.workspace_key()) {
                return Err(Refusal::conflict("project_exists", "Project already added"));
            }
            if projects.len() >= MAX_PROJECTS {
                let message = format!("there are {MAX_PROJECTS} projects already");
                return Err(Refusal::new(RefusalKind::TooMany, "too_many_projects", message)
                    .hint("remove those that are no longer used"));
            }
            projects.push(added.clone());
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
        match self.shared.runner.workspaces().resolve_directory(path.to_owned()).await {
            Ok(resolved) if resolved.is_own_data => {
                let message = format!("`{path}` lies in the daemon's own data directory");
                Err(Refusal::invalid(RefusalCode::BadWorkspace, message).hint("name a directory of your own"))
            }
            Ok(resolved) => Ok(resolved.path),
            Err(WorkspacePathError::NotUtf8) => {
                let message = "the directory's path is not UTF-8";
                Err(Refusal::invalid(RefusalCode::BadWorkspace, message).hint("rename it"))
            }
            Err(
                WorkspacePathError::Missing(_)
                | WorkspacePathError::NotADirectory
                | WorkspacePathError::Unreadable(_),
            ) => Err(missing()),
        }
    }

    async fn change_projects(
        &self,
        change: impl Fn(&mut Vec<Project>) -> Result<(), Refusal>,
    ) -> Result<(), EngineError> {
        self.shared.projects.change(change).await
    }
}

/// The list.
pub(crate) struct ProjectStore(Document<ProjectsDocument>);

/// The document.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct ProjectsDocument {
    #[serde(deserialize_with = "this_version")]
    version: u32,
    data: Vec<Project>,
}

impl Default for ProjectsDocument {
    fn default() -> ProjectsDocument {
        ProjectsDocument { version: VERSION, data: Vec::new() }
    }
}

fn this_version<'a, D: Deserializer<'a>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        VERSION => Ok(VERSION),
        other => Err(serde::de::Error::custom(format!("it is of version {other}"))),
    }
}

/// What a change of the list comes to.
enum ProjectChangeError {
    Refused(Refusal),
    Failed(DocumentError),
}

impl From<DocumentError> for ProjectChangeError {
    fn from(error: DocumentError) -> ProjectChangeError {
        ProjectChangeError::Failed(error)
    }
}

impl ProjectStore {
    /// Reads what was kept.
    pub(crate) async fn load(documents: &Arc<dyn Documents>) -> ProjectStore {
        ProjectStore(Document::load(Arc::clone(documents), DOCUMENT_NAME, "no project is known").await)
    }

    /// Changes the list, one change at a time. It holds once it is on disk.
    async fn change(
        &self,
        change: impl Fn(&mut Vec<Project>) -> Result<(), Refusal>,
    ) -> Result<(), EngineError> {
        let changed = self.0.change(|kept| change(&mut kept.data).map_err(ProjectChangeError::Refused)).await;
        changed.map_err(|unchanged| match unchanged {
            ProjectChangeError::Refused(refusal) => refusal.into(),
            ProjectChangeError::Failed(error) => failed(&error),
        })
    }
}

fn failed(error: &DocumentError) -> EngineError {
    LogError::Io(format!("the projects are not kept: {error}")).into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostler_documents::{Documents, FileDocuments};
    use ostler_types::Refusal;
    use uuid::Uuid;

    use super::{Project, ProjectStore};

    fn project(number: u128) -> Project {
        let path = format!("/p/{number}");
        Project {
            id: Uuid::from_u128(number),
            runner: None,
            path,
            name: number.to_string(),
            added_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        }
    }

    async fn add(projects: &ProjectStore, number: u128) {
        let added = projects.change(|known| {
            known.push(project(number));
            Ok(())
        });
        added.await.unwrap();
    }

    #[tokio::test]
    async fn projects_are_kept_in_order_and_two_at_once_are_both_kept() {
        let dir = tempfile::tempdir().unwrap();
        let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(dir.path()));
        let projects = Arc::new(ProjectStore::load(&documents).await);
        add(&projects, 3).await;
        let mut adding = tokio::task::JoinSet::new();
        for number in 10..18 {
            let projects = Arc::clone(&projects);
            adding.spawn(async move { add(&projects, number).await });
        }
        adding.join_all().await;
        add(&projects, 1).await;
        let known = ProjectStore::load(&documents).await.0.get().unwrap();
        assert_eq!(known.data.len(), 10);
        assert_eq!((&known.data[0], &known.data[9]), (&project(3), &project(1)));
        let content = std::fs::read(dir.path().join("projects.json")).unwrap();
        let written: serde_json::Value = serde_json::from_slice(&content).unwrap();
        assert_eq!(written["version"], 1);
        assert_eq!(written["data"][0]["path"], "/p/3");
        assert_eq!(written["data"][0].get("runner"), None, "a local project is written as ever");
    }

    #[tokio::test]
    async fn what_is_refused_or_cannot_be_read_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("projects.json");
        let documents: Arc<dyn Documents> = Arc::new(FileDocuments::new(dir.path()));
        let projects = ProjectStore::load(&documents).await;
        add(&projects, 1).await;
        let before = std::fs::read(&path).unwrap();
        let refused = projects.change(|known| {
            known.clear();
            Err(Refusal::conflict("no", "no"))
        });
        assert!(refused.await.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(projects.0.get().unwrap().data.len(), 1);
        for content in ["{", r#"{"version":2,"data":[]}"#] {
            std::fs::write(&path, content).unwrap();
            let broken = ProjectStore::load(&documents).await;
            assert!(broken.change(|_| Ok(())).await.is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
    }
}
