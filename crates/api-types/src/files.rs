//! Files beside a session's log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::messages::InputPart;

/// A file beside the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stored")]
pub struct StoredFile {
    /// Where it lies, for the `ref` of a part.
    #[serde(rename = "ref")]
    pub reference: String,
    pub name: String,
    /// What it is, told from its content.
    pub mime_type: String,
    /// Its length in bytes.
    pub size: u64,
}

/// Files beside the log, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Files")]
pub struct FileList {
    pub files: Vec<StoredFile>,
    /// Whether there are more than these.
    pub more: bool,
}

impl StoredFile {
    /// The part of a message that shows it: a picture, a sound or a file.
    pub fn into_part(self) -> InputPart {
        InputPart::attached(self.reference, self.mime_type)
    }
}
