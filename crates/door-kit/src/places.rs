//! Room for a limited number of connections, in which those that have shown no token cannot keep out those that have:
//! when there is no room left, the oldest of them gives way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The room of one listener or door. Cheap to clone.
#[derive(Clone)]
pub struct ConnectionSlots {
    free: Arc<Semaphore>,
    unproven: Arc<Mutex<UnauthenticatedSlots>>,
}

/// Connections that have shown no token, the oldest first.
#[derive(Default)]
struct UnauthenticatedSlots {
    next: u64,
    by_age: BTreeMap<u64, UnauthenticatedSlot>,
}

struct UnauthenticatedSlot {
    /// Taken along when the place is given away, so that the newcomer need not wait for the connection's task to end.
    permit: OwnedSemaphorePermit,
    given_away: CancellationToken,
}

/// The place of one connection, free again when this is dropped.
pub struct ConnectionSlot {
    number: u64,
    unproven: Arc<Mutex<UnauthenticatedSlots>>,
    given_away: CancellationToken,
    /// The place once the connection has shown a token.
    kept: Mutex<Option<OwnedSemaphorePermit>>,
}

impl ConnectionSlots {
    /// Room for so many connections.
    pub fn new(limit: usize) -> ConnectionSlots {
        ConnectionSlots { free: Arc::new(Semaphore::new(limit)), unproven: Arc::default() }
    }

    /// A place: a free one, or that of the oldest connection that has shown no token. None if all have shown one.
    pub fn enter(&self) -> Option<ConnectionSlot> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok().or_else(|| self.take_oldest())?;
        Some(self.occupy(permit))
    }

    /// The same, but waits for a connection to end where all have shown a token.
    pub async fn wait(&self) -> ConnectionSlot {
        if let Some(occupied) = self.enter() {
            return occupied;
        }
        let permit = Arc::clone(&self.free).acquire_owned().await.expect("the semaphore is never closed");
        self.occupy(permit)
    }

    /// Closes the oldest connection that has shown no token, if there is one.
    pub fn give_one_away(&self) {
        drop(self.take_oldest());
    }

    fn take_oldest(&self) -> Option<OwnedSemaphorePermit> {
        let mut unproven = self.unproven.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, oldest) = unproven.by_age.pop_first()?;
        oldest.given_away.cancel();
        Some(oldest.permit)
    }

    fn occupy(&self, permit: OwnedSemaphorePermit) -> ConnectionSlot {
        let given_away = CancellationToken::new();
        let mut unproven = self.unproven.lock().unwrap_or_else(PoisonError::into_inner);
        let number = unproven.next;
        unproven.next += 1;
        unproven.by_age.insert(number, UnauthenticatedSlot { permit, given_away: given_away.clone() });
        ConnectionSlot { number, unproven: Arc::clone(&self.unproven), given_away, kept: Mutex::default() }
    }
}

impl ConnectionSlot {
    /// The connection has shown a token: nobody takes its place any more.
    pub fn keep(&self) {
        let waiting = self.leave();
        if let Some(waiting) = waiting {
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting.permit);
        }
    }

    /// Returns when the place has been given to another connection.
    pub async fn given_away(&self) {
        self.given_away.cancelled().await;
    }

    fn leave(&self) -> Option<UnauthenticatedSlot> {
        self.unproven.lock().unwrap_or_else(PoisonError::into_inner).by_age.remove(&self.number)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::ConnectionSlots;

    #[test]
    fn the_oldest_without_a_token_gives_way_and_one_with_a_token_never() {
        let places = ConnectionSlots::new(2);
        let owner = places.enter().unwrap();
        owner.keep();
        let crowd: Vec<_> = (0..5).map(|_| places.enter().unwrap()).collect();
        let gone: Vec<_> = crowd.iter().map(|place| place.given_away().now_or_never().is_some()).collect();
        assert_eq!(gone, [true, true, true, true, false]);
        assert!(owner.given_away().now_or_never().is_none());
        crowd[4].keep();
        assert!(places.enter().is_none(), "both have shown a token");
        assert!(places.wait().now_or_never().is_none());
        drop(owner);
        assert!(places.enter().is_some());
    }
}
