//! `ostler acp`: the Agent Client Protocol on stdin and stdout, for editors. The sessions are those of the daemon
//! that has the data directory, to which bytes are then only passed on, or they are run in this process.

use std::path::Path;

use anyhow::Context;
use ostler_client::{Client, Upgraded};
use ostler_doors::acp::{AcpDoor, END_OF_LINES, Ended, Options, UPGRADE};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

use super::Setting;
use super::serve::Signals;
use crate::args::Acp;
use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::reach::{Purpose, reach};

/// Bytes that are passed on at a time.
const CHUNK: usize = 64 * 1024;

pub(super) async fn acp(setting: Setting, args: Acp) -> anyhow::Result<Exit> {
    let options = match options(args) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error:#}");
            return Ok(Exit::Usage);
        }
    };
    let mut signals = Signals::new()?;
    let reached =
        reach(&setting.data_dir, &setting.loaded.config, &setting.environment, Purpose::Run).await?;
    let Some(daemon) = reached.own() else {
        return pump(&reached.client, &options, &mut signals).await;
    };
    let (exit, stopped) = Box::pin(serve_here(daemon, options, &mut signals)).await;
    // Others may have turns in this process, which go on unless it is stopped.
    if !stopped {
        tokio::select! {
            () = daemon.until_quiet() => {}
            () = signals.next() => {}
        }
    }
    reached.stop().await;
    Ok(exit)
}

fn options(args: Acp) -> anyhow::Result<Options> {
    let cwd = args.cwd.as_deref().unwrap_or(Path::new("."));
    let cwd = cwd.canonicalize().with_context(|| format!("{} cannot be used", cwd.display()))?;
    anyhow::ensure!(cwd.is_dir(), "{} is not a directory", cwd.display());
    Ok(Options {
        cwd: cwd.to_string_lossy().into_owned(),
        model: args.model,
        system_prompt: args.system_prompt,
        ..Options::default()
    })
}

/// Runs the sessions in this process. Also returns whether a signal ended it.
async fn serve_here(daemon: &Daemon, options: Options, signals: &mut Signals) -> (Exit, bool) {
    let (door, stop): (AcpDoor, _) = (daemon.acp(), CancellationToken::new());
    let serving = door.serve(options, tokio::io::stdin(), tokio::io::stdout(), stop.clone());
    let mut serving = std::pin::pin!(serving);
    let ended = loop {
        tokio::select! {
            ended = &mut serving => break ended,
            () = signals.next(), if !stop.is_cancelled() => stop.cancel(),
        }
    };
    let exit = match ended {
        Ended::EndOfInput | Ended::Stopped => Exit::Success,
        Ended::ClientGone | Ended::NotAllowed => Exit::Failure,
    };
    (exit, stop.is_cancelled())
}

/// Passes bytes on to the daemon and back, until it is done.
async fn pump(client: &Client, options: &Options, signals: &mut Signals) -> anyhow::Result<Exit> {
    let (from, mut to) = tokio::io::split(client.upgrade("/acp", UPGRADE).await?);
    let mut first = serde_json::to_vec(options)?;
    first.push(b'\n');
    to.write_all(&first).await.context("the daemon did not take the options")?;
    let up = async {
        send(to, signals).await;
        // The daemon has the last word.
        std::future::pending().await
    };
    tokio::select! {
        exit = receive(from) => exit,
        never = up => never,
    }
}

/// Passes stdin on. Its end, or a signal, is the end of what is sent; the rest can still be read.
async fn send(mut to: WriteHalf<Upgraded>, signals: &mut Signals) {
    let (mut stdin, mut buffer) = (tokio::io::stdin(), vec![0; CHUNK]);
    loop {
        let count = tokio::select! {
            read = stdin.read(&mut buffer) => match read {
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            },
            () = signals.next() => break,
        };
        // That the daemon is gone shows where its answers are read.
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
    _ = to.shutdown().await;
}

/// Passes on what the daemon says, and tells from its end whether it came to one in order.
async fn receive(mut from: ReadHalf<Upgraded>) -> anyhow::Result<Exit> {
    let (mut stdout, mut buffer, mut whole) = (tokio::io::stdout(), vec![0; CHUNK], false);
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let mut bytes = &buffer[..count];
        if let [rest @ .., END_OF_LINES] = bytes {
            (bytes, whole) = (rest, true);
        }
        stdout.write_all(bytes).await?;
        stdout.flush().await?;
    }
    if whole {
        return Ok(Exit::Success);
    }
    eprintln!(
        "error: the daemon ended; what it had accepted is on disk: start `ostler acp` again, and load the session"
    );
    Ok(Exit::Unreachable)
}
