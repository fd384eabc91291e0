//! One request over one connection: dialing, headers, time limits, and reading the answer.
//! Knows HTTP and sockets, and nothing of sessions.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, UPGRADE, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::ClientError;
use crate::error::refused;

/// Where a daemon listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonEndpoint {
    /// An address and port, in practice a loopback one: there is no TLS here.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl std::fmt::Display for DaemonEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DaemonEndpoint::Tcp(address) => write!(f, "{address}"),
            DaemonEndpoint::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A connection that no longer speaks HTTP. Closing its writing end leaves the other open.
pub type UpgradedStream = TokioIo<hyper::upgrade::Upgraded>;

/// A daemon that does not accept within this time is taken for gone.
const DIAL_LIMIT: Duration = Duration::from_secs(5);
/// A daemon that does not answer within this time is taken for hung.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// The largest answer that is read into memory.
const BODY_LIMIT: usize = 64 << 20;

/// An endpoint, with what every request to it carries.
pub(crate) struct HttpConnector {
    endpoint: DaemonEndpoint,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
}

impl std::fmt::Debug for HttpConnector {
    /// Leaves the token out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpConnector").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// An answer whose body has not been read. Dropping it ends the connection.
pub(crate) struct ClientResponse {
    response: Response<Incoming>,
    driver: JoinSet<()>,
    request: String,
    endpoint: String,
}

impl HttpConnector {
    pub(crate) fn new(endpoint: DaemonEndpoint, token: Option<&str>) -> Result<HttpConnector, ClientError> {
        let host = match &endpoint {
            DaemonEndpoint::Tcp(address) => format!("127.0.0.1:{}", address.port()),
            DaemonEndpoint::Unix(_) => "localhost".to_owned(),
        };
        let host = HeaderValue::try_from(host).expect("an address is a valid header value");
        let authorization = token.map(bearer).transpose()?;
        Ok(HttpConnector { endpoint, host, authorization })
    }

    /// Dials and hangs up.
    pub(crate) async fn probe(&self) -> Result<(), ClientError> {
        self.dial().await.map(drop)
    }

    /// Sends a JSON request and returns the answer if it is a success.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<ClientResponse, ClientError> {
        self.send_accepting("application/json", method, path, body).await
    }

    /// The same for another kind of answer.
    pub(crate) async fn send_accepting(
        &self,
        accept: &'static str,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<ClientResponse, ClientError> {
        let name = format!("{method} {path}");
        let request = self.request(accept, method, path, body)?;
        self.exchange(request, name).await?.checked().await
    }

    /// Sends the bytes of a file, and returns the answer if it is a success.
    pub(crate) async fn send_bytes(
        &self,
        method: Method,
        path: &str,
        content: Bytes,
    ) -> Result<ClientResponse, ClientError> {
        let name = format!("{method} {path}");
        let mut request = self.request("application/json", method, path, Some(content))?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        self.exchange(request, name).await?.checked().await
    }

