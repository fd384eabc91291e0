//! The lines that wait to be written: bounded in bytes, and emptied by a thread that ends when it has had
//! nothing to do for a while.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ostler_types::{Clock, RawLine};
use serde_json::Value;

use super::raw_file::RawFile;

/// How much may wait. Room for the largest request, and for what streams while it is written.
const MAX_BYTES: usize = 24 << 20;
/// What a line costs beside its text.
const LINE_OVERHEAD: usize = 128;
/// How long the thread stays for more: longer than the pauses of an answer, shorter than those of a user.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Something to write, and when it came.
pub(super) enum QueuedRawLine {
    Line(Timestamp, RawLine),
    /// So many lines were left out here.
    Dropped(Timestamp, u64),
}

pub(super) struct RawQueue {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    state: Mutex<RawQueueState>,
    /// Wakes the thread for a line, and those who wait for the thread to have written.
    changed: Condvar,
}

#[derive(Default)]
struct RawQueueState {
    waiting: VecDeque<QueuedRawLine>,
    bytes: usize,
    /// Whether there is a thread.
    is_draining: bool,
    /// Whether the thread is writing what it has taken from `waiting`.
    is_writing: bool,
    is_closed: bool,
    /// Whether the file takes no more.
    is_full: bool,
    /// Lines that the disk did not take, and that the file does not tell of yet.
    lost: u64,
}

impl RawQueue {
    pub(super) fn new(path: PathBuf, clock: Arc<dyn Clock>) -> RawQueue {
        RawQueue { path, clock, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Takes a line, or counts it as left out.
    pub(super) fn push(self: &Arc<RawQueue>, line: RawLine) {
        let (at, size) = (self.clock.now(), size(&line));
        let mut state = self.lock();
        if state.is_closed || state.is_full {
            return;
        }
        if state.bytes + size > MAX_BYTES {
            match state.waiting.back_mut() {
                Some(QueuedRawLine::Dropped(_, count)) => *count += 1,
                Some(QueuedRawLine::Line(..)) | None => {
                    state.waiting.push_back(QueuedRawLine::Dropped(at, 1))
                }
            }
        } else {
            state.bytes += size;
            state.waiting.push_back(QueuedRawLine::Line(at, line));
        }
        if state.is_draining {
            self.changed.notify_all();
        } else {
            self.start(state);
        }
    }

    /// Takes no more lines; those that wait are still written.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    pub(super) fn wait_until_written(&self, limit: Duration) {
        let is_busy = |state: &mut RawQueueState| !state.waiting.is_empty() || state.is_writing;
        let waited = self.changed.wait_timeout_while(self.lock(), limit, is_busy);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn start(self: &Arc<RawQueue>, mut state: MutexGuard<'_, RawQueueState>) {
        let queue = self.clone();
        let started = thread::Builder::new().name("raw-writer".into()).spawn(move || queue.drain());
        // Without a thread the lines wait for the next one that can be started.
        state.is_draining = started.is_ok();
    }

    /// Writes until nothing has come for a while. The thread belongs to the queue and ends soon after the
    /// queue's owner.
    fn drain(&self) {
        let mut file = RawFile::new(&self.path, self.lock().lost);
        while let Some(lines) = self.next_lines() {
            let is_full = lines.iter().any(|line| !file.write(line));
            let mut state = self.lock();
            (state.is_writing, state.lost) = (false, file.lost);
            if is_full {
                state.is_full = true;
                state.waiting.clear();
                state.bytes = 0;
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// All that waits; none when the thread is no longer needed.
    fn next_lines(&self) -> Option<VecDeque<QueuedRawLine>> {
        let (mut state, until) = (self.lock(), Instant::now() + IDLE_TIMEOUT);
        while state.waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if state.is_closed || state.is_full || left.is_zero() {
                state.is_draining = false;
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_writing = true;
        state.bytes = 0;
        Some(std::mem::take(&mut state.waiting))
    }

    fn lock(&self) -> MutexGuard<'_, RawQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Roughly how many bytes a line holds.
fn size(line: &RawLine) -> usize {
    LINE_OVERHEAD
        + match line {
            RawLine::Request { endpoint, payload } => endpoint.len() + value_size(payload),
            RawLine::Response { status: _, body } => body.len(),
            RawLine::StreamChunk { event, chunk } => event.len() + chunk.len(),
        }
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(value_size).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + value_size(value)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use ostler_types::{Clock, RawLine};
    use serde_json::Value;
    use uuid::Uuid;

    use super::{MAX_BYTES, RawQueue};

    struct EpochClock;

    impl Clock for EpochClock {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn uuid(&self) -> Uuid {
            Uuid::nil()
        }
    }

    fn response(body: &str) -> RawLine {
        RawLine::Response { status: 200, body: body.to_owned() }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_file_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raw.jsonl");
        let queue = Arc::new(RawQueue::new(path.clone(), Arc::new(EpochClock)));
        // A thread that does not get to write.
        queue.lock().is_draining = true;
        let large = "x".repeat(MAX_BYTES / 2);
        ["one", &large, &large, &large, "two"].into_iter().for_each(|body| queue.push(response(body)));
        assert!(queue.lock().bytes <= MAX_BYTES);
        queue.close();
        queue.drain();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["response", "response", "dropped", "response"]);
        assert_eq!((lines[2]["count"].as_u64(), lines[3]["body"].as_str()), (Some(2), Some("two")));
        assert!(!queue.lock().is_draining);
    }
}
