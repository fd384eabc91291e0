//! Attends a running program: passes on what it prints, gives it what it is to read, and sees to it that
//! it ends. What becomes of the output is left to whoever takes it.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::program_group::{ProgramGroup, ProgramOutput, ProgramStdin};
use crate::output::OutputDecoder;

/// How long output is awaited after the program is over.
const DRAIN_TIME: Duration = Duration::from_millis(500);
/// How long a killed program is awaited.
const KILL_TIME: Duration = Duration::from_secs(5);
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// Takes what a program prints: the stream's name, and text. Must not block.
pub(crate) trait OutputHandler: FnMut(&'static str, &str) + Send {}
impl<F: FnMut(&'static str, &str) + Send> OutputHandler for F {}

/// Why a program was killed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillReason {
    /// Its time was up.
    TimedOut(Duration),
    /// Somebody asked for it.
    Requested,
}

/// How a program was attended.
#[derive(Debug)]
pub(super) struct ProgramIoEnd {
    pub(super) kill_reason: Option<KillReason>,
    /// Whether its pipes were still open when it was over.
    pub(super) pipes_left_open: bool,
}

/// What a program is given to read.
pub(crate) struct ProgramInput {
    /// None where it gets nothing, or all that there is.
    queue: Option<mpsc::Receiver<Vec<u8>>>,
    pending: Vec<u8>,
    written: usize,
}

impl ProgramInput {
    /// Nothing.
    pub(crate) fn none() -> ProgramInput {
        ProgramInput { queue: None, pending: Vec::new(), written: 0 }
    }

    /// This, and then the end.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> ProgramInput {
        ProgramInput { queue: None, pending: bytes, written: 0 }
    }

    /// What comes through a queue, until that is closed.
    pub(super) fn from_queue(queue: mpsc::Receiver<Vec<u8>>) -> ProgramInput {
        ProgramInput { queue: Some(queue), pending: Vec::new(), written: 0 }
    }

    pub(super) fn has_input(&self) -> bool {
        self.queue.is_some() || !self.pending.is_empty()
    }

    /// Does the next thing: takes from the queue, or writes a piece. A writer that can take no more, or
    /// need not, is closed. Loses nothing when it is dropped while it waits.
    async fn advance(&mut self, writer: &mut Option<ProgramStdin>) {
        if self.written < self.pending.len() {
            let Some(open) = writer else { return };
            match open.write(&self.pending[self.written..]).await {
                // Who closes the queue lets those know who would write to it.
                Ok(0) | Err(_) => (*writer, self.queue) = (None, None),
                Ok(count) => self.written += count,
            }
            return;
        }
        let next = match &mut self.queue {
            Some(queue) => queue.recv().await,
            None => None,
        };
        match next {
            Some(bytes) => (self.pending, self.written) = (bytes, 0),
            None => *writer = None,
        }
    }
}

/// Attends a program until it is over and its pipes are closed, or it was cut and does not end.
pub(super) async fn run_until_ended(
    group: &mut ProgramGroup,
    input: &mut ProgramInput,
    cut: impl Future<Output = KillReason>,
    take: &mut impl OutputHandler,
) -> ProgramIoEnd {
    let (mut stdout, mut stderr) =
        (OutputPipe::new("stdout", group.stdout.take()), OutputPipe::new("stderr", group.stderr.take()));
    let mut stdin = group.stdin.take().filter(|_| input.has_input());
    let (mut exited, mut was_cut) = (false, None);
    let timer = tokio::time::sleep(Duration::ZERO);
    tokio::pin!(timer, cut);
    while !exited || stdout.is_open() || stderr.is_open() {
        tokio::select! {
            () = stdout.read(), if stdout.is_open() => stdout.forward(take),
            () = stderr.read(), if stderr.is_open() => stderr.forward(take),
            () = input.advance(&mut stdin), if stdin.is_some() => {}
            () = group.exit_watcher.wait(), if !exited => {
                exited = true;
                timer.as_mut().reset(Instant::now() + DRAIN_TIME);
            }
            why = &mut cut, if was_cut.is_none() && !exited => {
                was_cut = Some(why);
                group.kill();
                timer.as_mut().reset(Instant::now() + KILL_TIME);
            }
            () = &mut timer, if exited || was_cut.is_some() => break,
        }
    }
    let left_open = exited && was_cut.is_none() && (stdout.is_open() || stderr.is_open());
    stdout.close(take);
    stderr.close(take);
    ProgramIoEnd { kill_reason: was_cut, pipes_left_open: left_open }
}

/// One stream of a program.
struct OutputPipe {
    name: &'static str,
    reader: Option<ProgramOutput>,
    decoder: OutputDecoder,
    buffer: Vec<u8>,
}

impl OutputPipe {
    fn new(name: &'static str, reader: Option<ProgramOutput>) -> OutputPipe {
        let buffer = Vec::with_capacity(if reader.is_some() { READ_BYTES } else { 0 });
        OutputPipe { name, reader, decoder: OutputDecoder::default(), buffer }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Reads once. Loses nothing when it is dropped while it waits.
    async fn read(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        match reader.read_buf(&mut self.buffer).await {
            // A terminal that all have left ends in an error.
            Ok(0) | Err(_) => self.reader = None,
            Ok(_) => {}
        }
    }

    fn forward(&mut self, take: &mut impl OutputHandler) {
        take(self.name, &self.decoder.push(&self.buffer));
        self.buffer.clear();
    }

    fn close(&mut self, take: &mut impl OutputHandler) {
        self.reader = None;
        take(self.name, self.decoder.finish());
    }
}
