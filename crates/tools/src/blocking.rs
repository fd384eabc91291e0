//! Work that blocks, on a thread that may: file reads, walks and searches.
//!
//! A blocking thread cannot be dropped, so each gets a flag to look at. It leaves to the work how
//! often to look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostler_runner::ToolOutcome;

use crate::Failed;

/// Does `work` on a blocking thread and gives its outcome. When the future is dropped, the work is
/// told to stop by its flag.
pub(crate) async fn run_blocking(
    work: impl FnOnce(&StopFlag) -> Result<ToolOutcome, Failed> + Send + 'static,
) -> ToolOutcome {
    let stop = StopFlag::default();
    let _stop_on_drop = SetStopFlagOnDrop(stop.clone());
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(failed)) => failed.into(),
        Err(error) => ToolOutcome::failed(format!(
            "The tool crashed ({error}). This is a bug in Ostler; try a different approach."
        )),
    }
}

/// Whether nobody waits for the work any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct SetStopFlagOnDrop(StopFlag);

impl Drop for SetStopFlagOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::run_blocking;
    use crate::Failed;
    use ostler_runner::ToolOutcome;

    #[tokio::test]
    async fn dropping_the_future_stops_the_work() {
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let work = tokio::spawn(run_blocking(move |stop| {
            started.send(()).unwrap();
            while !stop.is_set() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
            Err(Failed::new("stopped"))
        }));
        has_started.await.unwrap();
        work.abort();
        tokio::time::timeout(Duration::from_secs(60), has_ended).await.expect("the work stops").unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_an_outcome() {
        let outcome: ToolOutcome = run_blocking(|_| panic!("boom")).await;
        assert!(!outcome.ok);
        assert!(outcome.text.contains("bug in Ostler"), "{}", outcome.text);
    }
}
