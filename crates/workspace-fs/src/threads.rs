//! Work on several threads that the caller waits for. Nothing outlives the call.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads a call uses at most. More would only take them from other sessions.
const MAX_THREADS: usize = 8;
/// How many things a thread takes at a time.
const PORTION: usize = 16;

/// Does the same work on as many threads as are good for it, this one among them.
pub fn run_in_threads<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut results = vec![work()];
        for other in others {
            // A panic goes on to whoever waits for the call, as it would without threads.
            results.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    })
}

/// Does something for each of many things, in no order, until all are done or one fails.
pub fn for_each<T: Sync, E: Send>(things: &[T], work: impl Fn(&T) -> Result<(), E> + Sync) -> Result<(), E> {
    if things.len() <= PORTION {
        return things.iter().try_for_each(work);
    }
    let next = AtomicUsize::new(0);
    let results = run_in_threads(|| {
        loop {
            let start = next.fetch_add(PORTION, Ordering::Relaxed);
            let Some(rest) = things.get(start..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
            let portion = &rest[..rest.len().min(PORTION)];
            if let Err(error) = portion.iter().try_for_each(&work) {
                next.store(things.len(), Ordering::Relaxed);
                return Err(error);
            }
        }
    });
    results.into_iter().collect()
}
