//! Connections that have become something else than HTTP: how many there may be, and that somebody waits for
//! their end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Connections of this kind at the same time.
const PLACES: usize = 256;
/// How long they have to end when the daemon stops.
const GRACE: Duration = Duration::from_secs(10);

/// The connections that were upgraded. Cheap to clone.
#[derive(Clone)]
pub(crate) struct UpgradedConnections {
    places: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl UpgradedConnections {
    pub(crate) fn new() -> UpgradedConnections {
        UpgradedConnections { places: Arc::new(Semaphore::new(PLACES)), tasks: TaskTracker::new() }
    }

    pub(crate) fn places(&self) -> Arc<Semaphore> {
        Arc::clone(&self.places)
    }

    pub(crate) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(connection);
    }

    /// Returns when there is none.
    pub(crate) async fn left(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Returns when all have ended, or have had time enough.
    pub(crate) async fn ended(&self) {
        if tokio::time::timeout(GRACE, self.left()).await.is_err() {
            tracing::warn!("some upgraded connections did not end in time");
        }
    }
}
