//! The client for servers over HTTP. It follows no redirect to another host, so that what goes along with
//! a request goes to the configured server and nowhere else.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::bounded_lines::MESSAGE_BYTES;
use crate::config::{check_url, header};
use crate::http_client::BoundedClient;

/// How long reaching a server may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How many redirects within a host are followed.
const REDIRECTS: usize = 5;

/// A way to a server.
pub(crate) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<BoundedClient>, String> {
    check_url(url)?;
    let headers = headers.iter().map(|(name, value)| header(name, value)).collect::<Result<_, _>>()?;
    let client = client().map_err(|error| format!("no HTTP client could be made: {error}"))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    config.max_sse_event_size = MESSAGE_BYTES;
    Ok(StreamableHttpClientTransport::with_client(BoundedClient(client), config))
}

/// Without a CA store no client that verifies can be made. One that trusts nobody still reaches plain
/// servers, and says of the others that their certificate is not trusted.
fn client() -> reqwest::Result<Client> {
    // Fails only if a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        Client::builder()
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
            .redirect(same_host_redirects())
            .connect_timeout(CONNECT_TIME)
            .tcp_keepalive(Duration::from_secs(30))
            .pool_idle_timeout(Duration::from_secs(60))
    };
    builder().build().or_else(|error| {
        tracing::warn!(%error, "no TLS roots were found on this machine; https MCP servers cannot be reached");
        builder().tls_certs_only([]).build()
    })
}

fn same_host_redirects() -> Policy {
    Policy::custom(|attempt| {
        let origin = |url: &Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
        };
        let stays = attempt.previous().last().is_some_and(|from| origin(from) == origin(attempt.url()));
        // A 301 or 302 would turn a message into a request without one.
        let keeps_the_message = matches!(attempt.status().as_u16(), 307 | 308);
        if stays && keeps_the_message && attempt.previous().len() <= REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}
