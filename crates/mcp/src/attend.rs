//! Keeps one server going: starts it, watches it, starts it again with growing pauses when it ends by
//! itself, and ends it when nobody needs it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use crate::config::Transport;
use crate::connect::{Connection, Happened, connect, with_last_words};
use crate::instance::{Instance, Live};
use crate::launch::SpawnFn;
use crate::listing::Listing;
use crate::pool::Pool;
use crate::servers::Limits;
use ostler_process::Prepared;

/// How often a list of tools is asked for again at most.
const REFRESH_PAUSE: Duration = Duration::from_secs(1);
/// How many times a server that ended by itself is started again.
const RESTARTS: u32 = 5;
/// How long a server must last for its past failures to be forgotten.
const STABLE: Duration = Duration::from_secs(60);
/// The longest pause before it is started again, in first pauses.
const LONGEST_PAUSE: u32 = 30;

/// What a server needs to be started.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) spawn: SpawnFn,
    pub(crate) limits: Limits,
    /// One for each process that may run.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) pool: Weak<Pool>,
}

/// How a life of a server ended.
enum End {
    /// Because nobody needs it.
    Wanted,
    /// By itself, for this reason. It was ready for that long, if it was at all.
    Failed { why: String, lasted: Option<Duration> },
}

/// Keeps the server going until it is stopped or does not work.
pub(crate) async fn attend(instance: Arc<Instance>, surroundings: Surroundings) {
    let mut failures: u32 = 0;
    // A server that did not get ready may have failed over the newest version, without saying it; then the
    // next start does without, and the one after that tries it again.
    let mut with_handshake = false;
    loop {
        match live(&instance, &surroundings, with_handshake).await {
            End::Wanted => return instance.set_stopped(),
            End::Failed { why, lasted } => {
                with_handshake = lasted.is_none() && !with_handshake;
                failures = if lasted >= Some(STABLE) { 1 } else { failures + 1 };
                tracing::warn!(server = instance.server.config.name, failures, "an MCP server failed");
                if failures > RESTARTS {
                    return instance.set_unavailable(&why);
                }
                instance.set_restarting(&why);
            }
        }
        let pause = surroundings.limits.first_pause * (1 << (failures - 1)).min(LONGEST_PAUSE);
        tokio::select! {
            () = instance.stop.cancelled() => return instance.set_stopped(),
            () = sleep(pause) => {}
        }
    }
}

/// One life of the server, from its start to its end.
async fn live(instance: &Instance, surroundings: &Surroundings, with_handshake: bool) -> End {
    let limits = &surroundings.limits;
    let opened = tokio::select! {
        biased;
        () = instance.stop.cancelled() => return End::Wanted,
        opened = timeout(limits.start, Box::pin(open(instance, surroundings, with_handshake))) => opened,
    };
    let failed = |why| End::Failed { why, lasted: None };
    let (mut connection, listing) = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(why)) => return failed(why),
        Err(_) => {
            let why = format!("it was not ready within {} s", limits.start.as_secs_f64());
            return failed(with_last_words(&why, &instance.stderr));
        }
    };
    let began = Instant::now();
    instance
        .set_ready(Live { peer: connection.peer.clone(), progress: connection.progress.clone() }, listing);
    let end = tokio::select! {
        biased;
        () = instance.stop.cancelled() => End::Wanted,
        () = unused(instance, limits.idle) => End::Wanted,
        why = watch(instance, &mut connection, limits.start) => {
            let why = with_last_words(&why, &instance.stderr);
            instance.set_restarting(&why);
            End::Failed { why, lasted: Some(began.elapsed()) }
        }
    };
    connection.stop().await;
    end
}

/// Opens a connection and asks for the tools.
async fn open(
    instance: &Instance,
    surroundings: &Surroundings,
    with_handshake: bool,
) -> Result<(Connection, Listing), String> {
    let place = match &instance.server.config.transport {
        Transport::Stdio { .. } => Some(Arc::new(place(instance, surroundings).await?)),
        Transport::Http { .. } => None,
    };
    let spawn: SpawnFn = {
        let spawn = Arc::clone(&surroundings.spawn);
        Arc::new(move |launch| {
            let Prepared { command, keep } = spawn(launch)?;
            // The place is free again when the process has been reaped, and not before.
            Ok(Prepared { command, keep: Box::new((keep, place.clone())) })
        })
    };
    let (server, workspace) = (&instance.server, &instance.workspace);
    let mut connection = connect(server, workspace, &spawn, &instance.stderr, with_handshake).await?;
    match connection.list(server).await {
        Ok(listing) => Ok((connection, listing)),
        Err(why) => {
            connection.stop().await;
            Err(with_last_words(&why, &instance.stderr))
        }
    }
}

/// A place for a process. Where there is none, whatever nobody has used for a while makes room.
async fn place(instance: &Instance, surroundings: &Surroundings) -> Result<OwnedSemaphorePermit, String> {
    let places = Arc::clone(&surroundings.places);
    if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
        return Ok(place);
    }
    let makes_room = surroundings.pool.upgrade().is_some_and(|pool| pool.make_room(instance));
    let full = || {
        let most = surroundings.limits.processes;
        format!(
            "{most} MCP servers run already, which is the limit; end sessions of other workspaces or raise it"
        )
    };
    if !makes_room {
        return Err(full());
    }
    places.acquire_owned().await.map_err(|_| full())
}

/// Waits until nobody has used the server for this long. Nobody can then.
async fn unused(instance: &Instance, idle: Duration) {
    while let Err(wait) = instance.close_if_unused_for(idle) {
        sleep(wait).await;
    }
}

/// Waits until the server ends by itself, and says why. Meanwhile its tools are kept up to date.
async fn watch(instance: &Instance, connection: &mut Connection, patience: Duration) -> String {
    // What has changed before the server agreed to tell is found out by asking once more.
    let mut is_stale = connection.subscribe().await;
    loop {
        if !is_stale {
            match connection.next().await {
                Happened::Over(why) => return why,
                Happened::ToolsChanged => {}
            }
        }
        is_stale = false;
        match timeout(patience, connection.list(&instance.server)).await {
            Ok(Ok(listing)) => instance.set_listing(listing),
            // It has other ways to show that it is broken; the tools known so far may well work.
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(server = instance.server.config.name, "tools were not listed again")
            }
        }
        // A server that changes its tools all the time is not asked all the time.
        if let Ok(Happened::Over(why)) = timeout(REFRESH_PAUSE, connection.over()).await {
            return why;
        }
    }
}
