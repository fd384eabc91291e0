//! Sessions that a session starts: made, watched and ended for it. Each open one has an attendant, a task
//! that the parent's actor owns; what there is to know of it comes back to the actor as a command, so that
//! the rules decide and the log remembers. The actor itself never waits for a child.

mod child_watcher;
mod outcome;
mod parent_policy;
mod start;
pub(crate) mod worktree;

use std::collections::HashMap;
use std::sync::Arc;

use ostler_agent::{ChildRequest, NewChild, ReportError};
use ostler_types::{
    Child, ChildOutcome, Command, DecisionFacts, Refusal, SessionId, SessionStatus, State, TurnId,
    TurnReport, TurnStatus,
};
use tokio::sync::{Notify, oneshot};
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::actor::{Actor, report_error};
use crate::engine::Engine;

use child_watcher::ChildWatcher;

/// What an actor keeps of the sessions that its own has started. Dropping it ends the attendants, not the
/// sessions; those are looked after again when the actor is back.
#[derive(Default)]
pub(crate) struct ChildWatchers {
    /// The attendants, and how each is told that its child is to stop.
    watched: HashMap<SessionId, WatchedChild>,
    /// Attendants, and what else is done for children.
    tasks: JoinSet<()>,
    /// Fires when the actor ends.
    actor_ending: CancellationToken,
    /// Agents that wait for a child's end.
    waiters: Vec<(SessionId, ChildReply<ChildOutcome>)>,
}

/// An attendant at work.
struct WatchedChild {
    stop: CancellationToken,
    /// Wakes it when the parent's policy has changed.
    policy_changed: Arc<Notify>,
    task: task::Id,
}

type ChildReply<T> = oneshot::Sender<Result<T, ReportError>>;

impl Actor {
    /// What the agent asks about the sessions that it starts.
    pub(crate) async fn child_request(&mut self, turn_id: TurnId, request: ChildRequest) {
        match request {
            ChildRequest::Start { child, reply } => self.start_child(turn_id, *child, reply).await,
            ChildRequest::Wait { session_id, reply } => match find(&self.session.state, session_id) {
                Some(_) => {
                    self.children.waiters.push((session_id, reply));
                    self.reconcile_children();
                }
                None => _ = reply.send(Err(unknown(session_id))),
            },
            ChildRequest::Cancel { session_id, reply } => {
                let known = find(&self.session.state, session_id).is_some();
                self.stop_child(session_id);
                _ = reply.send(if known { Ok(()) } else { Err(unknown(session_id)) });
            }
            ChildRequest::PreviewMerge { session_id, reply } => {
                let (engine, parent) = (self.engine(), self.session.id);
                self.children.tasks.spawn(async move {
                    _ = reply.send(worktree::preview_merge(&engine, parent, session_id).await);
                });
            }
            ChildRequest::EndWorktree { session_id, end, reply } => {
                let (engine, parent) = (self.engine(), self.session.id);
                // A merge is not left in the middle: whoever ends the actor waits for it.
                self.children.tasks.spawn(async move {
                    _ = reply.send(worktree::end_worktree(&engine, parent, session_id, end).await);
                });
            }
        }
    }

    /// Records that a session is about to be started, then has an attendant start it. One that the same call
    /// or subtask has started before is found again.
    async fn start_child(&mut self, turn_id: TurnId, child: NewChild, reply: ChildReply<SessionId>) {
        if let Some(known) = already_started(&self.session.state, turn_id, &child) {
            _ = reply.send(Ok(known));
            return;
        }
        let session_id = SessionId::new(self.session.shared.clock.uuid());
        let report = TurnReport::SubagentStarted {
            session_id,
            tool_call_id: child.tool_call_id.clone(),
            subtask: child.subtask.clone(),
            description: child.description.clone(),
            background: child.background,
        };
        match self.decide_and_record(Command::Report { turn_id, report }, &DecisionFacts::default()).await {
            Ok(_) => {
                let parent = self.session.state.session.clone();
                self.watch_child(session_id, |attendant| attendant.start(parent, child, reply));
            }
            Err(error) => _ = reply.send(Err(report_error(error))),
        }
    }

    /// Keeps children as the session wants them: each open one is watched, those that nobody wants any more
    /// are stopped, and whoever waits for one that has ended is told.
    pub(crate) fn reconcile_children(&mut self) {
        if self.session.shared.turns_disabled {
            return;
        }
        self.remove_ended_tasks();
        let state = &self.session.state;
        let open = state.children.iter().filter(|child| child.outcome.is_none());
        let open: Vec<(SessionId, bool)> =
            open.map(|child| (child.session_id, should_continue(state, child))).collect();
        for (session_id, is_wanted) in open {
            if !self.children.watched.contains_key(&session_id) {
                self.watch_child(session_id, ChildWatcher::resume);
            }
            if !is_wanted {
                self.stop_child(session_id);
            }
        }
        if self.session.state.turn.is_none() {
            self.children.waiters.clear();
        }
        self.answer_waiters();
    }

