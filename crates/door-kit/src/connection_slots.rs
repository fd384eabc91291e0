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
    unauthenticated: Arc<Mutex<UnauthenticatedSlots>>,
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
    evicted: CancellationToken,
}

/// The place of one connection, free again when this is dropped.
pub struct ConnectionSlot {
    number: u64,
    unauthenticated: Arc<Mutex<UnauthenticatedSlots>>,
    evicted: CancellationToken,
    /// The place once the connection has shown a token.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl ConnectionSlots {
    /// Room for so many connections.
    pub fn new(limit: usize) -> ConnectionSlots {
        ConnectionSlots { free: Arc::new(Semaphore::new(limit)), unauthenticated: Arc::default() }
    }

    /// A place: a free one, or that of the oldest connection that has shown no token. None if all have shown one.
    pub fn try_acquire(&self) -> Option<ConnectionSlot> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok().or_else(|| self.take_oldest())?;
        Some(self.new_slot(permit))
    }

    /// The same, but waits for a connection to end where all have shown a token.
    pub async fn acquire(&self) -> ConnectionSlot {
        if let Some(occupied) = self.try_acquire() {
            return occupied;
        }
        let permit = Arc::clone(&self.free).acquire_owned().await.expect("the semaphore is never closed");
        self.new_slot(permit)
    }

    /// Closes the oldest connection that has shown no token, if there is one.
    pub fn evict_oldest(&self) {
        drop(self.take_oldest());
    }

    fn take_oldest(&self) -> Option<OwnedSemaphorePermit> {
        let mut unproven = self.unauthenticated.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, oldest) = unproven.by_age.pop_first()?;
        oldest.evicted.cancel();
        Some(oldest.permit)
    }

    fn new_slot(&self, permit: OwnedSemaphorePermit) -> ConnectionSlot {
        let given_away = CancellationToken::new();
        let mut unproven = self.unauthenticated.lock().unwrap_or_else(PoisonError::into_inner);
        let number = unproven.next;
        unproven.next += 1;
        unproven.by_age.insert(number, UnauthenticatedSlot { permit, evicted: given_away.clone() });
        ConnectionSlot {
            number,
            unauthenticated: Arc::clone(&self.unauthenticated),
            evicted: given_away,
            permit: Mutex::default(),
        }
    }
}

impl ConnectionSlot {
    /// The connection has shown a token: nobody takes its place any more.
    pub fn mark_authenticated(&self) {
        let waiting = self.release();
        if let Some(waiting) = waiting {
            *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting.permit);
        }
    }

    /// Returns when the place has been given to another connection.
    pub async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    fn release(&self) -> Option<UnauthenticatedSlot> {
        self.unauthenticated.lock().unwrap_or_else(PoisonError::into_inner).by_age.remove(&self.number)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::ConnectionSlots;

    #[test]
    fn the_oldest_without_a_token_gives_way_and_one_with_a_token_never() {
        let places = ConnectionSlots::new(2);
        let owner = places.try_acquire().unwrap();
        owner.mark_authenticated();
        let crowd: Vec<_> = (0..5).map(|_| places.try_acquire().unwrap()).collect();
        let gone: Vec<_> = crowd.iter().map(|place| place.evicted().now_or_never().is_some()).collect();
        assert_eq!(gone, [true, true, true, true, false]);
        assert!(owner.evicted().now_or_never().is_none());
        crowd[4].mark_authenticated();
        assert!(places.try_acquire().is_none(), "both have shown a token");
        assert!(places.acquire().now_or_never().is_none());
        drop(owner);
        assert!(places.try_acquire().is_some());
    }
}
