//! The daemon's token: 256 random bits in a file that only its owner can read. A client shows it on
//! every request. Replacing the file takes effect at once.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

use crate::auth_throttle::{AuthThrottle, AuthThrottleLimits, TooManyAuthFailures};

/// A token is 64 hex digits; a file with much more is not one.
const MAX_BYTES: u64 = 4096;

/// The SHA-256 of a secret, which is all that is kept of it.
pub type SecretDigest = [u8; 32];

/// Knows whether a token is the right one.
pub struct DaemonToken {
    path: PathBuf,
    loaded: Mutex<LoadedToken>,
    /// How fast those are answered who guess at it, or at what was given for it.
    throttle: AuthThrottle,
}

/// The digest of the file's content, and which version of the file it was.
struct LoadedToken {
    version: (u64, i64, i64),
    digest: SecretDigest,
}

/// Why the token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Others could have read it.
    #[error("{path} can be read by others (mode {mode:o}); remove it and start again, and a new one is made")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode bits.
        mode: u32,
    },
    /// The file cannot be read or made.
    #[error("the token file {path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl DaemonToken {
    /// Reads the token of a data directory, making one the first time.
    pub fn open(path: &Path) -> Result<DaemonToken, TokenError> {
        let io = |source| TokenError::Io { path: path.to_owned(), source };
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                let random = random_bytes::<32>().map_err(io)?;
                file.write_all(format!("{}\n", hex(&random)).as_bytes()).map_err(io)?;
                file.sync_all().map_err(io)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(error)),
        }
        let known = Mutex::new(read(path)?);
        Ok(DaemonToken { path: path.to_owned(), loaded: known, throttle: AuthThrottle::default() })
    }

    /// The same token, at which one can guess at another pace.
    #[must_use]
    pub fn with_throttle(self, pace: AuthThrottleLimits) -> DaemonToken {
        DaemonToken { throttle: AuthThrottle::new(pace), ..self }
    }

    /// Waits until somebody may be told that what it showed is wrong.
    pub async fn wait_to_refuse(&self) -> Result<(), TooManyAuthFailures> {
        self.throttle.wait().await
    }

    /// Whether this is the token. Takes the same time however much of it is right.
    pub fn matches(&self, shown: &str) -> bool {
        self.has_digest(&digest(shown))
    }

    /// Whether this is the token's digest, still.
    pub fn has_digest(&self, digest: &SecretDigest) -> bool {
        self.digest().is_some_and(|known| digest.ct_eq(&known).into())
    }

    /// The token's digest as it is now; none while the file cannot be used.
    pub fn digest(&self) -> Option<SecretDigest> {
        let mut known = self.loaded.lock().expect("no code panics while it holds the token");
        match std::fs::metadata(&self.path).map(|metadata| version(&metadata)) {
            Ok(version) if version == known.version => {}
            // Replaced or gone: the old one is void from now on.
            _ => match read(&self.path) {
                Ok(fresh) => *known = fresh,
                Err(error) => {
                    tracing::error!(%error, "no request is let in until the token can be read");
                    return None;
                }
            },
        }
        Some(known.digest)
    }
}

/// What is kept of a secret that was shown.
pub(crate) fn digest(shown: &str) -> SecretDigest {
    Sha256::digest(shown.as_bytes()).into()
}

fn read(path: &Path) -> Result<LoadedToken, TokenError> {
    let io = |source| TokenError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(TokenError::Exposed { path: path.to_owned(), mode });
    }
    let mut content = String::new();
    file.take(MAX_BYTES).read_to_string(&mut content).map_err(io)?;
    let content = content.trim();
    if content.len() < 32 {
        return Err(io(std::io::Error::other("it is empty or too short; remove it, and a new one is made")));
    }
    Ok(LoadedToken { version: version(&metadata), digest: digest(content) })
}

fn version(metadata: &std::fs::Metadata) -> (u64, i64, i64) {
    (metadata.ino(), metadata.mtime(), metadata.mtime_nsec())
}

/// Bytes that nobody can guess.
pub(crate) fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

/// Bytes as hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