    /// Stops all that are still at work, whoever waits for them.
    pub(crate) fn cancel_children(&self) {
        self.children.watched.values().for_each(|attended| attended.stop.cancel());
    }

    /// Has those who look after children see to it that none may do more than this session may by now.
    pub(crate) fn notify_policy_changed(&self) {
        self.children.watched.values().for_each(|attended| attended.policy_changed.notify_one());
    }

    /// Whether one has not ended yet. Then the session is not at rest.
    pub(crate) fn has_open_children(&self) -> bool {
        self.session.state.children.iter().any(|child| child.outcome.is_none())
    }

    /// Ends the attendants, and waits until each has put away what it was making.
    pub(crate) async fn stop_child_watchers(&mut self) {
        self.children.actor_ending.cancel();
        self.children.waiters.clear();
        while self.children.tasks.join_next().await.is_some() {}
        self.children.watched.clear();
    }

    /// Has somebody look after a child from now on.
    fn watch_child<F>(&mut self, session_id: SessionId, work: impl FnOnce(ChildWatcher) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, leaving) = (self.children.actor_ending.child_token(), self.children.actor_ending.clone());
        let child = find(&self.session.state, session_id);
        let heard = child.map(|child| child.approvals.as_slice()).unwrap_or_default();
        let ids = (self.session.id, session_id);
        let attendant = ChildWatcher::new(self.engine(), ids, heard, (stop.clone(), leaving));
        let policy_changed = attendant.policy_changed();
        let task = self.children.tasks.spawn(work(attendant)).id();
        self.children.watched.insert(session_id, WatchedChild { stop, policy_changed, task });
    }

    fn stop_child(&self, session_id: SessionId) {
        if let Some(attended) = self.children.watched.get(&session_id) {
            attended.stop.cancel();
        }
    }

    fn engine(&self) -> Engine {
        Engine { shared: self.session.shared.clone() }
    }

    /// Forgets the tasks that have ended. An attendant that panicked gets a successor.
    fn remove_ended_tasks(&mut self) {
        while let Some(ended) = self.children.tasks.try_join_next() {
            if let Err(error) = ended {
                tracing::error!(id = %self.session.id, %error, "the attendant of a child session panicked");
                self.children.watched.retain(|_, attended| attended.task != error.id());
            }
        }
        let state = &self.session.state;
        self.children.watched.retain(|id, _| find(state, *id).is_some_and(|child| child.outcome.is_none()));
    }

    fn answer_waiters(&mut self) {
        for (session_id, reply) in std::mem::take(&mut self.children.waiters) {
            match find(&self.session.state, session_id) {
                Some(Child { outcome: Some(outcome), .. }) => _ = reply.send(Ok(outcome.clone())),
                Some(Child { outcome: None, .. }) if !reply.is_closed() => {
                    self.children.waiters.push((session_id, reply));
                }
                Some(_) | None => {}
            }
        }
    }
}

fn find(state: &State, id: SessionId) -> Option<&Child> {
    state.children.iter().find(|child| child.session_id == id)
}

/// The session that the same call or subtask of this turn has started before.
fn already_started(state: &State, turn_id: TurnId, new: &NewChild) -> Option<SessionId> {
    let same = |child: &&Child| {
        let call = new.tool_call_id.is_some() && child.tool_call_id == new.tool_call_id;
        let subtask = new.subtask.is_some() && child.subtask == new.subtask;
        child.turn_id == turn_id && (call || subtask)
    };
    state.children.iter().find(same).map(|child| child.session_id)
}

/// Whether a child is to go on. A turn that ended as it should leaves those in the background at work; any
/// other end stops them all.
fn should_continue(state: &State, child: &Child) -> bool {
    let is_open = state.turn.as_ref().is_some_and(|turn| turn.id == child.turn_id);
    let turn = state.turns.iter().find(|turn| turn.id == child.turn_id);
    let completed = turn.is_none_or(|turn| turn.status == TurnStatus::Completed);
    state.session.status != SessionStatus::Completed && (is_open || (child.background && completed))
}

fn unknown(session_id: SessionId) -> ReportError {
    let message = format!("this turn has not started a session {session_id}");
    ReportError::Refused(Refusal::not_found("child_not_found", message))
}