    /// Sends a request on a connection of its own, and returns whatever is answered.
    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        name: String,
    ) -> Result<ClientResponse, ClientError> {
        let (mut sender, driver) = self.dial().await?;
        let response = match timeout(ANSWER_LIMIT, sender.send_request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(innermost_cause(&error))),
            Err(_) => return Err(self.unreachable(format!("no answer within {} s", ANSWER_LIMIT.as_secs()))),
        };
        Ok(ClientResponse { response, driver, request: name, endpoint: self.endpoint.to_string() })
    }

    /// Asks to speak another protocol, and returns the connection once the daemon agrees.
    pub(crate) async fn upgrade(
        &self,
        path: &str,
        protocol: &'static str,
    ) -> Result<UpgradedStream, ClientError> {
        let mut request = self.request("*/*", Method::GET, path, None)?;
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        request.headers_mut().insert(UPGRADE, HeaderValue::from_static(protocol));
        let answer = self.exchange(request, format!("GET {path}")).await?;
        if answer.response.status() != StatusCode::SWITCHING_PROTOCOLS {
            answer.checked().await?;
            return Err(ClientError::Protocol(format!("the daemon does not speak {protocol} at {path}")));
        }
        let ClientResponse { response, driver, .. } = answer;
        let upgraded =
            hyper::upgrade::on(response).await.map_err(|error| self.unreachable(innermost_cause(&error)));
        drop(driver);
        upgraded.map(TokioIo::new)
    }

    pub(crate) fn unreachable(&self, reason: impl Into<String>) -> ClientError {
        ClientError::Unreachable { endpoint: self.endpoint.to_string(), reason: reason.into() }
    }

    fn request(
        &self,
        accept: &'static str,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.host)
            .header(USER_AGENT, concat!("ostler-cli/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, accept)
            .header(CONNECTION, "close");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request
            .body(Full::new(body.unwrap_or_default()))
            .map_err(|error| ClientError::Protocol(format!("the request to {path} cannot be built: {error}")))
    }

    async fn dial(&self) -> Result<(SendRequest<Full<Bytes>>, JoinSet<()>), ClientError> {
        let dialed = timeout(DIAL_LIMIT, async {
            match &self.endpoint {
                DaemonEndpoint::Tcp(address) => start_http(TcpStream::connect(address).await?).await,
                DaemonEndpoint::Unix(path) => start_http(UnixStream::connect(path).await?).await,
            }
        });
        match dialed.await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(self.unreachable(error.to_string())),
            Err(_) => Err(self.unreachable(format!("no connection within {} s", DIAL_LIMIT.as_secs()))),
        }
    }
}

impl ClientResponse {
    /// Reads the whole body as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let request = self.request.clone();
        let body = self.bytes().await?;
        serde_json::from_slice(&body).map_err(|error| {
            ClientError::Protocol(format!("the answer to {request} cannot be read: {error}"))
        })
    }

    /// Reads the whole body and forgets it, so that the daemon sees its answer taken.
    pub(crate) async fn drain(self) -> Result<(), ClientError> {
        self.bytes().await.map(drop)
    }

    /// The body's next bytes; `None` at its end.
    pub(crate) async fn chunk(&mut self, limit: Duration) -> Result<Option<Bytes>, ClientError> {
        loop {
            let frame = match timeout(limit, self.response.body_mut().frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Err(self.interrupted(innermost_cause(&error))),
                Ok(None) => return Ok(None),
                Err(_) => return Err(self.interrupted(format!("nothing came for {} s", limit.as_secs()))),
            };
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// Whether the daemon answered in the form that was asked for.
    pub(crate) fn has_content_type(&self, content_type: &str) -> bool {
        let header = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        header.is_some_and(|value| value.split(';').next().is_some_and(|kind| kind.trim() == content_type))
    }

    async fn checked(self) -> Result<ClientResponse, ClientError> {
        let status = self.response.status();
        if status.is_success() {
            return Ok(self);
        }
        let body = self.bytes().await?;
        Err(refused(status, &body))
    }

    /// Reads the whole body.
    pub(crate) async fn bytes(self) -> Result<Bytes, ClientError> {
        let ClientResponse { response, driver, request, endpoint } = self;
        let body = timeout(ANSWER_LIMIT, Limited::new(response.into_body(), BODY_LIMIT).collect()).await;
        drop(driver);
        match body {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(ClientError::Protocol(
                format!("the answer to {request} is larger than {} MiB", BODY_LIMIT >> 20),
            )),
            Ok(Err(error)) => Err(ClientError::Unreachable { endpoint, reason: innermost_cause(&*error) }),
            Err(_) => Err(ClientError::Unreachable { endpoint, reason: "the answer broke off".to_owned() }),
        }
    }

    /// The error for a connection that ended too early.
    pub(crate) fn interrupted(&self, reason: impl Into<String>) -> ClientError {
        ClientError::Unreachable { endpoint: self.endpoint.clone(), reason: reason.into() }
    }
}

/// Starts HTTP on a stream. The set owns the task that moves the bytes, and ends it when dropped.
async fn start_http<T>(stream: T) -> std::io::Result<(SendRequest<Full<Bytes>>, JoinSet<()>)>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // A failure reaches the request as well, which is where it is told.
        let _ = connection.with_upgrades().await;
    });
    Ok((sender, driver))
}

fn bearer(token: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| ClientError::Protocol("the token holds characters that no token has".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The innermost cause: hyper's own words say only at which stage it failed.
fn innermost_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
