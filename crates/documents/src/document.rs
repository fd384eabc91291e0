//! One document as a value: read once, asked in memory, changed on disk first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::documents::{DocumentError, DocumentVersion, Documents, StoredDocument};

/// Attempts at one change, of which each but the first follows a conflict with another writer.
const MAX_ATTEMPTS: usize = 16;

/// A document that holds a `T`. One that was never written holds the default.
pub struct Document<T> {
    documents: Arc<dyn Documents>,
    name: &'static str,
    /// None while it is there and cannot be read: it is not written over then.
    cached: Mutex<Option<CachedValue<T>>>,
    /// Held by whoever changes it, so that changes of this process do not make each other try again.
    changing: tokio::sync::Mutex<()>,
}

struct CachedValue<T> {
    value: Arc<T>,
    version: Option<DocumentVersion>,
}

impl<T> Clone for CachedValue<T> {
    fn clone(&self) -> CachedValue<T> {
        CachedValue { value: Arc::clone(&self.value), version: self.version }
    }
}

impl<T: Serialize + DeserializeOwned + Default + Clone + PartialEq + Send + Sync> Document<T> {
    /// Reads a document. What is lost while it cannot be read is said in the daemon's own log, by `consequence`.
    pub async fn load(
        documents: Arc<dyn Documents>,
        name: &'static str,
        consequence: &'static str,
    ) -> Document<T> {
        let document =
            Document { documents, name, cached: Mutex::new(None), changing: tokio::sync::Mutex::default() };
        if let Err(error) = document.reload().await {
            tracing::warn!(%error, consequence, "{name} cannot be read, and is left as it is");
        }
        document
    }

    /// The current value of the document, or none while the document cannot be read.
    pub fn get(&self) -> Option<Arc<T>> {
        self.known().as_ref().map(|known| Arc::clone(&known.value))
    }

    /// Changes what it holds. The change counts once it is on disk; one that changes nothing is not written. It is made
    /// anew where somebody else changed the document meanwhile, and may refuse.
    pub async fn change<R, E: From<DocumentError>>(
        &self,
        change: impl Fn(&mut T) -> Result<R, E>,
    ) -> Result<R, E> {
        let _changing = self.changing.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            let known = self.known().clone();
            let CachedValue { value, version } =
                known.ok_or(DocumentError::Unreadable { name: self.name })?;
            let mut next = T::clone(&value);
            let result = change(&mut next)?;
            if next == *value {
                return Ok(result);
            }
            let content = serde_json::to_vec_pretty(&next)
                .map_err(|error| DocumentError::Storage(format!("{}: {error}", self.name)))?;
            match self.documents.replace(self.name, version, content.into()).await {
                Ok(version) => {
                    *self.known() = Some(CachedValue { value: Arc::new(next), version: Some(version) });
                    return Ok(result);
                }
                Err(DocumentError::Changed) => self.reload().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(DocumentError::Changed.into())
    }

    async fn reload(&self) -> Result<(), DocumentError> {
        let read = self.documents.read(self.name).await;
        let known = read.and_then(|stored| match stored {
            None => Ok(CachedValue { value: Arc::default(), version: None }),
            Some(StoredDocument { content, version }) => match serde_json::from_slice(&content) {
                Ok(value) => Ok(CachedValue { value: Arc::new(value), version: Some(version) }),
                Err(error) => Err(DocumentError::Storage(error.to_string())),
            },
        });
        *self.known() = known.as_ref().ok().cloned();
        known.map(drop)
    }

    fn known(&self) -> MutexGuard<'_, Option<CachedValue<T>>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::Document;
    use crate::{DocumentError, FileDocuments};

    type Numbers = Document<BTreeSet<u32>>;

    async fn open(documents: &FileDocuments) -> Numbers {
        Document::load(Arc::new(documents.clone()), "numbers.json", "no number is known").await
    }

    async fn add(numbers: &Numbers, number: u32) -> Result<bool, DocumentError> {
        numbers.change(|known| Ok(known.insert(number))).await
    }

    #[tokio::test]
    async fn a_change_is_on_disk_when_it_counts() {
        let folder = tempfile::tempdir().unwrap();
        let documents = FileDocuments::new(folder.path());
        let numbers = open(&documents).await;
        assert!(numbers.get().unwrap().is_empty());
        assert!(add(&numbers, 3).await.unwrap());
        let path = folder.path().join("numbers.json");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n  3\n]");
        assert_eq!(open(&documents).await.get(), numbers.get());
        // A change that changes nothing writes nothing.
        std::fs::write(&path, "[\n  4\n]").unwrap();
        assert!(!add(&numbers, 3).await.unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n  4\n]");
        let refused: Result<(), DocumentError> = numbers
            .change(|known| {
                known.clear();
                Err(DocumentError::Storage("refused".to_owned()))
            })
            .await;
        assert!(refused.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n  4\n]");
    }

    #[tokio::test]
    async fn several_writers_lose_nothing_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let documents = FileDocuments::new(folder.path());
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..4 {
            // Each with a copy of its own, as several nodes have.
            let numbers = open(&documents).await;
            writers.spawn(async move {
                for number in 0..8 {
                    let number = writer * 100 + number;
                    while add(&numbers, number).await == Err(DocumentError::Changed) {}
                }
            });
        }
        writers.join_all().await;
        assert_eq!(open(&documents).await.get().unwrap().len(), 32);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.json");
        let documents = FileDocuments::new(folder.path());
        for content in ["{", "[\"text\"]", ""] {
            std::fs::write(&path, content).unwrap();
            let numbers = open(&documents).await;
            assert_eq!(numbers.get(), None);
            let refused = add(&numbers, 1).await.unwrap_err();
            assert_eq!(refused, DocumentError::Unreadable { name: "numbers.json" });
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        // Nor is what became unreadable since.
        std::fs::write(&path, "[1]").unwrap();
        let numbers = open(&documents).await;
        std::fs::write(&path, "{").unwrap();
        assert!(add(&numbers, 2).await.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{");
    }
}
