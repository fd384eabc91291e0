//! What `ostler rpc` and `ostler acp` have in common: lines on stdin and stdout, which are served in this process or
//! passed on to the daemon that has the data directory. What the lines say is the doors' affair.

mod input;

use std::io::ErrorKind::BrokenPipe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::Context;
use ostler_client::{Client, ClientError, Upgraded};
use ostler_daemon::Daemon;
use ostler_door_kit::lines::{END_OF_LINES, Ended};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

use super::Setting;
use super::serve::Signals;
use crate::exit::Exit;
use crate::reach::{Purpose, Reached, reach};
use input::Input;

/// Bytes that are passed on at a time.
const CHUNK: usize = 64 * 1024;
/// How many daemons may be found that are about to end.
const TRIES: usize = 5;

/// A wire of lines.
pub(super) struct Wire {
    /// Where the daemon has it.
    pub(super) path: &'static str,
    /// What a connection asks for in order to become it.
    pub(super) upgrade: &'static str,
    /// How the first line begins when all is well; nothing when it tells nothing.
    pub(super) ready: &'static [u8],
    /// What a signal says in the client's place; nothing where the end of its lines says enough.
    pub(super) quit: Option<&'static [u8]>,
    /// A line for the client when the daemon is gone; nothing where the wire has none.
    pub(super) cut: Option<&'static str>,
    /// What a person is told then.
    pub(super) advice: &'static str,
    /// Whether to stay for others that speak to this process, though its own client has gone.
    pub(super) stays: bool,
}

/// What became of passing lines on.
enum Passed {
    /// All there was.
    Done(Exit),
    /// Nothing: the daemon ended before it said a word.
    Unheard,
}

/// Serves a client on stdin and stdout: by the daemon, or else by `here` in this process, which is given what
/// the client says and what stops it, and returns how it ended.
pub(super) async fn serve(
    setting: Setting,
    wire: &Wire,
    options: impl Serialize,
    here: impl AsyncFnOnce(&Daemon, Input, CancellationToken) -> Result<Ended, ostler_types::Refusal>,
) -> anyhow::Result<Exit> {
    let (mut signals, mut input) = (Signals::new()?, Input::new());
    for _ in 0..TRIES {
        let reached =
            reach(&setting.data_dir, &setting.loaded.config, &setting.environment, Purpose::Run).await?;
        if reached.own().is_some() {
            return serve_here(reached, wire, input, signals, here).await;
        }
        if let Passed::Done(exit) = pump(&reached.client, wire, &options, &mut input, &mut signals).await? {
            return Ok(exit);
        }
        // Whoever has the directory next is told the same.
        if !input.rewind() {
            break;
        }
    }
    aside!("error: {}", wire.advice);
    Ok(Exit::Unreachable)
}

async fn serve_here(
    reached: Reached,
    wire: &Wire,
    mut input: Input,
    mut signals: Signals,
    here: impl AsyncFnOnce(&Daemon, Input, CancellationToken) -> Result<Ended, ostler_types::Refusal>,
) -> anyhow::Result<Exit> {
    let daemon = reached.own().context("the daemon is our own")?;
    let stop = CancellationToken::new();
    input.forget();
    let mut serving = Box::pin(here(daemon, input, stop.clone()));
    let ended = loop {
        tokio::select! {
            ended = &mut serving => break ended,
            () = signals.next(), if !stop.is_cancelled() => stop.cancel(),
        }
    };
    drop(serving);
    let exit = match ended {
        Ok(Ended::Quit | Ended::EndOfInput | Ended::Stopped) => Exit::Success,
        Ok(Ended::ClientGone | Ended::NotAllowed) => Exit::Failure,
        Err(refusal) => {
            aside!("error: {refusal}");
            Exit::Failure
        }
    };
    // Others may have turns in this process, which go on unless it is stopped.
    if !stop.is_cancelled() {
        tokio::select! {
            () = daemon.until_left(), if wire.stays => {}
            () = daemon.until_quiet(), if !wire.stays => {}
            () = signals.next() => {}
        }
    }
    reached.stop().await;
    Ok(exit)
}

