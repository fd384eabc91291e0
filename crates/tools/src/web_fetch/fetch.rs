//! Fetches from the public web and from nowhere else: names are looked up here, every address that a name
//! has is checked, and the connection goes to a checked address, because the client has no other way to look
//! one up. Redirects are followed by hand, each with the same checks. No cookies, no keys, no proxy.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use tokio::sync::OnceCell;

use super::address::is_public;
use crate::Failed;
use crate::text::reveal_line;

/// How long all of it may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a page is read.
const MAX_BYTES: usize = 5 * 1024 * 1024;
const MAX_REDIRECTS: usize = 5;
/// Ports below are other protocols', but for the two of the web.
const FIRST_FREE_PORT: u16 = 1024;
const ACCEPT_HEADER: &str =
    "text/html,text/markdown,text/plain,application/json,application/xml;q=0.9,text/*;q=0.8";

/// Looks up the addresses of a name.
type Lookup = dyn Fn(String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> + Send + Sync;

/// Fetches pages. Its client is made when it is first used.
pub(super) struct Fetcher {
    address_policy: Arc<AddressPolicy>,
    client: OnceCell<Client>,
}

/// What was fetched.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Where it came from in the end.
    pub(super) url: Url,
    pub(super) status: u16,
    pub(super) media_type: String,
    pub(super) text: String,
    pub(super) is_html: bool,
    /// Whether there was more.
    pub(super) is_cut: bool,
}

impl Fetcher {
    pub(super) fn new(private_hosts: &[String]) -> Fetcher {
        Fetcher::with_lookup(private_hosts, |name| {
            async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) }
                .boxed()
        })
    }

    fn with_lookup(
        private_hosts: &[String],
        lookup: impl Fn(String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> + Send + Sync + 'static,
    ) -> Fetcher {
        let private_hosts = private_hosts.iter().map(|host| normalized_host(host)).collect();
        let gate = Arc::new(AddressPolicy { private_hosts, lookup: Box::new(lookup) });
        Fetcher { address_policy: gate, client: OnceCell::new() }
    }

    /// Fetches one page, redirects included.
    pub(super) async fn fetch(&self, url: &str) -> Result<Fetched, Failed> {
        let late = || {
            Failed::new(format!(
                "The request timed out after {} s. Try another page.",
                FETCH_TIMEOUT.as_secs()
            ))
        };
        tokio::time::timeout(FETCH_TIMEOUT, self.fetch_following_redirects(url)).await.map_err(|_| late())?
    }

    async fn fetch_following_redirects(&self, url: &str) -> Result<Fetched, Failed> {
        let mut url = Url::parse(url)
            .map_err(|error| Failed::new(format!("`{}` is not a valid URL: {error}.", reveal_line(url))))?;
        for _ in 0..=MAX_REDIRECTS {
            self.address_policy.check_url(&url)?;
            let client = self.client.get_or_try_init(|| client(self.address_policy.clone())).await?;
            let request = client.get(url.clone()).header(ACCEPT, ACCEPT_HEADER).send();
            let response = request.await.map_err(|error| unreachable(&url, &error))?;
            match redirect(&response, &url)? {
                Some(next) => url = next,
                None => return read(response, url).await,
            }
        }
        Err(Failed::new(format!("More than {MAX_REDIRECTS} redirects; nothing was fetched.")))
    }
}

/// Lets through what is public.
struct AddressPolicy {
    private_hosts: Vec<String>,
    lookup: Box<Lookup>,
}

impl AddressPolicy {
    /// Checks all of an address but what its name leads to, which is checked when it is looked up.
    fn check_url(&self, url: &Url) -> Result<(), Failed> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Failed::new(format!(
                "Only http and https URLs can be fetched, not `{}`.",
                url.scheme()
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Failed::new("URLs with a user name or password cannot be fetched. Remove them."));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if !matches!(port, 80 | 443) && port < FIRST_FREE_PORT {
            return Err(Failed::new(format!("Port {port} is not allowed; nothing was fetched.")));
        }
        let host = normalized_host(url.host_str().unwrap_or_default());
        // An address as host is never looked up, so it is checked here.
        match host.parse::<IpAddr>() {
            Ok(address) => self.check_addresses(&host, &[address]).map_err(Failed::new),
            Err(_) => Ok(()),
        }
    }

