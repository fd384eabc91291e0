//! Who may come in. Checked on the outermost router, before any route is looked at: the Host that a
//! request was meant for, the Origin of a page that sends it, and the token or the cookie of a page that was logged in.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, Method, header};

use crate::auth_throttle::TooManyAuthFailures;
use crate::login::Logins;
use crate::token::{DaemonToken, SecretDigest, digest};
use crate::websocket::handshake::offered_protocols;

/// Comes before the token in the name of a WebSocket subprotocol, which is all that a page can set there.
pub const TOKEN_PROTOCOL: &str = "ostler-token.";
/// How many cookies of the right name are looked at: a page on another port can add some.
const COOKIES: usize = 4;

/// The rules of one listener.
#[derive(Clone)]
pub struct ListenerAccess {
    hosts: Arc<[String]>,
    /// Any address of this machine with this port will do; a name will not, so that rebinding does not.
    any_address: Option<u16>,
    token: Option<Arc<DaemonToken>>,
    logins: Option<Arc<Logins>>,
}

/// Which pages may send a request to a door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedPages {
    /// The page of this listener only.
    OwnPage,
    /// Any page of this machine, because the door asks for the token before anything else. The same as `OwnPage` where
    /// there is no token to ask for.
    AnyLocal,
}

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessDenied {
    /// It was meant for another host, as in DNS rebinding.
    Host,
    /// A page of another origin sent it, or one that does not say of which it is.
    Origin,
    /// It shows neither a token nor a cookie.
    NoCredential,
    /// It shows a token or a cookie that does not let in.
    WrongCredential,
}

impl ListenerAccess {
    /// The rules of a TCP listener. Without a token everybody who passes the other checks comes in.
    pub fn tcp(address: SocketAddr, token: Option<Arc<DaemonToken>>) -> ListenerAccess {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        let unspecified = address.ip().is_unspecified();
        if address.ip().is_loopback() || unspecified {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")));
        }
        ListenerAccess { hosts: hosts.into(), any_address: unspecified.then_some(port), token, logins: None }
    }

    /// The rules of the Unix socket, which has no port.
    pub fn unix(token: Option<Arc<DaemonToken>>) -> ListenerAccess {
        ListenerAccess { hosts: vec!["localhost".to_owned()].into(), any_address: None, token, logins: None }
    }

    /// The same rules, under which a cookie does in place of the token.
    pub fn with_logins(self, logins: Arc<Logins>) -> ListenerAccess {
        ListenerAccess { logins: Some(logins), ..self }
    }

    /// Checks where a request was meant for and where it comes from: the one decision for all doors.
    ///
    /// Pages of other local ports are let through only where a token is asked for afterwards; without a token
    /// every page but our own is refused, whatever the door.
    pub fn check_source(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
        pages: AllowedPages,
    ) -> Result<(), AccessDenied> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|host| self.accepts_host(host));
        let Some(host) = host.filter(|_| hosts.next().is_none()) else { return Err(AccessDenied::Host) };
        if !authority.is_none_or(|authority| self.accepts_host(authority)) {
            return Err(AccessDenied::Host);
        }
        let any_local = matches!(pages, AllowedPages::AnyLocal) && self.token.is_some();
        let allowed = |origin: &str| self.is_own_origin(origin, host) || (any_local && is_local(origin));
        if !headers.get_all(header::ORIGIN).iter().all(|origin| origin.to_str().is_ok_and(allowed)) {
            return Err(AccessDenied::Origin);
        }
        let mut sites = headers.get_all("sec-fetch-site").iter().map(|site| site.as_bytes());
        let own_site = sites.all(|site| matches!(site, b"same-origin" | b"none"));
        if any_local || own_site { Ok(()) } else { Err(AccessDenied::Origin) }
    }

    /// The same for the files of the page, which are no secret. A link on another page may lead to them, but no
    /// page may hold them in a frame.
    pub fn check_page(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), AccessDenied> {
        let is = |name: &str, value: &str| headers.get(name).is_some_and(|it| it == value);
        let followed = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
        match self.check_source(headers, authority, AllowedPages::OwnPage) {
            Err(AccessDenied::Origin) if followed && !headers.contains_key(header::ORIGIN) => Ok(()),
            checked => checked,
        }
    }

    /// The same for a WebSocket, for which a page cannot set headers: the token may be the name of a subprotocol.
    /// Whoever shows it so may be any page of this machine, since no browser does that by itself.
    pub fn check_socket(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Result<AccessGrant, AccessDenied> {
        let offered = offered_protocols(headers);
        let mut shown = offered.iter().filter_map(|name| name.strip_prefix(TOKEN_PROTOCOL));
        match shown.next().filter(|_| self.token.is_some()) {
            Some(token) => {
                self.check_source(headers, authority, AllowedPages::AnyLocal)?;
                self.grant_for_token(token).ok_or(AccessDenied::WrongCredential)
            }
            None => {
                self.check_source(headers, authority, AllowedPages::OwnPage)?;
                self.check_credential(&Method::GET, headers)
            }
        }
    }

    fn accepts_host(&self, host: &str) -> bool {
        let named = self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
        let address = || host.parse::<SocketAddr>().ok().map(|address| address.port());
        named || self.any_address.is_some_and(|port| address() == Some(port))
    }

    /// Whether a page of this origin is ours. Where any address of the machine will do, the origin has to be the
    /// very host that the request goes to: another machine may serve pages on the same port.
    fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let Some(page) = origin.strip_prefix("http://") else { return false };
        let named = self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(page));
        named || page.eq_ignore_ascii_case(host)
    }

    /// What a client is let in with that shows this token.
    pub fn grant_for_token(&self, shown: &str) -> Option<AccessGrant> {
        let pass = match &self.token {
            Some(token) => AccessGrant::Token(Arc::clone(token), digest(shown)),
            None => AccessGrant::Unrestricted,
        };
        pass.is_valid().then_some(pass)
    }

    /// Checks the token or, where none is shown, the cookie. A browser adds the cookie to whatever any page of this
    /// host sends, so with it a request that could change something must say that it comes from our own page.
    pub fn check_credential(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<AccessGrant, AccessDenied> {
        if self.token.is_none() || headers.contains_key(header::AUTHORIZATION) {
            let mut shown = headers.get_all(header::AUTHORIZATION).iter();
            let bearer = shown.next().and_then(|value| value.to_str().ok()).and_then(bearer);
            let token = bearer.filter(|_| shown.next().is_none()).unwrap_or_default();
            return self.grant_for_token(token).ok_or(AccessDenied::WrongCredential);
        }
        let pass = self
            .logins
            .as_ref()
            .map_or(Err(AccessDenied::NoCredential), |logins| grant_for_cookie(logins, headers))?;
        let reads = matches!(*method, Method::GET | Method::HEAD) && !headers.contains_key(header::UPGRADE);
        if reads || is_own_page(headers) { Ok(pass) } else { Err(AccessDenied::Origin) }
    }

    /// Waits until a client may be told that what it showed is wrong.
    pub async fn wait_to_refuse(&self) -> Result<(), TooManyAuthFailures> {
        match &self.token {
            Some(token) => token.wait_to_refuse().await,
            None => Ok(()),
        }
    }
}

