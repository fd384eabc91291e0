//! How people come in by the page: a one-time code, which the page trades for a cookie. Codes live in memory only;
//! cookies outlive the daemon, as digests in a file that only its owner can read. Where a cookie is shown and which
//! requests it is enough for is left to `access`.
//!
//! A cookie counts only together with the token that was there when it was given: replacing the token ends every
//! login.

use std::fs::File;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::{SignedDuration, Timestamp};
use ostler_types::Clock;
use ostler_workspace_fs::{ReplaceOptions, replace_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::refusals::TooMany;
use crate::token::{Digest, Token, digest, hex, random};

/// How long a code can be used.
const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// How many codes there can be at a time; the oldest gives way.
const CODES: usize = 16;
/// How long a cookie counts.
const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How many cookies there can be at a time; the oldest gives way.
const LOGINS: usize = 64;
/// The file is far smaller than this.
const MAX_BYTES: u64 = 64 * 1024;

/// Knows the codes and the cookies that let in.
pub struct Logins {
    path: PathBuf,
    token: Arc<Token>,
    clock: Arc<dyn Clock>,
    /// Where the page is, for those who come by TCP.
    address: Option<SocketAddr>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    codes: Vec<Code>,
    logins: Vec<Login>,
}

struct Code {
    digest: Digest,
    until: Timestamp,
}

/// A cookie that was given.
#[derive(Clone, Serialize, Deserialize)]
struct Login {
    /// Of the cookie and the token, in hex.
    digest: String,
    expires_at: Timestamp,
}

/// The address of the page with a code, and how long it lets in.
pub struct Invitation {
    /// What to open. The code is behind a `#`, so that a browser sends it to nobody.
    pub address: String,
    /// Until when.
    pub expires_at: Timestamp,
}

impl Logins {
    /// Reads who is logged in. What cannot be read logs nobody in.
    pub fn open(
        path: &Path,
        token: Arc<Token>,
        clock: Arc<dyn Clock>,
        address: Option<SocketAddr>,
    ) -> Logins {
        let logins = read(path).unwrap_or_else(|error| {
            tracing::warn!(%error, "{} cannot be read; everybody has to log in again", path.display());
            Vec::new()
        });
        let known = Mutex::new(Known { codes: Vec::new(), logins });
        Logins { path: path.to_owned(), token, clock, address, known }
    }

    /// A new code, as the address that uses it; none where the page has no address.
    pub fn invite(&self) -> std::io::Result<Option<Invitation>> {
        let Some(address) = self.page() else { return Ok(None) };
        let code = hex(&random::<16>()?);
        let (now, digest) = (self.clock.now(), digest(&code));
        let until = now.saturating_add(CODE_LIFETIME).unwrap_or(now);
        let mut known = self.lock();
        known.codes.retain(|code| code.until > now);
        if known.codes.len() >= CODES {
            known.codes.remove(0);
        }
        known.codes.push(Code { digest, until });
        Ok(Some(Invitation { address: format!("{address}#code={code}"), expires_at: until }))
    }

    /// Trades a code for a cookie. A code is good for one.
    pub(crate) fn log_in(&self, code: &str) -> std::io::Result<Option<String>> {
        let (now, shown) = (self.clock.now(), digest(code));
        let mut known = self.lock();
        known.codes.retain(|code| code.until > now);
        // Each is looked at, so that the time says nothing about which it was.
        let held = known.codes.len();
        known.codes.retain(|code| !bool::from(code.digest.ct_eq(&shown)));
        if known.codes.len() == held {
            return Ok(None);
        }
        let cookie = hex(&random::<32>()?);
        let Some(digest) = self.kept(&digest(&cookie)) else { return Ok(None) };
        let expires_at = now.saturating_add(LOGIN_LIFETIME).unwrap_or(now);
        known.logins.retain(|login| login.expires_at > now);
        if known.logins.len() >= LOGINS {
            known.logins.remove(0);
        }
        known.logins.push(Login { digest: hex(&digest), expires_at });
        self.keep(&known.logins);
        Ok(Some(cookie))
    }

    /// Waits until somebody may be told that its code is wrong.
    pub(crate) async fn wait_to_refuse(&self) -> Result<(), TooMany> {
        self.token.wait_to_refuse().await
    }

    /// Whether the cookie with this digest lets in.
    pub(crate) fn knows(&self, cookie: &Digest) -> bool {
        let Some(digest) = self.kept(cookie) else { return false };
        let (now, digest) = (self.clock.now(), hex(&digest));
        let known = self.lock();
        let live = known.logins.iter().filter(|login| login.expires_at > now);
        let found = live
            .fold(Choice::from(0), |found, login| found | login.digest.as_bytes().ct_eq(digest.as_bytes()));
        found.into()
    }

    /// Forgets the cookie with this digest.
    pub(crate) fn log_out(&self, cookie: &Digest) {
        let Some(digest) = self.kept(cookie) else { return };
        let digest = hex(&digest);
        let mut known = self.lock();
        let before = known.logins.len();
        known.logins.retain(|login| login.digest != digest);
        if known.logins.len() != before {
            self.keep(&known.logins);
        }
    }

    /// The cookie's name. Browsers give the cookies of one port to all ports of a host, so two daemons would log
    /// their people out of each other.
    pub(crate) fn cookie_name(&self) -> String {
        match self.address {
            Some(address) => format!("ostler_session_{}", address.port()),
            None => "ostler_session".to_owned(),
        }
    }

    /// How long a browser is to keep the cookie.
    pub(crate) fn cookie_seconds() -> i64 {
        LOGIN_LIFETIME.as_secs()
    }

    /// Where the page is. A listener on every address is found on this machine's own.
    fn page(&self) -> Option<String> {
        let mut address = self.address?;
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        Some(format!("http://{address}/"))
    }

    /// What is kept of a cookie; none while there is no token.
    fn kept(&self, cookie: &Digest) -> Option<Digest> {
        let token = self.token.digest()?;
        Some(Sha256::new().chain_update(cookie).chain_update(token).finalize().into())
    }

    /// Writes down who is logged in. Where that fails, a login counts until the daemon stops.
    fn keep(&self, logins: &[Login]) {
        let kept = serde_json::to_vec_pretty(logins)
            .map_err(std::io::Error::from)
            .and_then(|content| replace_file(&self.path, &content, ReplaceOptions::STATE));
        if let Err(error) = kept {
            tracing::warn!(%error, "{} cannot be written; logins end with the daemon", self.path.display());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no code panics while it holds the logins")
    }
}

fn read(path: &Path) -> std::io::Result<Vec<Login>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() > MAX_BYTES {
        return Err(std::io::Error::other("it is too large"));
    }
    let mut logins: Vec<Login> = serde_json::from_reader(file)?;
    logins.truncate(LOGINS);
    Ok(logins)
}
