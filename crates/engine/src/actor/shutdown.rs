//! How an actor ends: it goes to sleep when nothing is left to do, stops with the daemon, or goes with its session.

use std::ops::ControlFlow;

use ostler_types::{Command, DecisionFacts, SessionId};
use tokio::time::Instant;

use super::{Actor, ActorInput};
use crate::engine::EngineShared;
use crate::error::EngineError;
use crate::index_sync;

impl Actor {
    pub(super) fn is_idle(&self) -> bool {
        let state = &self.session.state;
        let quiet = state.turn.is_none() && state.queue.is_empty() && self.running.is_none();
        let alone = !self.session.hub.has_subscribers() && !self.has_open_children();
        quiet && self.unrecorded.is_none() && alone
    }

    /// Leaves memory: everything is in the log, and the views know it.
    /// What is asked meanwhile comes first: with many sessions, it takes a while until it is the turn of one.
    pub(super) async fn sleep(&mut self) -> ControlFlow<()> {
        let shared = self.session.shared.clone();
        if !self.session.is_settled {
            let views = async {
                (shared.settle_permits.acquire().await, settle_views(&shared, self.session.id).await)
            };
            let (permit, written) = tokio::select! {
                input = self.inputs.recv() => {
                    self.deferred_input = Some(input.unwrap_or(ActorInput::Stop));
                    return ControlFlow::Continue(());
                }
                done = views => done,
            };
            self.finish_settling(written).await;
            drop(permit);
        }
        self.session.release(false).await;
        if self.session.shared.unregister(self.session.id, || self.inputs.is_empty() && self.is_idle()) {
            self.inputs.close();
            // A client that came too late gets no answer, and asks again: that wakes the session.
            return ControlFlow::Break(());
        }
        self.idle_since = Instant::now();
        ControlFlow::Continue(())
    }

    /// Brings the views up to date, and tells the log that the session rests.
    async fn settle(&mut self) {
        if self.session.is_settled {
            return;
        }
        let shared = self.session.shared.clone();
        let _permit = shared.settle_permits.acquire().await;
        let written = settle_views(&shared, self.session.id).await;
        self.finish_settling(written).await;
    }

    /// Brings the rest up to date, once it is known whether the readable files are.
    async fn finish_settling(&mut self, written: bool) {
        if self.session.is_lost() {
            return;
        }
        self.session.snapshot().await;
        self.session.write_description().await;
        let state = &self.session.state;
        let rests = state.turn.is_none() && state.queue.is_empty() && !self.has_open_children();
        if rests && written && index_sync::is_caught_up(&self.session.shared, &self.session.state).await {
            self.session.release(true).await;
        }
    }

    /// The daemon stops: a turn that only waits is left to be picked up, another one is canceled.
    pub(super) async fn stop(&mut self) {
        self.save_drafts(1);
        if let Some((end, facts)) = self.unrecorded.take() {
            _ = self.decide_and_record(end, &facts).await;
        }
        let resumable = self.agent_resumes();
        let facts = DecisionFacts { partial: self.session.hub.pause_deltas(), ..DecisionFacts::default() };
        let suspend = Command::Suspend { resumable };
        if !self.session.shared.turns_disabled
            && let Err(error) = self.decide_and_record(suspend, &facts).await
        {
            tracing::error!(id = %self.session.id, %error, "the turn is left to be recovered at the next start");
        }
        // The agent of a session that is lost is dropped with the actor, without being given time.
        if self.session.is_lost() {
            return;
        }
        if let Some(running) = self.running.take() {
            running.end().await;
        }
        self.stop_child_watchers().await;
        self.settle().await;
        self.session.release(false).await;
        self.session.hub.close();
    }

    pub(super) async fn purge(&mut self) -> Result<(), EngineError> {
        let close = Command::Close { by: "purge".to_owned() };
        // Removing sessions is what one does about a full disk, so it must not need room.
        if let Err(error) = self.decide_and_record(close, &DecisionFacts::default()).await {
            tracing::warn!(id = %self.session.id, %error, "a session is removed without its last record");
            if self.session.is_lost() {
                return Err(error);
            }
        }
        if let Some(running) = self.running.take() {
            running.end().await;
        }
        self.stop_child_watchers().await;
        let epoch = self.session.ensure_owned().await?;
        let shared = &self.session.shared;
        shared.views.remove(&self.session.state.session).await;
        shared.log.remove(self.session.id, epoch).await?;
        if let Err(error) = shared.index.remove(self.session.id).await {
            tracing::warn!(id = %self.session.id, %error, "the index still lists a removed session");
        }
        shared.unregister(self.session.id, || true);
        self.session.hub.close();
        Ok(())
    }
}

/// Brings the readable files of a session that comes to rest up to date, and lets go of them. Returns whether they
/// are. Where many sessions are awake nobody waits until the files are synced, which takes several syncs for each:
/// sessions would fall asleep more slowly than others wake. Files that a power failure takes away are made again.
async fn settle_views(shared: &EngineShared, id: SessionId) -> bool {
    match shared.is_crowded() {
        true => shared.views.settle_without_sync(id).await,
        false => shared.views.settle(id).await,
    }
}
