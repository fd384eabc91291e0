//! A server that speaks HTTP/2 over TLS and lets a hundred streams through on a connection, as the large
//! providers' do, and the client that asks it. The client is a process of its own, because which certificates
//! are trusted is read from the environment.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use ostler_models::{ModelEvent, ModelRegistry, ModelRequest, ModelSettings, ProviderConfig, ProviderKind};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Streams that the server lets through on one connection.
pub const STREAMS_EACH: u32 = 100;

const BEGINNING: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const END: &[u8] =
    b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The server. It ends no answer before all have begun, so none can wait for another.
pub struct TlsServer {
    port: u16,
    connections: Arc<AtomicUsize>,
    /// Ends with the server.
    _tasks: JoinSet<()>,
}

impl TlsServer {
    /// Waits for so many requests, and leaves its certificate in a file.
    pub async fn start(streams: usize, certificate: &Path) -> Result<TlsServer> {
        // Fails only if a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        std::fs::write(certificate, pem(made.cert.der()))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let chain = vec![made.cert.der().clone()];
        let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let connections = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, acceptor, connections.clone(), Arc::new(Barrier::new(streams))));
        Ok(TlsServer { port, connections, _tasks: tasks })
    }

    /// Where its endpoints lie.
    pub fn base_url(&self) -> String {
        format!("https://localhost:{}/v1", self.port)
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", BASE64_STANDARD.encode(der))
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    connections: Arc<AtomicUsize>,
    all: Arc<Barrier>,
) {
    let mut open = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.fetch_add(1, Ordering::Relaxed);
                open.spawn(serve(acceptor.clone(), stream, all.clone()));
            }
            Err(error) => eprintln!("the server cannot accept a connection: {error}"),
        }
    }
}

/// Serves a connection until the client has gone, which is no error.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream, all: Arc<Barrier>) -> Option<()> {
    let stream = acceptor.accept(stream).await.ok()?;
    let mut settings = h2::server::Builder::new();
    let mut connection =
        settings.max_concurrent_streams(STREAMS_EACH).handshake::<_, Bytes>(stream).await.ok()?;
    let mut answers = JoinSet::new();
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        let all = all.clone();
        answers.spawn(async move {
            let mut send = respond.send_response(Default::default(), false).ok()?;
            send.send_data(Bytes::from_static(BEGINNING), false).ok()?;
            all.wait().await;
            send.send_data(Bytes::from_static(END), true).ok()
        });
    }
    Some(())
}

/// Asks for so many answers at once, and reads them all to their ends.
pub async fn ask(base_url: &str, streams: usize) -> Result<()> {
    let provider = ProviderConfig::new("secure", ProviderKind::OpenAiChat, base_url);
    let settings = ModelSettings { discover: false, ..ModelSettings::default() };
    let model = ModelRegistry::with_settings(vec![provider], settings).resolve("secure:m")?;
    let read = |_| async {
        let mut answer = model.stream(ModelRequest::new(Vec::new()));
        while let Some(event) = answer.next().await {
            match event? {
                ModelEvent::Text(_) | ModelEvent::Usage(_) => {}
                ModelEvent::Stop(_) => return Ok(()),
                other => bail!("{other:?} instead of an answer"),
            }
        }
        bail!("an answer ended before it was whole")
    };
    let answers = try_join_all((0..streams).map(read)).await.context("not all answers came")?;
    ensure!(answers.len() == streams, "{} of {streams} answers came", answers.len());
    Ok(())
}
