//! Connections that have become something else than HTTP: how many there may be, and that somebody waits for
//! their end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Connections of this kind at the same time.
const MAX_UPGRADED: usize = 256;
/// How long they have to end when the daemon stops.
const GRACE: Duration = Duration::from_secs(10);

/// The connections that were upgraded. Cheap to clone.
#[derive(Clone)]
pub(crate) struct UpgradedConnections {
    slots: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl UpgradedConnections {
    pub(crate) fn new() -> UpgradedConnections {
        UpgradedConnections { slots: Arc::new(Semaphore::new(MAX_UPGRADED)), tasks: TaskTracker::new() }
    }

    pub(crate) fn places(&self) -> Arc<Semaphore> {
        Arc::clone(&self.slots)
    }

    pub(crate) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(connection);
    }

    /// Returns when there is none.
    pub(crate) async fn wait_closed(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Returns when all have ended, or have had time enough.
    pub(crate) async fn close(&self) {
        if tokio::time::timeout(GRACE, self.wait_closed()).await.is_err() {
            tracing::warn!("some upgraded connections did not end in time");
        }
    }
}