    /// Whether all addresses of a host may be reached. The error says why not.
    fn check_addresses(&self, host: &str, addresses: &[IpAddr]) -> Result<(), String> {
        if addresses.is_empty() {
            return Err(format!("The host `{}` could not be resolved.", reveal_line(host)));
        }
        if self.private_hosts.contains(&normalized_host(host))
            || addresses.iter().all(|address| is_public(*address))
        {
            return Ok(());
        }
        Err(format!(
            "`{}` is on a private network or this machine, not on the public web, so it was not fetched. \
             The user can allow it in the configuration.",
            reveal_line(host)
        ))
    }
}

/// The only way in which the client finds addresses.
struct CheckedResolver(Arc<AddressPolicy>);

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let gate = Arc::clone(&self.0);
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let addresses = (gate.lookup)(host.clone()).await?;
            gate.check_addresses(&host, &addresses).map_err(RefusedHost)?;
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// Why a host is not reached, on its way through the client's errors.
#[derive(Debug)]
struct RefusedHost(String);

impl std::fmt::Display for RefusedHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for RefusedHost {}

async fn client(gate: Arc<AddressPolicy>) -> Result<Client, Failed> {
    let build = move || {
        // Fails only if a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            Client::builder()
                .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
                .redirect(Policy::none())
                .no_proxy()
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(0)
                .dns_resolver(CheckedResolver(Arc::clone(&gate)))
        };
        // Without a CA store only plain servers can be reached.
        builder().build().or_else(|_| builder().tls_certs_only([]).build())
    };
    let failed = |error: &dyn Error| Failed::new(format!("Fetching does not work on this machine: {error}."));
    // Roots are read from disk, which may not hold up others.
    let built = tokio::task::spawn_blocking(build).await.map_err(|error| failed(&error))?;
    built.map_err(|error| failed(&error))
}

/// Where an answer leads on to, if it does.
fn redirect(response: &Response, url: &Url) -> Result<Option<Url>, Failed> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let next = location.to_str().ok().and_then(|location| url.join(location).ok());
    next.map(Some).ok_or_else(|| Failed::new("The page redirects to an invalid URL."))
}

async fn read(mut response: Response, url: Url) -> Result<Fetched, Failed> {
    let status = response.status().as_u16();
    let header =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let header = header.to_lowercase();
    let media_type = header.split(';').next().unwrap_or_default().trim().to_owned();
    if !is_text(&media_type) {
        return Err(Failed::new(format!(
            "{} is of type `{}`, which is not text; nothing was fetched.",
            reveal_line(url.as_str()),
            reveal_line(&media_type)
        )));
    }
    // None was asked for, and what one unpacks to has no bounds.
    if response.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(Failed::new(
            "The server sent compressed content that was not requested; nothing was fetched.",
        ));
    }
    let (mut bytes, mut is_cut) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&url, &error))? {
        let space = MAX_BYTES - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(space)]);
        if chunk.len() > space {
            is_cut = true;
            break;
        }
    }
    if media_type.is_empty() && bytes.contains(&0) {
        return Err(Failed::new("The page has no content type and does not look like text."));
    }
    let is_html = matches!(media_type.as_str(), "text/html" | "application/xhtml+xml");
    let is_latin = ["iso-8859-1", "windows-1252", "us-ascii"].iter().any(|name| header.contains(name));
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if is_latin => error.as_bytes().iter().copied().map(char::from).collect(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    let media_type = if media_type.is_empty() { "of unknown type".to_owned() } else { media_type };
    Ok(Fetched { url, status, media_type, text, is_html, is_cut })
}

fn is_text(media_type: &str) -> bool {
    let is_structured = ["json", "xml"]
        .iter()
        .any(|kind| media_type == format!("application/{kind}") || media_type.ends_with(&format!("+{kind}")));
    media_type.is_empty() || media_type.starts_with("text/") || is_structured && media_type != "image/svg+xml"
}

/// A host without the brackets of IPv6 and the dot of the root, in lower case.
fn normalized_host(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_lowercase()
}

fn unreachable(url: &Url, error: &reqwest::Error) -> Failed {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        if let Some(RefusedHost(reason)) = error.downcast_ref() {
            return Failed::new(reason.clone());
        }
        last = error.to_string();
        cause = error.source();
    }
    let host = url.host_str().unwrap_or_default();
    Failed::new(format!("`{}` could not be fetched from: {}.", reveal_line(host), reveal_line(&last)))
}

#[cfg(test)]
mod tests;
