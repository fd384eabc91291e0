//! The sessions that an agent under test starts. There is nobody in them: a test says how each ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostler_agent::{ChildRequest, NewChild, ReportError, WorktreeEnd};
use ostler_types::{
    ChildOutcome, ChildStatus, ChildUpdate, Clock, Command, Refusal, SessionId, TurnId, TurnReport, Usage,
};
use tokio::sync::oneshot;

use super::{TurnHost, report_error};

/// How a session ends as soon as it is started. `None` leaves it at work until the test ends it.
type ChildScript = Arc<dyn Fn(&NewChild) -> Option<ChildOutcome> + Send + Sync>;
type ChildWaiter = oneshot::Sender<Result<ChildOutcome, ReportError>>;

/// The sessions of one host.
#[derive(Default)]
pub(super) struct ScriptedChildren {
    script: Option<ChildScript>,
    started: Vec<(SessionId, NewChild)>,
    waiters: Vec<(SessionId, ChildWaiter)>,
    worktrees: Vec<(SessionId, WorktreeEnd)>,
    /// What they have spent, for the agent.
    pub(super) tokens: Arc<AtomicU64>,
}

/// The outcome of a session that answered this.
pub fn child_answered(text: &str) -> ChildOutcome {
    let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
    ChildOutcome {
        status: ChildStatus::Completed,
        text: text.to_owned(),
        error: None,
        usage,
        changed_files: None,
    }
}

/// The outcome of a session that failed for this reason.
pub fn child_failed(why: &str) -> ChildOutcome {
    let (status, error) = (ChildStatus::Failed, Some(why.to_owned()));
    ChildOutcome { status, error, ..child_answered("") }
}

impl TurnHost {
    /// Lets sessions end as this says when they are started. Without it they stay at work.
    #[must_use]
    pub fn with_children(
        self,
        script: impl Fn(&NewChild) -> Option<ChildOutcome> + Send + Sync + 'static,
    ) -> TurnHost {
        self.lock().children.script = Some(Arc::new(script));
        self
    }

    /// The sessions that were started, in order. One that was found again is in it once.
    pub fn children(&self) -> Vec<(SessionId, NewChild)> {
        self.lock().children.started.clone()
    }

    /// The worktrees that were merged or dropped.
    pub fn ended_worktrees(&self) -> Vec<(SessionId, WorktreeEnd)> {
        self.lock().children.worktrees.clone()
    }

    /// Waits until this many sessions have been started.
    pub async fn started_children(&self, count: usize) {
        self.until(|host| host.children().len() >= count).await;
    }

    /// Ends a session that is at work.
    pub fn end_child(&self, session_id: SessionId, outcome: ChildOutcome) {
        let news = ChildUpdate::Ended(outcome);
        self.command(Command::Child { session_id, news }).expect("news are never refused");
        let spent = self.state().children_usage.tokens();
        self.lock().children.tokens.store(spent, Ordering::Relaxed);
        let known = self.state().children.into_iter().find(|child| child.session_id == session_id);
        let Some(outcome) = known.and_then(|child| child.outcome) else { return };
        let waiters = std::mem::take(&mut self.lock().children.waiters);
        let (woken, others) = waiters.into_iter().partition(|(id, _)| *id == session_id);
        self.lock().children.waiters = others;
        let woken: Vec<(SessionId, ChildWaiter)> = woken;
        woken.into_iter().for_each(|(_, reply)| _ = reply.send(Ok(outcome.clone())));
    }

    pub(super) fn child_request(&self, turn_id: TurnId, request: ChildRequest) {
        match request {
            ChildRequest::Start { child, reply } => _ = reply.send(self.start_child(turn_id, *child)),
            ChildRequest::Wait { session_id, reply } => self.wait_for_child(session_id, reply),
            ChildRequest::Cancel { session_id, reply } => {
                self.end_child(
                    session_id,
                    ChildOutcome { status: ChildStatus::Canceled, ..child_answered("") },
                );
                _ = reply.send(Ok(()));
            }
            ChildRequest::PreviewMerge { reply, .. } => _ = reply.send(Ok("2 files".to_owned())),
            ChildRequest::EndWorktree { session_id, end, reply } => {
                self.lock().children.worktrees.push((session_id, end));
                _ = reply.send(Ok(format!("{end:?}: 2 files")));
            }
        }
    }

    fn start_child(&self, turn_id: TurnId, child: NewChild) -> Result<SessionId, ReportError> {
        let same = |known: &ostler_types::Child| {
            known.turn_id == turn_id
                && known.tool_call_id == child.tool_call_id
                && known.subtask == child.subtask
        };
        if let Some(known) = self.state().children.iter().find(|known| same(known)) {
            return Ok(known.session_id);
        }
        let session_id = SessionId::new(self.clock.uuid());
        let report = TurnReport::SubagentStarted {
            session_id,
            tool_call_id: child.tool_call_id.clone(),
            subtask: child.subtask.clone(),
            description: child.description.clone(),
            background: child.background,
        };
        self.command(Command::Report { turn_id, report }).map_err(report_error)?;
        let script = self.lock().children.script.clone();
        let outcome = script.and_then(|script| script(&child));
        self.lock().children.started.push((session_id, child));
        self.changed();
        if let Some(outcome) = outcome {
            self.end_child(session_id, outcome);
        }
        Ok(session_id)
    }

    fn wait_for_child(&self, session_id: SessionId, reply: ChildWaiter) {
        let known = self.state().children.into_iter().find(|child| child.session_id == session_id);
        match known.map(|child| child.outcome) {
            Some(Some(outcome)) => _ = reply.send(Ok(outcome)),
            Some(None) => self.lock().children.waiters.push((session_id, reply)),
            None => {
                let unknown = Refusal::not_found("child_not_found", format!("there is no task {session_id}"));
                _ = reply.send(Err(ReportError::Refused(unknown)));
            }
        }
    }
}
