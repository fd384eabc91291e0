//! What `ostler rpc` and `ostler acp` have in common: lines on stdin and stdout, which are served in this process or
//! passed on to the daemon that has the data directory. What the lines say is the doors' affair.

use std::io::ErrorKind::BrokenPipe;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ostler_client::{Client, Upgraded};
use ostler_doors::jsonl::{END_OF_LINES, Ended};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

use super::Setting;
use super::serve::Signals;
use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::reach::{Purpose, reach};

/// Bytes that are passed on at a time.
const CHUNK: usize = 64 * 1024;

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
}

/// Serves a client on stdin and stdout: by the daemon, or else by `here` in this process, which is given what
/// stops it and returns how it ended.
pub(super) async fn serve(
    setting: Setting,
    wire: &Wire,
    options: impl Serialize,
    here: impl AsyncFnOnce(&Daemon, CancellationToken) -> Result<Ended, ostler_types::Refusal>,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::new()?;
    let reached =
        reach(&setting.data_dir, &setting.loaded.config, &setting.environment, Purpose::Run).await?;
    let Some(daemon) = reached.own() else {
        return pump(&reached.client, wire, &options, &mut signals).await;
    };
    let stop = CancellationToken::new();
    let mut serving = Box::pin(here(daemon, stop.clone()));
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
            eprintln!("error: {refusal}");
            Exit::Failure
        }
    };
    // Others may have turns in this process, which go on unless it is stopped.
    if !stop.is_cancelled() {
        tokio::select! {
            () = daemon.until_quiet() => {}
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
    signals: &mut Signals,
) -> anyhow::Result<Exit> {
    let (from, mut to) = tokio::io::split(client.upgrade(wire.path, wire.upgrade).await?);
    let mut first = serde_json::to_vec(options)?;
    first.push(b'\n');
    to.write_all(&first).await.context("the daemon did not take the options")?;
    let up = async {
        send(to, wire, signals).await;
        // The daemon has the last word.
        std::future::pending().await
    };
    let exit = tokio::select! {
        exit = receive(from, wire) => exit,
        never = up => never,
    };
    match exit {
        Err(error)
            if error.downcast_ref().is_some_and(|error: &std::io::Error| error.kind() == BrokenPipe) =>
        {
            Ok(Exit::Failure)
        }
        exit => exit,
    }
}

/// Passes stdin on. Its end, or a signal, is the end of what is sent; the rest can still be read.
async fn send(mut to: WriteHalf<Upgraded>, wire: &Wire, signals: &mut Signals) {
    let (mut stdin, mut buffer) = (tokio::io::stdin(), vec![0; CHUNK]);
    loop {
        let bytes = tokio::select! {
            read = stdin.read(&mut buffer) => match read {
                Ok(0) | Err(_) => break,
                Ok(count) => &buffer[..count],
            },
            () = signals.next() => match wire.quit {
                Some(quit) => quit,
                None => break,
            },
        };
        // That the daemon is gone shows where its answers are read.
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
    _ = to.shutdown().await;
}

/// Passes on what the daemon says, and tells from its end whether it came to one in order.
async fn receive(mut from: ReadHalf<Upgraded>, wire: &Wire) -> anyhow::Result<Exit> {
    let (mut stdout, mut buffer) = (tokio::io::stdout(), vec![0; CHUNK]);
    let (mut beginning, mut last, mut whole) = (Vec::<u8>::new(), b'\n', false);
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let mut bytes = &buffer[..count];
        if let [rest @ .., END_OF_LINES] = bytes {
            (bytes, whole) = (rest, true);
        }
        beginning.extend(bytes.iter().take(wire.ready.len() - beginning.len()));
        last = bytes.last().copied().unwrap_or(last);
        stdout.write_all(bytes).await?;
        stdout.flush().await?;
    }
    if whole {
        return Ok(if beginning == wire.ready { Exit::Success } else { Exit::Failure });
    }
    if let Some(cut) = wire.cut {
        let line = if last == b'\n' { cut.to_owned() } else { format!("\n{cut}") };
        stdout.write_all(line.as_bytes()).await?;
        stdout.flush().await?;
    }
    eprintln!("error: {}", wire.advice);
    Ok(Exit::Unreachable)
}