/// What a client is let in with by its cookie.
fn grant_for_cookie(logins: &Arc<Logins>, headers: &HeaderMap) -> Result<AccessGrant, AccessDenied> {
    let name = logins.cookie_name();
    let lists = headers.get_all(header::COOKIE).iter().filter_map(|list| list.to_str().ok());
    let cookies = lists.flat_map(|list| list.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    let mut shown = cookies.filter(|(shown, _)| *shown == name).take(COOKIES).peekable();
    let denied =
        if shown.peek().is_none() { AccessDenied::NoCredential } else { AccessDenied::WrongCredential };
    let mut passes = shown.map(|(_, cookie)| AccessGrant::Login(Arc::clone(logins), digest(cookie)));
    passes.find(AccessGrant::is_valid).ok_or(denied)
}

/// Whether a request says that it comes from the very origin that it goes to.
fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |value: &header::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(header::HOST).map(text).unwrap_or_default();
    let mut origins = headers.get_all(header::ORIGIN).iter().map(text);
    match (origins.next(), origins.next()) {
        (Some(origin), None) => origin.eq_ignore_ascii_case(&format!("http://{host}")),
        (None, _) => headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin"),
        (Some(_), Some(_)) => false,
    }
}

/// Whether an origin is a page of this machine, on whatever port.
fn is_local(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let Some(rest) = rest else { return false };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| match rest.strip_prefix(host) {
        Some("") => true,
        Some(port) => port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
        None => false,
    })
}

/// What a request was let in with. A stream asks now and then whether it still holds, so that a
/// token that was replaced opens nothing any more, nor a cookie that was given back.
#[derive(Clone)]
pub enum AccessGrant {
    /// Nothing is asked for.
    Unrestricted,
    /// The token.
    Token(Arc<DaemonToken>, SecretDigest),
    /// A cookie.
    Login(Arc<Logins>, SecretDigest),
}

impl AccessGrant {
    /// Whether it still lets in.
    pub fn is_valid(&self) -> bool {
        match self {
            AccessGrant::Unrestricted => true,
            AccessGrant::Token(token, digest) => token.has_digest(digest),
            AccessGrant::Login(logins, digest) => logins.is_logged_in(digest),
        }
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::{AccessDenied, AllowedPages, ListenerAccess, is_local};

    #[test]
    fn an_origin_is_local_by_its_whole_host() {
        for origin in
            ["http://localhost", "http://localhost:5173", "https://127.0.0.1:8443", "http://[::1]:80"]
        {
            assert!(is_local(origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "file://",
            "http://localhost.evil.example",
            "http://127.evil.example",
            "http://localhost:80@evil.example",
            "http://localhost:",
            "http://localhost:80/x",
            "http://evil.example",
            "chrome-extension://localhost",
        ] {
            assert!(!is_local(origin), "{origin}");
        }
    }

    #[test]
    fn a_page_of_another_machine_is_foreign_on_the_same_port_too() {
        let headers = |origin: &str| {
            let mut headers = axum::http::HeaderMap::new();
            headers.insert("host", "192.0.2.7:8787".parse().unwrap());
            headers.insert("origin", origin.parse().unwrap());
            headers
        };
        let access = ListenerAccess::tcp("0.0.0.0:8787".parse().unwrap(), None);
        let check = |origin| access.check_source(&headers(origin), None, AllowedPages::OwnPage);
        assert_eq!(check("http://192.0.2.7:8787"), Ok(()));
        assert_eq!(check("http://198.51.100.1:8787"), Err(AccessDenied::Origin));
    }

    #[test]
    fn a_listener_on_every_address_knows_addresses_and_no_names() {
        let access = ListenerAccess::tcp("0.0.0.0:8787".parse().unwrap(), None);
        for host in ["127.0.0.1:8787", "192.0.2.7:8787", "[::1]:8787", "localhost:8787"] {
            assert!(access.accepts_host(host), "{host}");
        }
        for host in ["evil.example:8787", "192.0.2.7:80", "192.0.2.7", "127.0.0.1.evil.example:8787", ""] {
            assert!(!access.accepts_host(host), "{host}");
        }
        let local = ListenerAccess::tcp("127.0.0.1:8787".parse().unwrap(), None);
        assert!(!local.accepts_host("192.0.2.7:8787"));
    }
}
