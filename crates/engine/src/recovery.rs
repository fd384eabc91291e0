//! Starting actors: on first use, and at the daemon's start for sessions that were left in a hurry.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::{FutureExt, StreamExt, stream};
use ostler_eventlog::{Epoch, LogError};
use ostler_index::OpenedIndex;
use ostler_runner::WorktreeName;
use ostler_types::{Command, DecisionFacts, SessionId, State};
use tokio::sync::{mpsc, oneshot};

use crate::actor::{Actor, ActorEnd, ActorInput};
use crate::engine::{ActorHandle, EngineShared};
use crate::error::EngineError;
use crate::hub::Hub;
use crate::index_sync;
use crate::loaded_session::LoadedSession;
use crate::lost_session::{self, OwnershipLoss};
use crate::wake::{self, WokenState};

/// Sessions that are recovered at the same time.
const RECOVERY_CONCURRENCY: usize = 8;

/// Looks after the sessions that were not settled, and makes the index again if it was lost.
pub(crate) async fn recover(shared: Arc<EngineShared>, index: OpenedIndex) {
    prune_worktrees(&shared).await;
    match shared.log.unsettled().await {
        Ok(ids) => {
            stream::iter(ids)
                .for_each_concurrent(RECOVERY_CONCURRENCY, |id| recover_session(&shared, id))
                .await
        }
        Err(error) => tracing::error!(%error, "the sessions that were left open cannot be found"),
    }
    shared.open_sessions_recovered.send_replace(true);
    if index == OpenedIndex::Empty
        && let Err(error) = index_sync::rebuild(&shared).await
    {
        tracing::error!(%error, "the index is not complete; run `ostler doctor --rebuild`");
    }
    shared.index_recovered.send_replace(true);
}

/// Removes worktrees that were never finished, and those whose sessions are gone.
async fn prune_worktrees(shared: &Arc<EngineShared>) {
    let Some(worktrees) = shared.runner.worktrees().filter(|_| !shared.turns_disabled) else { return };
    let listed = match worktrees.list().await {
        Ok(listed) => listed,
        Err(error) => return tracing::warn!(%error, "worktrees that were left behind cannot be found"),
    };
    for WorktreeName { name, is_made } in listed {
        let Ok(id) = name.parse::<SessionId>() else { continue };
        // A log that cannot be read is a session all the same.
        let is_wanted = is_made && !matches!(shared.log.last_seq(id).await, Ok(0));
        if !is_wanted && let Err(error) = worktrees.remove(name.clone()).await {
            tracing::warn!(name, %error, "a worktree that was left behind cannot be removed");
        }
    }
}

/// Wakes a session, which sets right whatever was left open in it.
async fn recover_session(shared: &Arc<EngineShared>, id: SessionId) {
    let handle = spawn(shared, id, ActorOrigin::LeftOpen);
    let (reply, answer) = oneshot::channel();
    _ = handle.inputs.send(ActorInput::View { reply }).await;
    _ = answer.await;
}

/// Where an actor starts from.
pub(crate) enum ActorOrigin {
    /// The session was just made; this is its state.
    New(Box<State>, Epoch),
    /// It slept.
    Asleep,
    /// The daemon died, or stopped, before it could go to sleep.
    LeftOpen,
}

