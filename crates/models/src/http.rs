//! The HTTP clients that all providers share, and how long anything may take.
//!
//! They are built on first use, since loading the machine's TLS roots takes a while that a start
//! should not wait for. What is sent and how answers are read is left to the providers.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use tokio::sync::OnceCell;

use crate::{ModelError, ProviderConfig};

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
    pub tail: Duration,
    /// The whole answer; a server can keep a stream alive for ever without saying anything.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            tail: Duration::from_secs(5),
            whole: Duration::from_secs(3600),
        }
    }
}

/// The shared clients: one for servers on this machine, one for all others.
#[derive(Debug)]
pub(crate) struct Http {
    pub(crate) timeouts: Timeouts,
    local: OnceCell<Client>,
    remote: OnceCell<Client>,
}

impl Http {
    pub(crate) fn new(timeouts: Timeouts) -> Http {
        Http { timeouts, local: OnceCell::new(), remote: OnceCell::new() }
    }

    /// The client for this address. A plain server on this machine needs no roots, and a proxy could
    /// not reach it.
    pub(crate) async fn client(&self, url: &Url) -> Result<Client, ModelError> {
        let (cell, local) = if is_local(url) { (&self.local, true) } else { (&self.remote, false) };
        let connect = self.timeouts.connect;
        let client = cell.get_or_try_init(|| async move {
            // Roots are read from disk, which may not hold up the other sessions of this thread.
            let built =
                tokio::task::spawn_blocking(move || if local { plain(connect) } else { rooted(connect) });
            built.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        });
        let client = client.await.map_err(|error: String| {
            ModelError::new("http_client", format!("cannot set up an HTTP client: {error}"))
                .hint("check the proxy settings in the environment")
        })?;
        Ok(client.clone())
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
            provider.kind.home()
        );
        ModelError::new("bad_base_url", message).hint(hint)
    })
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    url.scheme() == "http" && (host == "localhost" || address.is_ok_and(|address| address.is_loopback()))
}

fn plain(connect: Duration) -> reqwest::Result<Client> {
    builder(connect).tls_certs_only([]).no_proxy().build()
}

/// Without a CA store no client that verifies can be built. One that trusts nobody still reaches plain
/// servers, and says of the others that their certificate is not trusted.
fn rooted(connect: Duration) -> reqwest::Result<Client> {
    builder(connect).build().or_else(|error| {
        tracing::warn!(%error, "no TLS roots were found on this machine; https providers cannot be reached");
        builder(connect).tls_certs_only([]).build()
    })
}

/// Redirects are not followed: the key goes to the configured host and nowhere else.
fn builder(connect: Duration) -> ClientBuilder {
    // Fails only if a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(connect)
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(8)
        .tcp_nodelay(true)
}

#[cfg(test)]
mod tests {
    use super::{Http, Timeouts, is_local};

    #[test]
    fn only_plain_loopback_is_local() {
        for (url, local) in [
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1/v1", true),
            ("http://127.8.0.1:80", true),
            ("http://[::1]:8080", true),
            ("https://localhost/v1", false),
            ("http://10.0.0.1/v1", false),
            ("http://localhost.example.org/v1", false),
            ("https://api.openai.com/v1", false),
        ] {
            assert_eq!(is_local(&url.parse().unwrap()), local, "{url}");
        }
    }

    #[tokio::test]
    async fn clients_are_built_on_any_machine_when_first_needed() {
        let http = Http::new(Timeouts::default());
        assert!(http.local.get().is_none() && http.remote.get().is_none());
        http.client(&"http://127.0.0.1:9/".parse().unwrap()).await.unwrap();
        assert!(http.local.get().is_some() && http.remote.get().is_none(), "a local server needs no roots");
        http.client(&"https://example.org/".parse().unwrap()).await.unwrap();
        assert!(http.remote.get().is_some());
    }
}
