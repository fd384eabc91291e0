//! The clients against a server that speaks HTTP/2 over TLS and lets a hundred streams through at a time, as
//! the large providers' do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use reqwest::{Certificate, Url, Version};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::shared_client::SharedHttpClient;
use super::{HttpClients, Timeouts, client_builder, is_local};

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
    let http = HttpClients::new(Timeouts::default());
    let built = |lane: &SharedHttpClient| lane.client.get().is_some();
    assert!(!built(&http.local) && !built(&http.remote[0]));
    http.lease_client(&"http://127.0.0.1:9/".parse().unwrap()).await.unwrap();
    assert!(built(&http.local) && !built(&http.remote[0]), "a local server needs no roots");
    http.lease_client(&"https://example.org/".parse().unwrap()).await.unwrap();
    assert!(built(&http.remote[0]) && !built(&http.remote[1]));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_can_be_used_is_not_waited_for() {
    let http = HttpClients::new(Timeouts::default());
    let url = "http://127.0.0.1:9/".parse().unwrap();
    http.lease_client(&url).await.unwrap();
    // Timers fire at whole milliseconds; this is none.
    tokio::time::advance(Duration::from_micros(300)).await;
    let before = tokio::time::Instant::now();
    http.lease_client(&url).await.unwrap();
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn many_answers_stream_at_once_over_few_connections() {
    for (streams, connections) in [(100, 2), (250, 3)] {
        let server = Http2Server::start(streams).await;
        let http = trusting(&server);
        let url = &server.url;
        let ask = |_| async {
            let lease = http.lease_client(url).await.unwrap();
            let mut response = lease.post(url.clone()).body("{}").send().await.unwrap();
            assert_eq!(response.version(), Version::HTTP_2);
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.unwrap() {
                body.extend_from_slice(&chunk);
            }
            body
        };
        // The server ends no answer before all have begun, so one that had to wait for another would hang.
        let bodies = tokio::time::timeout(Duration::from_secs(60), join_all((0..streams).map(ask))).await;
        assert!(bodies.expect("all answers stream at once").iter().all(|body| body == b"begin end"));
        assert_eq!(server.connections.load(Ordering::Relaxed), connections, "{streams} streams");
        assert!(http.remote.iter().all(|lane| lane.is_unused()));
        // What is open is used again.
        let lease = http.lease_client(url).await.unwrap();
        lease.get(url.clone()).send().await.unwrap();
        assert_eq!(server.connections.load(Ordering::Relaxed), connections);
    }
}

/// Clients that trust this server and nobody else.
fn trusting(server: &Http2Server) -> HttpClients {
    // Long enough for a connection on a machine that does much else.
    let http = HttpClients { connect_grace: Duration::from_secs(2), ..HttpClients::new(Timeouts::default()) };
    for lane in &http.remote {
        let client =
            client_builder(Duration::from_secs(10)).no_proxy().tls_certs_only([server.certificate.clone()]);
        lane.client.set(client.build().unwrap()).unwrap();
    }
    http
}

struct Http2Server {
    url: Url,
    certificate: Certificate,
    connections: Arc<AtomicUsize>,
    /// Ends with the server.
    _tasks: JoinSet<()>,
}

impl Http2Server {
    /// Ends its answers to `POST` once so many have begun.
    async fn start(streams: usize) -> Http2Server {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let chain = vec![made.cert.der().clone()];
        let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}/v1/messages", listener.local_addr().unwrap().port());
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, all) = (connections.clone(), Arc::new(Barrier::new(streams)));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                open.spawn(serve(acceptor.clone(), stream, all.clone()));
            }
        });
        let certificate = Certificate::from_der(made.cert.der()).unwrap();
        Http2Server { url: url.parse().unwrap(), certificate, connections, _tasks: tasks }
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, all: Arc<Barrier>) {
    let stream = acceptor.accept(stream).await.unwrap();
    let mut connection =
        h2::server::Builder::new().max_concurrent_streams(100).handshake::<_, Bytes>(stream).await.unwrap();
    let mut answers = JoinSet::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let all = all.clone();
        answers.spawn(async move {
            let mut send = respond.send_response(Default::default(), false).unwrap();
            send.send_data(Bytes::from_static(b"begin "), false).unwrap();
            if request.method() == "POST" {
                all.wait().await;
            }
            send.send_data(Bytes::from_static(b"end"), true).unwrap();
        });
    }
}
