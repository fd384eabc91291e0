//! The HTTP clients that all providers share, and how long anything may take.
//!
//! They are built on first use, since loading the machine's TLS roots takes a while that a start
//! should not wait for. What is sent and how answers are read is left to the providers.

mod shared_client;

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

use crate::{ModelError, ProviderConfig};
pub(crate) use shared_client::HttpClientLease;
use shared_client::SharedHttpClient;

/// How long each phase of a request may take. A provider that keeps quiet for longer is an error,
/// never a hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first look-up of the host to a connection that can be used.
    pub connect: Duration,
    /// From the request to the first byte of the answer; a large prompt takes a server a while to read.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// From the answer's last word to the end of the stream. The answer is whole by then, and only the
    /// usage may follow, so running out of this is no error.
    pub after_last_word: Duration,
    /// The whole answer; a server can keep a stream alive for ever without saying anything.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            after_last_word: Duration::from_secs(5),
            total: Duration::from_secs(3600),
        }
    }
}

/// How many clients there are at most for other machines.
const MAX_REMOTE_CLIENTS: usize = 16;
/// How long a connection may take to come about before others than its first user open their own.
const CONNECT_GRACE: Duration = Duration::from_millis(500);

/// The shared clients: one for servers on this machine, a few for all others.
#[derive(Debug)]
pub(crate) struct HttpClients {
    pub(crate) timeouts: Timeouts,
    connect_grace: Duration,
    local: Arc<SharedHttpClient>,
    /// The first is used until it is full, so that few connections are open.
    remote: Vec<Arc<SharedHttpClient>>,
}

impl HttpClients {
    pub(crate) fn new(timeouts: Timeouts) -> HttpClients {
        let remote = std::iter::repeat_with(Arc::default).take(MAX_REMOTE_CLIENTS).collect();
        HttpClients { timeouts, connect_grace: CONNECT_GRACE, local: Arc::default(), remote }
    }

    /// A client for this address, to be held until the answer has been read. A plain server on this machine
    /// needs no roots, and a proxy could not reach it.
    pub(crate) async fn lease_client(&self, url: &Url) -> Result<HttpClientLease, ModelError> {
        let local = is_local(url);
        let place = if local {
            // Each request has a connection of its own there, so nobody need wait for another's.
            shared_client::take_slot(std::slice::from_ref(&self.local), url.authority(), Duration::ZERO)
        } else {
            shared_client::take_slot(&self.remote, url.authority(), self.connect_grace)
        };
        let connect = self.timeouts.connect;
        let client = place.client().get_or_try_init(|| async move {
            // Roots are read from disk, which may not hold up the other sessions of this thread.
            let built = tokio::task::spawn_blocking(move || {
                if local { plain_client(connect) } else { verifying_client(connect) }
            });
            built.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        });
        let client = client.await.map_err(|error: String| {
            ModelError::new("http_client", format!("cannot set up an HTTP client: {error}"))
                .hint("check the proxy settings in the environment")
        })?;
        let client = client.clone();
        Ok(place.lease(client).await)
    }
}

/// The address of an endpoint under a provider's own.
pub(crate) fn endpoint(provider: &ProviderConfig, base_url: &str, path: &str) -> Result<Url, ModelError> {
    let text = format!("{}/{path}", base_url.trim_end_matches('/'));
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| {
        let message = format!("`{}` is no address of a provider", provider.base_url);
        let hint = format!(
            "set `base_url` in [providers.{}] to an address such as {}",
            provider.name,
            provider.kind.default_base_url()
        );
        ModelError::new("bad_base_url", message).hint(hint)
    })
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    url.scheme() == "http" && (host == "localhost" || address.is_ok_and(|address| address.is_loopback()))
}

fn plain_client(connect: Duration) -> reqwest::Result<Client> {
    client_builder(connect).tls_certs_only([]).no_proxy().build()
}

/// Without a CA store no client that verifies can be built. One that trusts nobody still reaches plain
/// servers, and says of the others that their certificate is not trusted.
fn verifying_client(connect: Duration) -> reqwest::Result<Client> {
    client_builder(connect).build().or_else(|error| {
        tracing::warn!(%error, "no TLS roots were found on this machine; https providers cannot be reached");
        client_builder(connect).tls_certs_only([]).build()
    })
}

/// Redirects are not followed: the key goes to the configured host and nowhere else.
fn client_builder(connect: Duration) -> ClientBuilder {
    // Fails only if a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(connect)
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(128)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        // Over HTTP/2 where the server offers it: one answer must not hold up the others of a connection,
        // and a connection that has died must be noticed by all that wait on it.
        .http2_adaptive_window(true)
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(20))
}

#[cfg(test)]
mod tests;
