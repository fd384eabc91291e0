//! That the daemon stops, told to every socket. A socket asks with each frame, so it looks at a flag and not at a lock that
//! all of them share.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio_util::sync::CancellationToken;

/// Whether the daemon stops.
#[derive(Default)]
pub(super) struct Stop {
    /// Set before whoever waits is woken.
    is_told: AtomicBool,
    token: CancellationToken,
}

impl Stop {
    /// Tells everybody.
    pub(super) fn tell(&self) {
        self.is_told.store(true, Ordering::Release);
        self.token.cancel();
    }

    /// Returns when it was told. Always asked by the same task, which is woken by what it waited for first.
    pub(super) async fn told(&self) {
        let (mut told, mut waits) = (pin!(self.token.cancelled()), false);
        poll_fn(|context| {
            if waits && !self.is_told.load(Ordering::Acquire) {
                return Poll::Pending;
            }
            waits = true;
            told.as_mut().poll(context)
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Stop;

    #[tokio::test]
    async fn whoever_waits_is_told_and_whoever_comes_later_too() {
        let stop = Arc::new(Stop::default());
        let waiting = tokio::spawn({
            let stop = Arc::clone(&stop);
            async move { stop.told().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        stop.tell();
        waiting.await.unwrap();
        stop.told().await;
    }
}
