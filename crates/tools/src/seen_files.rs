//! What files held when a session last saw them, so that what somebody else has done since is noticed: a person, a
//! command, another session. Only a fingerprint is kept, as long as the daemon runs; what is not known is not judged.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_types::SessionId;

/// Files that are known, of all sessions together. When there are more, all of it is forgotten.
const MAX_SEEN_FILES: usize = 100_000;

/// The fingerprints, by session and file.
#[derive(Default)]
pub(crate) struct SeenFiles(Mutex<HashMap<u64, Fingerprint>>);

/// Stands for the content of a file, in whatever pieces it was read (FNV-1a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl SeenFiles {
    /// The session has seen the file with this content, or has put it there.
    pub(crate) fn record(&self, session: SessionId, path: &Path, content: Fingerprint) {
        let mut known = self.lock();
        if known.len() >= MAX_SEEN_FILES {
            known.clear();
        }
        known.insert(key(session, path), content);
    }

    /// The session knows nothing of the file.
    pub(crate) fn forget(&self, session: SessionId, path: &Path) {
        self.lock().remove(&key(session, path));
    }

    /// Whether the session has seen the file, and with another content than this.
    pub(crate) fn differs(&self, session: SessionId, path: &Path, content: &[u8]) -> bool {
        let known = self.lock().get(&key(session, path)).copied();
        known.is_some_and(|known| known != Fingerprint::from_content(content))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Fingerprint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(session: SessionId, path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    (session.uuid(), path).hash(&mut hasher);
    hasher.finish()
}

impl Fingerprint {
    const EMPTY: Fingerprint = Fingerprint(0xcbf2_9ce4_8422_2325);

    /// That of a content.
    pub(crate) fn from_content(content: &[u8]) -> Fingerprint {
        Fingerprint::EMPTY.extended_by(content)
    }

    fn extended_by(self, more: &[u8]) -> Fingerprint {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Fingerprint(more.iter().fold(self.0, step))
    }
}

/// Takes the fingerprint of what is read through it.
pub(crate) struct FingerprintReader<'a, R> {
    reader: R,
    fingerprint: &'a mut Fingerprint,
}

impl<'a, R> FingerprintReader<'a, R> {
    pub(crate) fn new(reader: R, fingerprint: &'a mut Fingerprint) -> FingerprintReader<'a, R> {
        *fingerprint = Fingerprint::EMPTY;
        FingerprintReader { reader, fingerprint }
    }
}

impl<R: Read> Read for FingerprintReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        *self.fingerprint = self.fingerprint.extended_by(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::path::Path;

    use ostler_types::SessionId;

    use super::{Fingerprint, FingerprintReader, SeenFiles};

    #[test]
    fn what_is_not_known_is_not_judged() {
        let (known, file) = (SeenFiles::default(), Path::new("/w/a"));
        let [one, other] = [1, 2].map(|id| SessionId::new(uuid::Uuid::from_u128(id)));
        assert!(!known.differs(one, file, b"anything"));
        known.record(one, file, Fingerprint::from_content(b"seen"));
        assert!(!known.differs(one, file, b"seen"));
        assert!(known.differs(one, file, b"changed"));
        assert!(!known.differs(other, file, b"changed"), "another session has not seen it");
        known.forget(one, file);
        assert!(!known.differs(one, file, b"changed"));
    }

    #[test]
    fn a_fingerprint_is_the_same_however_the_content_was_read() {
        let mut fingerprint = Fingerprint::EMPTY;
        let content = "a longer text".repeat(100);
        let mut reader = FingerprintReader::new(content.as_bytes(), &mut fingerprint);
        let mut piece = [0; 7];
        while reader.read(&mut piece).unwrap() > 0 {}
        assert_eq!(fingerprint, Fingerprint::from_content(content.as_bytes()));
        assert_ne!(fingerprint, Fingerprint::from_content(&content.as_bytes()[1..]));
    }
}
