//! The work that falls to a socket: of each relay one of its sockets does it, and rings the others.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;

use super::relay::Drive;

/// What tells a socket that a session which it follows has something new.
#[derive(Default)]
pub(super) struct Bell {
    rung: Notify,
    /// The same from work that the socket does itself, for which it need not be woken.
    news: AtomicBool,
}

impl Bell {
    pub(super) fn ring(&self) {
        self.rung.notify_one();
    }

    /// Tells the socket that does the work, and looks when that is done.
    pub(super) fn note(&self) {
        self.news.store(true, Ordering::Relaxed);
    }

    /// Returns when it was rung.
    pub(super) async fn rung(&self) {
        self.rung.notified().await;
    }
}

/// The relays whose work a socket does. A socket mostly follows one session, and then nothing has to be known of which was
/// woken.
#[derive(Default)]
pub(super) struct Drives {
    first: Option<Drive>,
    others: FuturesUnordered<Drive>,
    /// Whether nothing can have happened since the work was done: whatever does wakes the task, which asks again.
    is_done: bool,
}

impl Drives {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }

    pub(super) fn push(&mut self, drive: Drive) {
        self.is_done = false;
        match self.first {
            None => self.first = Some(drive),
            Some(_) => self.others.push(drive),
        }
    }

    pub(super) fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }

    /// Does what there is to do, and returns when that made news for the socket with this bell. Always asked by the same
    /// task.
    pub(super) async fn news(&mut self, bell: &Bell) {
        poll_fn(|context| self.poll_news(bell, context)).await;
    }

    fn poll_news(&mut self, bell: &Bell, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::take(&mut self.is_done) {
            return Poll::Pending;
        }
        if let Some(first) = &mut self.first
            && Pin::new(first).poll(context).is_ready()
        {
            self.first = None;
        }
        while !self.others.is_empty()
            && let Poll::Ready(Some(())) = self.others.poll_next_unpin(context)
        {}
        self.is_done = bell.news.swap(false, Ordering::Relaxed);
        if self.is_done { Poll::Ready(()) } else { Poll::Pending }
    }
}
