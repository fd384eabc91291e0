//! What `ostler rpc` and `ostler acp` have in common: lines on stdin and stdout, which are served in this process or
//! passed on to the daemon that has the data directory. What the lines say is the doors' affair.

mod replayable_stdin;

use std::io::ErrorKind::BrokenPipe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::Context;
use ostler_client::{Client, ClientError, UpgradedStream};
use ostler_daemon::Daemon;
use ostler_door_kit::line_connection::{ConnectionEnd, END_OF_LINES};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

use super::CommandContext;
use super::serve::StopSignals;
use crate::connect::{ConnectedDaemon, DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use replayable_stdin::ReplayableStdin;

/// Bytes that are passed on at a time.
const CHUNK: usize = 64 * 1024;
/// How many daemons may be found that are about to end.
const MAX_ATTEMPTS: usize = 5;

/// A wire of lines.
pub(super) struct BridgedWire {
    /// Where the daemon has it.
    pub(super) path: &'static str,
    /// What a connection asks for in order to become it.
    pub(super) upgrade: &'static str,
    /// How the first line begins when all is well; nothing when it tells nothing.
    pub(super) ready_prefix: &'static [u8],
    /// What a signal says in the client's place; nothing where the end of its lines says enough.
    pub(super) quit_line: Option<&'static [u8]>,
    /// A line for the client when Daemon disconnected; nothing where the wire has none.
    pub(super) lost_line: Option<&'static str>,
    /// What a person is told then.
    pub(super) lost_advice: &'static str,
    /// Whether to stay for others that speak to this process, though its own client has gone.
    pub(super) stays_for_others: bool,
}

/// What became of passing lines on.
enum BridgeResult {
    /// All there was.
    Done(CliExit),
    /// Nothing: the daemon ended before it said a word.
    NotReceived,
}

/// Serves a client on stdin and stdout: by the daemon, or else by `here` in this process, which is given what
/// the client says and what stops it, and returns how it ended.
pub(super) async fn serve(
    setting: CommandContext,
    wire: &BridgedWire,
    options: impl Serialize,
    here: impl AsyncFnOnce(
        &Daemon,
        ReplayableStdin,
        CancellationToken,
    ) -> Result<ConnectionEnd, ostler_types::Refusal>,
) -> anyhow::Result<CliExit> {
    let (mut signals, mut input) = (StopSignals::new()?, ReplayableStdin::new());
    for _ in 0..MAX_ATTEMPTS {
        let reached = connect_or_start(
            &setting.data_dir,
            &setting.loaded.config,
            &setting.environment,
            DaemonPurpose::Run,
        )
        .await?;
        if reached.own_daemon().is_some() {
            return serve_in_process(reached, wire, input, signals, here).await;
        }
        if let BridgeResult::Done(exit) =
            bridge(&reached.client, wire, &options, &mut input, &mut signals).await?
        {
            return Ok(exit);
        }
        // Whoever has the directory next is told the same.
        if !input.rewind() {
            break;
        }
    }
    report!("error: {}", wire.lost_advice);
    Ok(CliExit::Unreachable)
}

async fn serve_in_process(
    reached: ConnectedDaemon,
    wire: &BridgedWire,
    mut input: ReplayableStdin,
    mut signals: StopSignals,
    here: impl AsyncFnOnce(
        &Daemon,
        ReplayableStdin,
        CancellationToken,
    ) -> Result<ConnectionEnd, ostler_types::Refusal>,
) -> anyhow::Result<CliExit> {
    let daemon = reached.own_daemon().context("the daemon is our own")?;
    let stop = CancellationToken::new();
    input.stop_keeping();
    let mut serving = Box::pin(here(daemon, input, stop.clone()));
    let ended = loop {
        tokio::select! {
            ended = &mut serving => break ended,
            () = signals.next(), if !stop.is_cancelled() => stop.cancel(),
        }
    };
    drop(serving);
    let exit = match ended {
        Ok(ConnectionEnd::Quit | ConnectionEnd::EndOfInput | ConnectionEnd::Stopped) => CliExit::Success,
        Ok(ConnectionEnd::ClientGone | ConnectionEnd::NotAllowed) => CliExit::Failure,
        Err(refusal) => {
            report!("error: {refusal}");
            CliExit::Failure
        }
    };
    // Others may have turns in this process, which go on unless it is stopped.
    if !stop.is_cancelled() {
        tokio::select! {
            () = daemon.wait_until_unused(), if wire.stays_for_others => {}
            () = daemon.wait_until_idle(), if !wire.stays_for_others => {}
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
async fn bridge(
    client: &Client,
    wire: &BridgedWire,
    options: &impl Serialize,
    input: &mut ReplayableStdin,
    signals: &mut StopSignals,
) -> anyhow::Result<BridgeResult> {
    let upgraded = match client.upgrade(wire.path, wire.upgrade).await {
        Ok(upgraded) => upgraded,
        Err(ClientError::Unreachable { .. } | ClientError::Refused { status: 503, .. }) => {
            return Ok(BridgeResult::NotReceived);
        }
        Err(error) => return Err(error.into()),
    };
    let (from, mut to) = tokio::io::split(upgraded);
    let mut first = serde_json::to_vec(options)?;
    first.push(b'\n');
    if to.write_all(&first).await.is_err() {
        return Ok(BridgeResult::NotReceived);
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
        Ok(BridgeResult::NotReceived) if input.is_over() => Ok(BridgeResult::Done(CliExit::Success)),
        Err(error)
            if error.downcast_ref().is_some_and(|error: &std::io::Error| error.kind() == BrokenPipe) =>
        {
            Ok(BridgeResult::Done(CliExit::Failure))
        }
        passed => passed,
    }
}

/// Passes stdin on. Its end, or a signal, is the end of what is sent; the rest can still be read.
async fn send(
    mut to: WriteHalf<UpgradedStream>,
    wire: &BridgedWire,
    input: &mut ReplayableStdin,
    said: &AtomicBool,
    signals: &mut StopSignals,
) {
    let mut buffer = vec![0; CHUNK];
    loop {
        if said.load(Relaxed) {
            input.stop_keeping();
        }
        let bytes = tokio::select! {
            read = input.read(&mut buffer) => match read {
                Ok(0) | Err(_) => break,
                Ok(count) => &buffer[..count],
            },
            () = signals.next() => {
                input.stop();
                match wire.quit_line {
                    Some(quit) => quit,
                    None => break,
                }
            }
        };
        // That Daemon disconnected shows where its answers are read.
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
    _ = to.shutdown().await;
}

/// Passes on what the daemon says, and tells from its end whether it came to one in order.
async fn receive(
    mut from: ReadHalf<UpgradedStream>,
    wire: &BridgedWire,
    said: &AtomicBool,
) -> anyhow::Result<BridgeResult> {
    let (mut stdout, mut buffer) = (crate::output::wire(), vec![0; CHUNK]);
    let (mut beginning, mut last, mut whole) = (Vec::<u8>::new(), b'\n', false);
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let mut bytes = &buffer[..count];
        if let [rest @ .., END_OF_LINES] = bytes {
            (bytes, whole) = (rest, true);
        }
        said.fetch_or(!bytes.is_empty(), Relaxed);
        beginning.extend(bytes.iter().take(wire.ready_prefix.len() - beginning.len()));
        last = bytes.last().copied().unwrap_or(last);
        stdout.write_all(bytes).await?;
        stdout.flush().await?;
    }
    if !said.load(Relaxed) {
        return Ok(BridgeResult::NotReceived);
    }
    if whole {
        return Ok(BridgeResult::Done(if beginning == wire.ready_prefix {
            CliExit::Success
        } else {
            CliExit::Failure
        }));
    }
    if let Some(cut) = wire.lost_line {
        let line = if last == b'\n' { cut.to_owned() } else { format!("\n{cut}") };
        stdout.write_all(line.as_bytes()).await?;
        stdout.flush().await?;
    }
    report!("error: {}", wire.lost_advice);
    Ok(BridgeResult::Done(CliExit::Unreachable))
}
