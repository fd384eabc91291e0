//! Looks at a workspace that several sessions share: those that begin at once in one workspace look at it
//! once, not each for itself. Nobody is given a look that began before it asked, and nothing is kept.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::budget::Budget;
use crate::gather::Request;
use crate::repository::Shape;

/// What makes two looks the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subject {
    workspace: PathBuf,
    focus: Vec<String>,
    budget: Budget,
}

/// The newest look at something, and when it began. Whoever looks holds the lock.
type Newest = Arc<tokio::sync::Mutex<Option<(Instant, Shape)>>>;

/// The looks that are under way.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<HashMap<Subject, Newest>>);

impl Looks {
    /// Looks, or waits for somebody who looks at the same and has not yet begun.
    pub(crate) async fn share<F: Future<Output = Shape>>(
        &self,
        request: &Request,
        look: impl FnOnce() -> F,
    ) -> Shape {
        let asked = Instant::now();
        let subject = Subject {
            workspace: request.workspace.clone(),
            focus: request.in_play.clone(),
            budget: request.budget,
        };
        let share = Share { looks: self, newest: self.newest(&subject), subject };
        let mut newest = share.newest.lock().await;
        if let Some((_, shape)) = newest.as_ref().filter(|(began, _)| *began >= asked) {
            return shape.clone();
        }
        let began = Instant::now();
        let shape = look().await;
        *newest = Some((began, shape.clone()));
        shape
    }

    fn newest(&self, subject: &Subject) -> Newest {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(looks.entry(subject.clone()).or_default())
    }
}

/// One who waits for a look. The last to leave takes it away.
struct Share<'a> {
    looks: &'a Looks,
    newest: Newest,
    subject: Subject,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut looks = self.looks.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The map has one, this another; more can only be had under the lock that is held here.
        if Arc::strong_count(&self.newest) <= 2 {
            looks.remove(&self.subject);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use futures_util::poll;
    use ostler_types::SessionId;
    use tokio::task::yield_now;
    use uuid::Uuid;

    use super::Looks;
    use crate::gather::Request;
    use crate::repository::Shape;

    fn request(workspace: &str) -> Request {
        Request::new(PathBuf::from(workspace), SessionId::new(Uuid::from_u128(7)), "")
    }

    #[tokio::test]
    async fn those_who_ask_at_once_share_a_look_that_began_after_they_asked() {
        let (looks, count) = (Looks::default(), AtomicUsize::new(0));
        let here = request("/here");
        let one = || async {
            let asked = count.load(Ordering::SeqCst);
            let look = || async {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                yield_now().await;
                Shape { tree: number.to_string(), ..Shape::default() }
            };
            let seen: usize = looks.share(&here, look).await.tree.parse().unwrap();
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
        let (looks, here, there) = (Looks::default(), request("/here"), request("/there"));
        let never = looks.share(&here, std::future::pending);
        let mut never = Box::pin(never);
        assert!(poll!(&mut never).is_pending());
        let elsewhere = looks.share(&there, || async { Shape::default() });
        elsewhere.await;
        let mut waits =
            Box::pin(looks.share(&here, || async { Shape { tree: "x".into(), ..Shape::default() } }));
        assert!(poll!(&mut waits).is_pending());
        drop(never);
        assert_eq!(waits.await.tree, "x");
        assert!(looks.0.lock().unwrap().is_empty());
    }
}
