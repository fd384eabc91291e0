//! The contract of the storage.

use bytes::Bytes;
use futures_util::future::BoxFuture;

/// Keeps small documents by their names. Each method may be called at any time, from any task.
pub trait Documents: Send + Sync + 'static {
    /// The content of a document; none where it was never written.
    fn read(&self, name: &'static str) -> BoxFuture<'_, Result<Option<StoredDocument>, DocumentError>>;

    /// Replaces a document that still has this version (none: that does not exist), and returns once it is on disk.
    /// Otherwise nothing changes, and the error is [`DocumentError::Changed`].
    fn replace(
        &self,
        name: &'static str,
        expected: Option<DocumentVersion>,
        content: Bytes,
    ) -> BoxFuture<'_, Result<DocumentVersion, DocumentError>>;
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// The bytes of the document.
    pub content: Bytes,
    /// The version that these bytes have.
    pub version: DocumentVersion,
}

/// Tells apart the contents that a document has had. The storage alone knows what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentVersion(pub u64);

/// Errors of reading and replacing documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Somebody else replaced it first.
    #[error("it was changed by somebody else at the same time")]
    Changed,
    /// It is there and cannot be understood. It is left as it is.
    #[error("{name} cannot be read; mend or remove it, then start the daemon again")]
    Unreadable {
        /// Its name.
        name: &'static str,
    },
    /// The storage failed.
    #[error("{0}")]
    Storage(String),
}
