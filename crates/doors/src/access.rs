//! Who may come in. Checked on the outermost router, before any route is looked at: the Host that a
//! request was meant for, the Origin of a page that sends it, and the token.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, header};

use crate::token::{Token, digest};

/// The rules of one listener.
#[derive(Clone)]
pub struct Access {
    hosts: Arc<[String]>,
    /// Any address of this machine with this port will do; a name will not, so that rebinding does not.
    any_address: Option<u16>,
    token: Option<Arc<Token>>,
}

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It was meant for another host, as in DNS rebinding.
    Host,
    /// A page of another origin sent it.
    Origin,
    /// It shows no token, or a wrong one.
    Token,
}

impl Access {
    /// The rules of a TCP listener. Without a token everybody who passes the other checks comes in.
    pub fn tcp(address: SocketAddr, token: Option<Arc<Token>>) -> Access {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        let unspecified = address.ip().is_unspecified();
        if address.ip().is_loopback() || unspecified {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")));
        }
        Access { hosts: hosts.into(), any_address: unspecified.then_some(port), token }
    }

    /// The rules of the Unix socket, which has no port.
    pub fn unix(token: Option<Arc<Token>>) -> Access {
        Access { hosts: vec!["localhost".to_owned()].into(), any_address: None, token }
    }

    /// Checks where a request was meant for and where it comes from.
    pub(crate) fn check_source(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Denied> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let known = |host: &str| self.knows(host);
        if !host.is_some_and(known) || hosts.next().is_some() || !authority.is_none_or(known) {
            return Err(Denied::Host);
        }
        for origin in headers.get_all(header::ORIGIN) {
            let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            if !host.is_some_and(known) {
                return Err(Denied::Origin);
            }
        }
        let mut sites = headers.get_all("sec-fetch-site").iter().map(|site| site.as_bytes());
        if sites.all(|site| matches!(site, b"same-origin" | b"none")) { Ok(()) } else { Err(Denied::Origin) }
    }

    fn knows(&self, host: &str) -> bool {
        let named = self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
        let address = || host.parse::<SocketAddr>().ok().map(|address| address.port());
        named || self.any_address.is_some_and(|port| address() == Some(port))
    }

    /// Checks the token.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<Pass, Denied> {
        let Some(token) = &self.token else { return Ok(Pass(None)) };
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        let bearer = shown.next().and_then(|value| value.to_str().ok()).and_then(bearer);
        let digest = bearer.filter(|_| shown.next().is_none()).map(digest).ok_or(Denied::Token)?;
        let pass = Pass(Some((Arc::clone(token), digest)));
        if pass.holds() { Ok(pass) } else { Err(Denied::Token) }
    }
}

/// What a request was let in with. A stream asks now and then whether it still holds, so that a
/// token that was replaced opens nothing any more.
#[derive(Clone)]
pub(crate) struct Pass(Option<(Arc<Token>, [u8; 32])>);

impl Pass {
    pub(crate) fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|(token, digest)| token.has_digest(digest))
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::Access;

    #[test]
    fn a_listener_on_every_address_knows_addresses_and_no_names() {
        let access = Access::tcp("0.0.0.0:8787".parse().unwrap(), None);
        for host in ["127.0.0.1:8787", "192.0.2.7:8787", "[::1]:8787", "localhost:8787"] {
            assert!(access.knows(host), "{host}");
        }
        for host in ["evil.example:8787", "192.0.2.7:80", "192.0.2.7", "127.0.0.1.evil.example:8787", ""] {
            assert!(!access.knows(host), "{host}");
        }
        let local = Access::tcp("127.0.0.1:8787".parse().unwrap(), None);
        assert!(!local.knows("192.0.2.7:8787"));
    }
}
