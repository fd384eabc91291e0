//! What several threads that walk a tree have still to visit.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Directories to visit. It is over when there are none and no thread is in one, because only a
/// visit adds more.
pub struct WalkQueue<T> {
    waiting: Mutex<(Vec<T>, usize)>,
    changed: Condvar,
}

impl<T> WalkQueue<T> {
    /// A walk that begins here.
    pub fn new(first: T) -> WalkQueue<T> {
        WalkQueue { waiting: Mutex::new((vec![first], 0)), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<T>, usize)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a directory to whoever is free.
    pub fn add(&self, job: T) {
        self.lock().0.push(job);
        self.changed.notify_one();
    }

    /// The next directory, and what says that a thread is in it.
    pub fn next(&self) -> Option<(T, VisitGuard<'_, T>)> {
        let mut waiting = self.lock();
        loop {
            if let Some(job) = waiting.0.pop() {
                waiting.1 += 1;
                return Some((job, VisitGuard(self)));
            }
            if waiting.1 == 0 {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread in a directory. Dropping it, also by a panic, lets the others end.
pub struct VisitGuard<'a, T>(&'a WalkQueue<T>);

impl<T> Drop for VisitGuard<'_, T> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.1 -= 1;
        if waiting.1 == 0 {
            self.0.changed.notify_all();
        }
    }
}
