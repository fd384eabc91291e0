//! Projects: registering workspaces, listing them, and taking them off the list.

use hyper::Method;
use serde::{Deserialize, Serialize};

use crate::{Client, ClientError};

/// A registered workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id, a UUID with hyphens.
    pub id: String,
    /// The directory, as it really is.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// When it was registered, in UTC.
    pub added_at: String,
}

#[derive(Deserialize)]
struct Projects {
    projects: Vec<Project>,
}

impl Client {
    /// Lists the projects, in the order in which they were added.
    pub async fn projects(&self) -> Result<Vec<Project>, ClientError> {
        let Projects { projects } = self.get("/v1/projects").await?;
        Ok(projects)
    }

    /// Registers an existing directory, named by an absolute path.
    pub async fn add_project(&self, path: &str) -> Result<Project, ClientError> {
        self.ask(Method::POST, "/v1/projects", &serde_json::json!({ "path": path })).await
    }

    /// Takes a project off the list. Its sessions stay as they are.
    pub async fn remove_project(&self, id: &str) -> Result<(), ClientError> {
        // An id has no letter that an address would need to have written differently.
        let plain: String =
            id.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
        self.remove(&format!("/v1/projects/{plain}")).await
    }
}
