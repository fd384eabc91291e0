//! Asking providers which models they have. Bounded in time, bytes and number; remembered for a while,
//! failures for a shorter one; and one question at a time to each provider, whoever asks.
//!
//! What an answer means is [`decode`]'s, the servers' own endpoints are [`local_servers`]'s. A key is sent to the
//! provider's own address only, and to no endpoint but its list of models.

mod decode;
mod local_servers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use ostler_types::{Ability, Prices};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Url};
use tokio::time::{Instant, timeout, timeout_at};

use crate::http::HttpClients;
use crate::profile::ThinkingControl;
use crate::secret::{KeyFreshness, SecretRedactor};
use crate::{ProviderConfig, ProviderKind};

/// How long a list is good for.
pub(crate) const LIST_LIFETIME: Duration = Duration::from_secs(300);
/// How long a server that did not answer is left alone.
const FAILURE_LIFETIME: Duration = Duration::from_secs(30);
/// How long a provider may take to tell everything.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a server on this machine may take to accept a connection.
const LOCAL_CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
/// The longest list that is read, in bytes and in models.
const MAX_BODY: usize = 16 * 1024 * 1024;
const MAX_MODELS: usize = 2_000;

/// A model that a provider says it has, and what it says about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DiscoveredModel {
    pub(crate) id: String,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) prices: Option<Prices>,
    /// What it can do and what it cannot, as far as that was said.
    pub(crate) abilities: Vec<(Ability, bool)>,
    pub(crate) thinking: Option<ThinkingControl>,
}

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoModelList {
    /// In words that people are shown.
    pub(crate) why: String,
    /// Whether it can be used all the same: it is there, and only has no list.
    pub(crate) usable: bool,
}

/// What came of asking.
pub(crate) type DiscoveryAnswer = Result<Arc<[DiscoveredModel]>, NoModelList>;

/// Who was asked, and what they said.
#[derive(Debug)]
pub(crate) struct Discovery {
    http: Arc<HttpClients>,
    answers: Mutex<HashMap<String, CachedDiscovery>>,
}

#[derive(Debug)]
struct CachedDiscovery {
    at: Instant,
    answer: Shared<BoxFuture<'static, DiscoveryAnswer>>,
    /// The last list, while a newer one is awaited or could not be had.
    last: Option<Arc<[DiscoveredModel]>>,
}

impl Discovery {
    pub(crate) fn new(http: Arc<HttpClients>) -> Discovery {
        Discovery { http, answers: Mutex::default() }
    }

    /// What a provider has; what it said no longer ago than `age` will do.
    pub(crate) async fn ask(&self, provider: &Arc<ProviderConfig>, age: Duration) -> DiscoveryAnswer {
        let answer = {
            let mut asked = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            let before = asked.get(&provider.name);
            match before.filter(|before| before.is_good(age)) {
                Some(before) => before.answer.clone(),
                None => {
                    let last = before.and_then(CachedDiscovery::list);
                    let answer = query_provider(self.http.clone(), provider.clone()).boxed().shared();
                    let now = CachedDiscovery { at: Instant::now(), answer: answer.clone(), last };
                    asked.insert(provider.name.clone(), now);
                    answer
                }
            }
        };
        answer.await
    }

    /// What a provider said last, without asking it.
    pub(crate) fn cached(&self, provider: &str) -> Option<Arc<[DiscoveredModel]>> {
        let asked = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        asked.get(provider).and_then(CachedDiscovery::list)
    }

    /// Has everybody asked anew.
    pub(crate) fn clear(&self) {
        let mut asked = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|_, asked| {
            asked.last = asked.list();
            asked.answer = async { Err(NoModelList { why: String::new(), usable: false }) }.boxed().shared();
            asked.at = Instant::now() - LIST_LIFETIME.max(FAILURE_LIFETIME);
            asked.last.is_some()
        });
    }
}

impl CachedDiscovery {
    fn is_good(&self, age: Duration) -> bool {
        let passed = self.at.elapsed();
        match self.answer.peek() {
            Some(Ok(_)) => passed < age.min(LIST_LIFETIME),
            Some(Err(_)) => passed < FAILURE_LIFETIME,
            // Whoever asked may have gone away, and nobody drives the question any more.
            None => passed < QUERY_TIMEOUT,
        }
    }

    fn list(&self) -> Option<Arc<[DiscoveredModel]>> {
        match self.answer.peek() {
            Some(Ok(list)) => Some(list.clone()),
            Some(Err(_)) | None => self.last.clone(),
        }
    }
}

