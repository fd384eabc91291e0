//! Projects: registering workspaces, listing them, and taking them off the list.

use hyper::Method;
use ostler_api_types::{AddProject, ProjectList, ProjectView};

use crate::{Client, ClientError};

impl Client {
    /// Lists the projects, in the order in which they were added.
    pub async fn projects(&self) -> Result<Vec<ProjectView>, ClientError> {
        let ProjectList { projects } = self.get("/v1/projects").await?;
        Ok(projects)
    }

    /// Registers an existing directory, named by an absolute path.
    pub async fn add_project(&self, path: &str) -> Result<ProjectView, ClientError> {
        self.request(Method::POST, "/v1/projects", &AddProject { path: path.to_owned() }).await
    }

    /// Takes a project off the list. Its sessions stay as they are.
    pub async fn remove_project(&self, id: &str) -> Result<(), ClientError> {
        // An id has no letter that an address would need to have written differently.
        let plain: String =
            id.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
        self.remove(&format!("/v1/projects/{plain}")).await
    }
}
