//! Looks at a workspace that several sessions share: those that begin at once in one workspace look at it
//! once, not each for itself. Nobody is given a look that began before it asked, and nothing is kept.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The newest look at something, and when it began. Whoever looks holds the lock.
type LatestCall<V> = Arc<tokio::sync::Mutex<Option<(Instant, V)>>>;

/// The looks that are under way, by what makes two of them the same.
#[derive(Debug)]
pub(crate) struct SingleFlight<K, V>(Mutex<HashMap<K, LatestCall<V>>>);

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> SingleFlight<K, V> {
        SingleFlight(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> SingleFlight<K, V> {
    /// Looks, or waits for somebody who looks at the same and has not yet begun.
    pub(crate) async fn run<F: Future<Output = V>>(&self, subject: K, look: impl FnOnce() -> F) -> V {
        let asked = Instant::now();
        let share = SharedCall { single_flight: self, latest_call: self.latest_call(&subject), subject };
        let mut newest = share.latest_call.lock().await;
        if let Some((_, seen)) = newest.as_ref().filter(|(began, _)| *began >= asked) {
            return seen.clone();
        }
        let began = Instant::now();
        let seen = look().await;
        *newest = Some((began, seen.clone()));
        seen
    }

    fn latest_call(&self, subject: &K) -> LatestCall<V> {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(looks.entry(subject.clone()).or_default())
    }
}

/// One who waits for a look. The last to leave takes it away.
struct SharedCall<'a, K: Eq + Hash, V> {
    single_flight: &'a SingleFlight<K, V>,
    latest_call: LatestCall<V>,
    subject: K,
}

impl<K: Eq + Hash, V> Drop for SharedCall<'_, K, V> {
    fn drop(&mut self) {
        let mut looks = self.single_flight.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The map has one, this another; more can only be had under the lock that is held here.
        if Arc::strong_count(&self.latest_call) <= 2 {
            looks.remove(&self.subject);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use futures_util::poll;
    use tokio::task::yield_now;

    use super::SingleFlight;

    #[tokio::test]
    async fn those_who_ask_at_once_share_a_look_that_began_after_they_asked() {
        let (looks, count) = (SingleFlight::default(), AtomicUsize::new(0));
        let one = || async {
            let asked = count.load(Ordering::SeqCst);
            let look = || async {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                yield_now().await;
                number
            };
            let seen: usize = looks.run("/here", look).await;
            assert!(seen > asked, "look {seen} was under way when it was asked for");
        };
        join_all((0..1000).map(|_| one())).await;
        assert_eq!(count.load(Ordering::SeqCst), 2);
        assert!(looks.0.lock().unwrap().is_empty(), "nothing is kept");
        one().await;
        assert_eq!(count.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn one_who_gives_up_stops_nobody_else() {
        let looks = SingleFlight::default();
        let never = looks.run("/here", std::future::pending);
        let mut never = Box::pin(never);
        assert!(poll!(&mut never).is_pending());
        let elsewhere = looks.run("/there", || async { 1 });
        elsewhere.await;
        let mut waits = Box::pin(looks.run("/here", || async { 2 }));
        assert!(poll!(&mut waits).is_pending());
        drop(never);
        assert_eq!(waits.await, 2);
        assert!(looks.0.lock().unwrap().is_empty());
    }
}