async fn query_provider(http: Arc<HttpClients>, provider: Arc<ProviderConfig>) -> DiscoveryAnswer {
    let deadline = Instant::now() + QUERY_TIMEOUT;
    let asking = DiscoveryQuery { http, provider, deadline };
    match timeout_at(deadline, asking.list()).await {
        Ok(answer) => answer,
        Err(_) => Err(asking.no_list(format!("did not list its models within {QUERY_TIMEOUT:?}"), false)),
    }
}

/// One question in progress.
struct DiscoveryQuery {
    http: Arc<HttpClients>,
    provider: Arc<ProviderConfig>,
    deadline: Instant,
}

impl DiscoveryQuery {
    async fn list(&self) -> DiscoveryAnswer {
        let url = self.address(&self.provider.base_url, self.path())?;
        self.check_reachable(&url).await?;
        let (headers, hidden) = self.headers().await?;
        let body = self.get(url, headers).await.map_err(|mut silence| {
            silence.why = hidden.redact(&silence.why).into_owned();
            silence
        })?;
        let list = decode::parse_list(&body);
        let mut found = list.ok_or_else(|| self.no_list("answered, but with no list of models", true))?;
        found.truncate(MAX_MODELS);
        if self.provider.is_keyless() && found.iter().all(|model| model.context_window.is_none()) {
            local_servers::add_native_details(self, &mut found).await;
        }
        Ok(found.into())
    }

    fn path(&self) -> &'static str {
        match self.provider.kind {
            ProviderKind::Anthropic => "models?limit=1000",
            ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses | ProviderKind::Replay => "models",
        }
    }

    fn address(&self, base_url: &str, path: &str) -> Result<Url, NoModelList> {
        let base = base_url.trim().trim_end_matches('/');
        let versioned = self.provider.kind != ProviderKind::Anthropic || base.ends_with("/v1");
        let text = if versioned { format!("{base}/{path}") } else { format!("{base}/v1/{path}") };
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        url.ok_or_else(|| self.no_list("has no address that can be asked", false))
    }

    /// A server on this machine is there or it is not; nobody waits long to find out.
    async fn check_reachable(&self, url: &Url) -> Result<(), NoModelList> {
        if !self.provider.is_local() {
            return Ok(());
        }
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match timeout(LOCAL_CONNECT_TIMEOUT, tokio::net::TcpStream::connect((host, port))).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                Err(self.no_list(format!("does not run: nothing answers at {host}:{port}"), false))
            }
        }
    }

    async fn headers(&self) -> Result<(HeaderMap, SecretRedactor), NoModelList> {
        let (mut headers, mut hidden) = (HeaderMap::new(), SecretRedactor::default());
        let key = self.provider.api_key.find(KeyFreshness::Any).await;
        let key = key.map_err(|error| NoModelList { why: error.message, usable: false })?;
        if let Some(key) = key {
            let (name, text) = match self.provider.kind {
                ProviderKind::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
                ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses | ProviderKind::Replay => {
                    (AUTHORIZATION, format!("Bearer {}", key.expose()))
                }
            };
            let mut value = HeaderValue::try_from(text)
                .map_err(|_| self.no_list("has a key with characters that no key can hold", false))?;
            value.set_sensitive(true);
            headers.insert(name, value);
            hidden.add(key);
        }
        if self.provider.kind == ProviderKind::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        Ok((headers, hidden))
    }

    async fn get(&self, url: Url, headers: HeaderMap) -> Result<Vec<u8>, NoModelList> {
        let client =
            self.http.lease_client(&url).await.map_err(|error| self.no_list(error.message, false))?;
        self.read(client.get(url).headers(headers)).await
    }

    async fn post(&self, url: Url, body: String) -> Result<Vec<u8>, NoModelList> {
        let client =
            self.http.lease_client(&url).await.map_err(|error| self.no_list(error.message, false))?;
        self.read(client.post(url).header("content-type", "application/json").body(body)).await
    }

    async fn read(&self, request: RequestBuilder) -> Result<Vec<u8>, NoModelList> {
        let unreachable = |error: reqwest::Error| {
            self.no_list(format!("cannot be reached: {}", error.without_url()), false)
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        if !status.is_success() {
            let locked = matches!(status.as_u16(), 401 | 403);
            let advice = match &self.provider.key_from {
                Some(place) if locked => format!("; check its key, which comes from {place}"),
                None if locked => "; check its key".to_owned(),
                Some(_) | None => String::new(),
            };
            let what = format!("answered {} when asked for its models{advice}", status.as_u16());
            return Err(self.no_list(what, !locked));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BODY {
                return Err(self.no_list("has a list of models that is larger than 16 MiB", true));
            }
        }
        Ok(body)
    }

    fn no_list(&self, what: impl AsRef<str>, usable: bool) -> NoModelList {
        NoModelList { why: format!("provider `{}` {}", self.provider.name, what.as_ref()), usable }
    }
}
