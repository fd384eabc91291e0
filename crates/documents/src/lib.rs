//! Small JSON documents that belong to a daemon and to no session: rules, trust, projects, logins, checks that turns changed.
//!
//! [`Documents`] is the storage: named contents that are replaced whole, by compare-and-swap. [`FileDocuments`] keeps
//! each as a file of the data directory. [`Document`] is one of them as a value, with a copy in memory.

mod document;
mod documents;
mod file_documents;

pub use document::Document;
pub use documents::{DocumentError, DocumentVersion, Documents, StoredDocument};
pub use file_documents::FileDocuments;
