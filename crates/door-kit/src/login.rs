//! How people come in by the page: a one-time code, which the page trades for a cookie. Codes live in memory only;
//! cookies outlive the daemon, as digests in the document `logins.json`, which only its owner can read. Where a cookie is shown and which
//! requests it is enough for is left to `access`.
//!
//! A cookie counts only together with the token that was there when it was given: replacing the token ends every
//! login.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::{SignedDuration, Timestamp};
use ostler_documents::{Document, DocumentError, Documents};
use ostler_types::Clock;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::auth_throttle::TooManyAuthFailures;
use crate::token::{DaemonToken, SecretDigest, digest, hex, random_bytes};

/// How long a code can be used.
const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// How many codes there can be at a time; the oldest gives way.
const CODES: usize = 16;
/// How long a cookie counts.
const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How many cookies there can be at a time; the oldest gives way.
const LOGINS: usize = 64;
/// Knows the codes and the cookies that let in.
pub struct Logins {
    token: Arc<DaemonToken>,
    clock: Arc<dyn Clock>,
    /// Where the page is, for those who come by TCP.
    address: Option<SocketAddr>,
    stored: Document<Vec<Login>>,
    unsaved: Mutex<UnsavedLogins>,
}

/// What ends with the daemon.
#[derive(Default)]
struct UnsavedLogins {
    codes: Vec<Code>,
    /// Logins that could not be kept.
    logins: Vec<Login>,
    /// The digests of logins that were ended, and are still kept because that could not be changed.
    ended: Vec<String>,
}

struct Code {
    digest: SecretDigest,
    until: Timestamp,
}

/// A cookie that was given.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Login {
    /// Of the cookie and the token, in hex.
    digest: String,
    expires_at: Timestamp,
}

/// The address of the page with a code, and how long it lets in.
pub struct LoginLink {
    /// What to open. The code is behind a `#`, so that a browser sends it to nobody.
    pub address: String,
    /// Until when.
    pub expires_at: Timestamp,
}

impl Logins {
    /// Reads who is logged in. What cannot be read logs nobody in.
    pub async fn open(
        documents: Arc<dyn Documents>,
        token: Arc<DaemonToken>,
        clock: Arc<dyn Clock>,
        address: Option<SocketAddr>,
    ) -> Logins {
        let consequence = "everybody has to log in again, and logins end with the daemon until it is removed";
        let kept = Document::load(documents, "logins.json", consequence).await;
        Logins { token, clock, address, stored: kept, unsaved: Mutex::default() }
    }

    /// A new code, as the address that uses it; none where the page has no address.
    pub fn create_login_link(&self) -> std::io::Result<Option<LoginLink>> {
        let Some(address) = self.page_address() else { return Ok(None) };
        let code = hex(&random_bytes::<16>()?);
        let (now, digest) = (self.clock.now(), digest(&code));
        let until = now.saturating_add(CODE_LIFETIME).unwrap_or(now);
        let mut in_memory = self.lock();
        in_memory.codes.retain(|code| code.until > now);
        if in_memory.codes.len() >= CODES {
            in_memory.codes.remove(0);
        }
        in_memory.codes.push(Code { digest, until });
        Ok(Some(LoginLink { address: format!("{address}#code={code}"), expires_at: until }))
    }

    /// Trades a code for a cookie. A code is good for one.
    pub async fn log_in(&self, code: &str) -> std::io::Result<Option<String>> {
        let now = self.clock.now();
        if !self.take_code(code, now) {
            return Ok(None);
        }
        let cookie = hex(&random_bytes::<32>()?);
        let Some(digest) = self.stored_digest(&digest(&cookie)) else { return Ok(None) };
        let expires_at = now.saturating_add(LOGIN_LIFETIME).unwrap_or(now);
        let login = Login { digest: hex(&digest), expires_at };
        let add = |logins: &mut Vec<Login>| add_login(logins, login.clone(), now);
        let change = |logins: &mut Vec<Login>| {
            add(logins);
            Ok::<(), DocumentError>(())
        };
        if let Err(error) = self.stored.change(change).await {
            tracing::warn!(%error, "a login was not kept; it ends with the daemon");
            add(&mut self.lock().logins);
        }
        Ok(Some(cookie))
    }

    /// Whether this is a code that lets in; then it does so no more.
    fn take_code(&self, code: &str, now: Timestamp) -> bool {
        let shown = digest(code);
        let mut in_memory = self.lock();
        in_memory.codes.retain(|code| code.until > now);
        // Each is looked at, so that the time says nothing about which it was.
        let held = in_memory.codes.len();
        in_memory.codes.retain(|code| !bool::from(code.digest.ct_eq(&shown)));
        in_memory.codes.len() < held
    }

    /// Waits until somebody may be told that its code is wrong.
    pub async fn wait_to_refuse(&self) -> Result<(), TooManyAuthFailures> {
        self.token.wait_to_refuse().await
    }

    /// Whether the cookie with this digest lets in.
    pub fn is_logged_in(&self, cookie: &SecretDigest) -> bool {
        let Some(digest) = self.stored_digest(cookie) else { return false };
        let (now, digest) = (self.clock.now(), hex(&digest));
        let (kept, in_memory) = (self.stored.get().unwrap_or_default(), self.lock());
        let known = kept.iter().take(LOGINS).chain(&in_memory.logins);
        let live = known.filter(|login| login.expires_at > now && !in_memory.ended.contains(&login.digest));
        let found = live
            .fold(Choice::from(0), |found, login| found | login.digest.as_bytes().ct_eq(digest.as_bytes()));
        found.into()
    }

    /// Forgets the cookie with this digest.
    pub async fn log_out(&self, cookie: &SecretDigest) {
        let Some(digest) = self.stored_digest(cookie) else { return };
        let digest = hex(&digest);
        self.lock().logins.retain(|login| login.digest != digest);
        let change = |logins: &mut Vec<Login>| {
            logins.retain(|login| login.digest != digest);
            Ok::<(), DocumentError>(())
        };
        if let Err(error) = self.stored.change(change).await {
            tracing::warn!(%error, "a login that was ended is still kept; it counts again when the daemon is restarted");
            self.lock().ended.push(digest);
        }
    }

    /// The cookie's name. Browsers give the cookies of one port to all ports of a host, so two daemons would log
    /// their people out of each other.
    pub fn cookie_name(&self) -> String {
        match self.address {
            Some(address) => format!("ostler_session_{}", address.port()),
            None => "ostler_session".to_owned(),
        }
    }

    /// How long a browser is to keep the cookie.
    pub fn cookie_seconds() -> i64 {
        LOGIN_LIFETIME.as_secs()
    }

    /// Where the page is. A listener on every address is found on this machine's own.
    fn page_address(&self) -> Option<String> {
        let mut address = self.address?;
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        Some(format!("http://{address}/"))
    }

    /// What is kept of a cookie; none while there is no token.
    fn stored_digest(&self, cookie: &SecretDigest) -> Option<SecretDigest> {
        let token = self.token.digest()?;
        Some(Sha256::new().chain_update(cookie).chain_update(token).finalize().into())
    }

    fn lock(&self) -> MutexGuard<'_, UnsavedLogins> {
        self.unsaved.lock().expect("no code panics while it holds the logins")
    }
}

/// Adds a login in place of those that have expired, or of the oldest.
fn add_login(logins: &mut Vec<Login>, login: Login, now: Timestamp) {
    logins.retain(|login| login.expires_at > now);
    if logins.len() >= LOGINS {
        logins.remove(0);
    }
    logins.push(login);
}
