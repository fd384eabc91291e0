//! The names of contents: SHA-256, in hexadecimal where people and file systems see it.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// Which checkpoint. It is the digest of all that the checkpoint says, so two captures of a workspace
/// that did not change between them have the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckpointDigest(pub(crate) ContentDigest);

/// A text that is no checkpoint's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The id of a checkpoint is 64 hexadecimal digits in lower case.")]
pub struct ParseCheckpointDigestError;

impl fmt::Display for CheckpointDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CheckpointDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for CheckpointDigest {
    type Err = ParseCheckpointDigestError;

    fn from_str(text: &str) -> Result<CheckpointDigest, ParseCheckpointDigestError> {
        ContentDigest::from_hex(text).map(CheckpointDigest).ok_or(ParseCheckpointDigestError)
    }
}

/// The digest of some content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ContentDigest(pub(crate) [u8; 32]);

impl ContentDigest {
    pub(crate) fn of_bytes(bytes: &[u8]) -> ContentDigest {
        ContentDigest(Sha256::digest(bytes).into())
    }

    /// The digest and the length of all that a reader gives.
    pub(crate) fn of_reader(mut reader: impl Read) -> io::Result<(ContentDigest, u64)> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut length = 0;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok((ContentDigest(hasher.finalize().into()), length)),
                Ok(read) => {
                    hasher.update(&buffer[..read]);
                    length += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn from_hex(text: &str) -> Option<ContentDigest> {
        if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut digest = [0; 32];
        for (place, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
        }
        Some(ContentDigest(digest))
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{CheckpointDigest, ContentDigest};

    #[test]
    fn an_id_survives_its_text_and_nothing_else_is_one() {
        let id = CheckpointDigest(ContentDigest::of_bytes(b"abc"));
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(id.to_string(), text);
        assert_eq!(text.parse(), Ok(id));
        for bad in
            ["", "ba", &text.to_uppercase(), &text.replace('b', "g"), &format!("{text}0"), "../../etc/passwd"]
        {
            assert!(bad.parse::<CheckpointDigest>().is_err(), "{bad}");
        }
    }
}