/// The directory that was named, or this one.
pub(super) fn directory(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let cwd = named.unwrap_or(Path::new("."));
    let cwd = cwd.canonicalize().with_context(|| format!("{} cannot be used", cwd.display()))?;
    anyhow::ensure!(cwd.is_dir(), "{} is not a directory", cwd.display());
    Ok(cwd)
}

/// Passes bytes on to the daemon and back, until it is done.
async fn pump(
    client: &Client,
    wire: &Wire,
    options: &impl Serialize,
    input: &mut Input,
    signals: &mut Signals,
) -> anyhow::Result<Passed> {
    let upgraded = match client.upgrade(wire.path, wire.upgrade).await {
        Ok(upgraded) => upgraded,
        Err(ClientError::Unreachable { .. } | ClientError::Refused { status: 503, .. }) => {
            return Ok(Passed::Unheard);
        }
        Err(error) => return Err(error.into()),
    };
    let (from, mut to) = tokio::io::split(upgraded);
    let mut first = serde_json::to_vec(options)?;
    first.push(b'\n');
    if to.write_all(&first).await.is_err() {
        return Ok(Passed::Unheard);
    }
    let said = AtomicBool::new(false);
    let up = async {
        send(to, wire, input, &said, signals).await;
        // The daemon has the last word.
        std::future::pending().await
    };
    let passed = tokio::select! {
        passed = receive(from, wire, &said) => passed,
        never = up => never,
    };
    match passed {
        Ok(Passed::Unheard) if input.is_over() => Ok(Passed::Done(Exit::Success)),
        Err(error)
            if error.downcast_ref().is_some_and(|error: &std::io::Error| error.kind() == BrokenPipe) =>
        {
            Ok(Passed::Done(Exit::Failure))
        }
        passed => passed,
    }
}

/// Passes stdin on. Its end, or a signal, is the end of what is sent; the rest can still be read.
async fn send(
    mut to: WriteHalf<Upgraded>,
    wire: &Wire,
    input: &mut Input,
    said: &AtomicBool,
    signals: &mut Signals,
) {
    let mut buffer = vec![0; CHUNK];
    loop {
        if said.load(Relaxed) {
            input.forget();
        }
        let bytes = tokio::select! {
            read = input.read(&mut buffer) => match read {
                Ok(0) | Err(_) => break,
                Ok(count) => &buffer[..count],
            },
            () = signals.next() => {
                input.stop();
                match wire.quit {
                    Some(quit) => quit,
                    None => break,
                }
            }
        };
        // That the daemon is gone shows where its answers are read.
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
    _ = to.shutdown().await;
}

/// Passes on what the daemon says, and tells from its end whether it came to one in order.
async fn receive(mut from: ReadHalf<Upgraded>, wire: &Wire, said: &AtomicBool) -> anyhow::Result<Passed> {
    let (mut stdout, mut buffer) = (crate::output::wire(), vec![0; CHUNK]);
    let (mut beginning, mut last, mut whole) = (Vec::<u8>::new(), b'\n', false);
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let mut bytes = &buffer[..count];
        if let [rest @ .., END_OF_LINES] = bytes {
            (bytes, whole) = (rest, true);
        }
        said.fetch_or(!bytes.is_empty(), Relaxed);
        beginning.extend(bytes.iter().take(wire.ready.len() - beginning.len()));
        last = bytes.last().copied().unwrap_or(last);
        stdout.write_all(bytes).await?;
        stdout.flush().await?;
    }
    if !said.load(Relaxed) {
        return Ok(Passed::Unheard);
    }
    if whole {
        return Ok(Passed::Done(if beginning == wire.ready { Exit::Success } else { Exit::Failure }));
    }
    if let Some(cut) = wire.cut {
        let line = if last == b'\n' { cut.to_owned() } else { format!("\n{cut}") };
        stdout.write_all(line.as_bytes()).await?;
        stdout.flush().await?;
    }
    aside!("error: {}", wire.advice);
    Ok(Passed::Done(Exit::Unreachable))
}
