//! Workspaces: trusted ones, registered ones, the directories and files in them.

use jiff::Timestamp;
use ostler_types::Brought;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether to trust it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TrustBody")]
#[serde(deny_unknown_fields)]
pub struct TrustWorkspace {
    /// An existing directory, as an absolute path.
    pub workspace_path: String,
    /// Whether what lies in it may start processes and change what is asked.
    pub trusted: bool,
}

/// Whether a workspace is trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Trusted")]
pub struct WorkspaceTrust {
    pub workspace_path: String,
    pub trusted: bool,
    /// What its own files say, which counts only while it is trusted.
    pub brings: Brought,
}

/// The projects, in the order in which they were added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectList {
    pub projects: Vec<ProjectView>,
}

/// A registered workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Project")]
pub struct ProjectView {
    /// Its id, a UUID with hyphens.
    pub id: String,
    /// The directory, as it really is.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// When it was registered.
    pub added_at: Timestamp,
}

/// The directory to register.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProjectBody")]
#[serde(deny_unknown_fields)]
pub struct AddProject {
    /// An existing directory, as an absolute path.
    pub path: String,
}

/// The project is off the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectRemoved {
    pub project_id: String,
}

/// What a directory holds of directories, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryList {
    /// The directory, as it really is.
    pub path: String,
    /// The one above it; null at the root.
    pub parent: Option<String>,
    pub directories: Vec<OneDirectory>,
    /// Whether there are more.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneDirectory {
    pub name: String,
    pub path: String,
    /// Whether it is a git repository.
    pub git: bool,
}

/// Files, the best match first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundFiles {
    pub files: Vec<FoundFile>,
    /// Whether there are more.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundFile {
    /// Relative to the workspace.
    pub path: String,
}
