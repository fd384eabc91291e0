//! Places at a client, so that many answers share few connections without waiting for each other.
//!
//! Over HTTP/2 the answers of one client share a connection to each host. Two things are in the way of that:
//! a server lets only some hundred through at a time, so more clients are used then; and until the first
//! connection stands, every request opens one of its own, so those that come right after the first wait a
//! moment for it. Building clients and sending is left to others.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Client;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// How many answers one client streams at a time before another is used; a little less than the hundred
/// that servers usually allow.
const MAX_STREAMS_PER_CLIENT: usize = 90;
/// When an unused connection may be gone; a little less than clients keep one.
const IDLE_LIMIT: Duration = Duration::from_secs(50);

/// A client with its connections, and who uses it.
#[derive(Debug, Default)]
pub(super) struct SharedHttpClient {
    pub(super) client: OnceCell<Client>,
    used_slots: AtomicUsize,
    /// As many as there are hosts of providers.
    hosts: Mutex<HashMap<String, Host>>,
}

#[derive(Debug)]
struct Host {
    /// When the request was made that opened the connection.
    opened: Instant,
    /// When a request last began or ended.
    used: Instant,
    requests: usize,
}

/// A client, and a place at it for as long as an answer takes.
#[derive(Debug)]
pub(crate) struct HttpClientLease {
    client: Client,
    _slot: HttpClientSlot,
}

/// Is counted until it is dropped.
#[derive(Debug)]
pub(super) struct HttpClientSlot {
    shared_client: Arc<SharedHttpClient>,
    host: String,
    /// When the connection that it can share should stand.
    ready: Instant,
}

/// A place in the first lane that has room, else in the one with the fewest users. A connection is given
/// `settling` to come about before others than the first use it.
pub(super) fn take_slot(lanes: &[Arc<SharedHttpClient>], host: &str, settling: Duration) -> HttpClientSlot {
    let fewest = || lanes.iter().min_by_key(|lane| lane.used_slots.load(Ordering::Relaxed));
    let free = lanes.iter().find(|lane| lane.reserve(MAX_STREAMS_PER_CLIENT));
    let lane = free.or_else(|| fewest().filter(|lane| lane.reserve(usize::MAX)));
    let lane = lane.expect("there is a lane, and no limit");
    HttpClientSlot { shared_client: lane.clone(), host: host.to_owned(), ready: lane.begin(host, settling) }
}

impl SharedHttpClient {
    /// Counts one more, if there are fewer than this many.
    fn reserve(&self, limit: usize) -> bool {
        let one_more = |places| (places < limit).then_some(places + 1);
        self.used_slots.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Begins a request to a host, and says when it can be sent.
    fn begin(&self, host: &str, settling: Duration) -> Instant {
        let now = Instant::now();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        match hosts.get_mut(host) {
            Some(host) if host.requests > 0 || now < host.used + IDLE_LIMIT => {
                (host.used, host.requests) = (now, host.requests + 1);
                now.max(host.opened + settling)
            }
            Some(_) | None => {
                hosts.insert(host.to_owned(), Host { opened: now, used: now, requests: 1 });
                now
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_unused(&self) -> bool {
        self.used_slots.load(Ordering::Relaxed) == 0
    }
}

impl HttpClientSlot {
    /// Its client, built if it is the first to need it.
    pub(super) fn client(&self) -> &OnceCell<Client> {
        &self.shared_client.client
    }

    /// Waits until it can be used.
    pub(super) async fn lease(self, client: Client) -> HttpClientLease {
        // A timer counts whole milliseconds, so sleeping until a moment that has passed takes up to one more.
        if self.ready > Instant::now() {
            tokio::time::sleep_until(self.ready).await;
        }
        HttpClientLease { client, _slot: self }
    }
}

impl Drop for HttpClientSlot {
    fn drop(&mut self) {
        self.shared_client.used_slots.fetch_sub(1, Ordering::Relaxed);
        let mut hosts = self.shared_client.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get_mut(&self.host) {
            (host.used, host.requests) = (Instant::now(), host.requests.saturating_sub(1));
        }
    }
}

impl Deref for HttpClientLease {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