/// Starts the actor of a session, unless it has one.
pub(crate) fn spawn(shared: &Arc<EngineShared>, id: SessionId, origin: ActorOrigin) -> ActorHandle {
    let (handle, inputs) = match shared.register(id) {
        Ok(registered) => registered,
        Err(handle) => return handle,
    };
    let (shared, hub, has_panicked) = (Arc::clone(shared), handle.hub.clone(), Arc::clone(&handle.panicked));
    let again = !matches!(origin, ActorOrigin::LeftOpen);
    tokio::spawn(async move {
        // What only the beginning needs is boxed, so that an actor at rest stays small.
        let life = async {
            let started = Box::pin(start(Arc::clone(&shared), id, Arc::clone(&hub), inputs, origin)).await;
            match started {
                Ok(actor) => actor.run().await,
                Err(LogError::NotFound) => ActorEnd::Over,
                // Subscribers of the previous actor wait for the next one.
                Err(error) if hub.has_subscribers() => ActorEnd::Lost(OwnershipLoss::from_wake_error(&error)),
                Err(_) => ActorEnd::Over,
            }
        };
        let ended = AssertUnwindSafe(life).catch_unwind().await;
        let panicked = ended.is_err();
        has_panicked.store(panicked, Ordering::Relaxed);
        let loss = if let Ok(ActorEnd::Lost(loss)) = ended { Some(loss) } else { None };
        if loss.is_some() {
            // Subscribers stay and see what the next actor publishes. The hub must be kept before the actor is
            // unregistered, or a concurrent successor would create a hub of its own.
            shared.keep_hub(id, &hub);
        }
        // An actor that slept has taken itself off the list already, and may have a successor.
        shared.unregister_hub(id, &hub);
        match loss {
            Some(loss) if lost_session::follow_lost_session(&shared, id, &hub, loss).await => {
                spawn(&shared, id, ActorOrigin::LeftOpen);
            }
            Some(_) => {}
            None => hub.close(),
        }
        if panicked {
            tracing::error!(%id, "the session's actor panicked; it is recovered from its log");
            if again {
                spawn(&shared, id, ActorOrigin::LeftOpen);
            }
        }
    });
    handle
}

/// Reads a session's state and sets it right.
async fn start(
    shared: Arc<EngineShared>,
    id: SessionId,
    hub: Arc<Hub>,
    inputs: mpsc::Receiver<ActorInput>,
    origin: ActorOrigin,
) -> Result<Actor, LogError> {
    let (left_open, is_new) =
        (matches!(origin, ActorOrigin::LeftOpen), matches!(origin, ActorOrigin::New(..)));
    let loaded = match origin {
        ActorOrigin::New(state, epoch) => {
            Ok((WokenState { state: *state, snapshot_seq: 0, chain: None }, epoch))
        }
        ActorOrigin::Asleep | ActorOrigin::LeftOpen => load(&shared, id).await,
    };
    let (woken, epoch) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            // The clients that wait get no answer and look for the reason themselves.
            tracing::debug!(%id, %error, "a session cannot be woken");
            return Err(error);
        }
    };
    hub.start_from(woken.state.last_seq, woken.state.own_approvals().cloned().collect());
    let session = LoadedSession::new(woken, epoch, hub, Arc::clone(&shared), left_open);
    let mut actor = Actor::new(session, inputs);
    // The turn that a new session may have is not one that was left.
    if !is_new {
        recover_turn(&mut actor).await;
    }
    if left_open {
        actor.session.write_description().await;
    }
    Ok(actor)
}

async fn load(shared: &Arc<EngineShared>, id: SessionId) -> Result<(WokenState, Epoch), LogError> {
    // Claimed before anything is read: nobody can append between the two.
    let epoch = shared.log.claim(id).await?.epoch;
    let read = async {
        let woken = wake::read_state(shared, id).await?;
        index_sync::catch_up(shared, &woken.state).await?;
        Ok((woken, epoch))
    };
    let loaded = read.await;
    if loaded.is_err() {
        // Nobody uses the claim, and other nodes would wait for this one.
        _ = shared.log.release(id, epoch, false).await;
    }
    loaded
}

/// Ends a turn that nobody runs, unless it only waits; starts what is queued.
async fn recover_turn(actor: &mut Actor) {
    if actor.session.shared.turns_disabled {
        return;
    }
    let partial = match &actor.session.state.turn {
        Some(turn) => wake::read_partial(&actor.session.shared, actor.session.id, turn).await,
        None => None,
    };
    let command = Command::Recover { resumable: actor.agent_resumes() };
    actor.record_or_keep(command, DecisionFacts { partial, ..DecisionFacts::default() }).await;
}

/// Says why an actor did not answer: `Err` when the session cannot be woken, `Ok` to try again.
pub(crate) async fn check_can_wake(shared: &Arc<EngineShared>, id: SessionId) -> Result<(), EngineError> {
    match wake::read_state(shared, id).await {
        Ok(_) => Ok(()),
        Err(LogError::NotFound) => {
            // A session that was removed in a hurry may still be listed.
            if shared.index.position(id).await.is_ok_and(|position| position > 0) {
                shared.index.remove(id).await?;
            }
            Err(EngineError::NotFound)
        }
        Err(error) => Err(error.into()),
    }
}
