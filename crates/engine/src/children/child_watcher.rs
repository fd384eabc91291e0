//! Looking after one child from its start to its end: what it asks, who answered, how it ended. The
//! attendant changes nothing by itself; it tells the parent, and stops the child when it is told to.

use std::sync::Arc;
use std::time::Duration;

use ostler_agent::NewChild;
use ostler_eventlog::{LogError, LogLine};
use ostler_types::{
    ApprovalEvent, CancelTurn, ChildOutcome, ChildStatus, ChildUpdate, Command, Event, EventName,
    PendingApproval, Scope, Session, SessionId, SessionView, ToolCallId, TurnId,
};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::parent_policy::ParentPolicy;
use super::{ChildReply, outcome, start, worktree};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::history;
use crate::subscriber_queue::SubscriptionItem;

/// How long to wait before something that the disk refused is tried again.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// Records of a child that are looked through for an answer that nobody was there to hear.
const MISSED_ANSWER_RECORDS: u64 = 512;

/// Looks after one child.
pub(super) struct ChildWatcher {
    pub(super) engine: Engine,
    parent: SessionId,
    pub(super) child: SessionId,
    /// What the parent knows of the child's questions.
    known_questions: Vec<ChildQuestion>,
    /// Answers that were recorded in the child's log, and not yet told.
    answers: Vec<(ChildQuestion, ChildAnswer)>,
    parent_policy: ParentPolicy,
    /// Fires when the child is to stop.
    pub(super) stop: CancellationToken,
    /// Fires when the parent's actor ends.
    pub(super) parent_ending: CancellationToken,
}

/// A question, by what makes it one of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChildQuestion {
    session_id: SessionId,
    turn_id: TurnId,
    tool_call_id: ToolCallId,
}

/// How a question was answered.
#[derive(Debug, Clone)]
struct ChildAnswer {
    granted: bool,
    by: String,
    scope: Scope,
    reason: Option<String>,
}

impl ChildWatcher {
    pub(super) fn new(
        engine: Engine,
        (parent, child): (SessionId, SessionId),
        heard: &[PendingApproval],
        (stop, leaving): (CancellationToken, CancellationToken),
    ) -> ChildWatcher {
        let heard = heard.iter().map(ChildQuestion::from_approval).collect();
        let (answers, rights) = (Vec::new(), ParentPolicy::default());
        ChildWatcher {
            engine,
            parent,
            child,
            known_questions: heard,
            answers,
            parent_policy: rights,
            stop,
            parent_ending: leaving,
        }
    }

    /// Is to be notified when the parent's policy has changed.
    pub(super) fn policy_changed(&self) -> Arc<Notify> {
        self.parent_policy.changed()
    }

    /// Starts the child, then watches it. The agent is answered when it is at work, or has failed to be.
    pub(super) async fn start(mut self, parent: Session, new: NewChild, reply: ChildReply<SessionId>) {
        self.parent_policy.remember(&parent);
        let started = start::start(&self, &parent, new).await;
        if self.parent_ending.is_cancelled() {
            return;
        }
        if let Err(outcome) = started {
            self.notify_parent(ChildUpdate::Ended(outcome)).await;
            _ = reply.send(Ok(self.child));
            return;
        }
        _ = reply.send(Ok(self.child));
        self.watch().await;
    }

    /// Watches a child that was started before. One that was announced and never made has failed.
    pub(super) async fn resume(mut self) {
        let known = tokio::select! {
            () = self.parent_ending.cancelled() => return,
            known = self.engine.view(self.child) => known,
        };
        if let Err(EngineError::NotFound) = known {
            worktree::discard(&self.engine, self.child).await;
            let why = "the daemon stopped before this session was started";
            self.notify_parent(ChildUpdate::Ended(outcome::failed(why.to_owned()))).await;
        } else {
            self.watch().await;
        }
    }

    /// Follows the child until it has ended or the parent's actor leaves.
    async fn watch(&mut self) {
        let leaving = self.parent_ending.clone();
        tokio::select! {
            biased;
            () = leaving.cancelled() => {}
            ended = self.follow() => self.notify_parent(ChildUpdate::Ended(ended)).await,
        }
    }

    /// Tells what the child asks, until it has ended. A child whose actor breaks down is followed again.
    async fn follow(&mut self) -> ChildOutcome {
        let mut orders = None;
        loop {
            let followed = self.follow_once(&mut orders).await;
            match followed {
                Ok(Some(outcome)) => return outcome,
                Ok(None) => {}
                Err(EngineError::NotFound) => {
                    return outcome::canceled("the session was removed".to_owned());
                }
                Err(EngineError::Log(error @ LogError::Damaged { .. })) => {
                    return outcome::failed(error.to_string());
                }
                Err(error) => {
                    tracing::warn!(child = %self.child, %error, "a child session cannot be followed");
                    tokio::time::sleep(RETRY_EVERY).await;
                }
            }
        }
    }

    /// Follows the child's records; `None` when they cease to come.
    async fn follow_once(
        &mut self,
        orders: &mut Option<PendingStopOrders>,
    ) -> Result<Option<ChildOutcome>, EngineError> {
        let view = self.engine.view(self.child).await?;
        let mut records = self.engine.subscribe_quietly(self.child, view.last_seq).await?;
        let orders = orders.get_or_insert_with(|| PendingStopOrders::new(&self.engine, &view.session));
        self.parent_policy.limit_child(&self.engine, self.parent, self.child).await?;
        self.find_missed_answers(&view).await?;
        if let Some(outcome) = self.report_changes(&view).await? {
            return Ok(Some(outcome));
        }
        loop {
            tokio::select! {
                order = orders.next(&self.stop) => orders.set_recorded(self.order_stop(&order).await),
                () = self.parent_policy.wait() => self.parent_policy.limit_child(&self.engine, self.parent, self.child).await?,
                item = records.next() => match item? {
                    Some(SubscriptionItem::Record(line)) if is_relevant(&line) => {
                        self.note_answer(&line);
                        let view = self.engine.view(self.child).await?;
                        if let Some(outcome) = self.report_changes(&view).await? {
                            return Ok(Some(outcome));
                        }
                    }
                    Some(SubscriptionItem::Record(_) | SubscriptionItem::Delta(_)) => {}
                    None => return Ok(None),
                },
            }
        }
    }

    /// Tells the child to stop. `false` when it could not be recorded yet.
    async fn order_stop(&self, StopOrder { by, reason }: &StopOrder) -> bool {
        let cancel = CancelTurn { turn_id: None, by: by.clone(), reason: Some(reason.clone()) };
        let given = self.engine.submit(self.child, Command::Cancel(cancel)).await;
        !matches!(given, Err(EngineError::Log(_)))
    }

    /// Tells the parent which questions are new and which are answered, and says whether the child has ended.
    async fn report_changes(&mut self, view: &SessionView) -> Result<Option<ChildOutcome>, EngineError> {
        let waiting: Vec<ChildQuestion> =
            view.pending_approvals.iter().map(ChildQuestion::from_approval).collect();
        let gone: Vec<ChildQuestion> =
            self.known_questions.iter().filter(|heard| !waiting.contains(heard)).cloned().collect();
        for question in gone {
            let known = self.answers.iter().position(|(answered, _)| *answered == question);
            let answer = known.map_or_else(ChildAnswer::turn_over, |index| self.answers.swap_remove(index).1);
            self.notify_parent(answer.into_update(question)).await;
        }
        for approval in &view.pending_approvals {
            if !self.known_questions.contains(&ChildQuestion::from_approval(approval)) {
                self.notify_parent(ChildUpdate::Asks(Box::new(approval.clone()))).await;
            }
        }
        self.known_questions = waiting;
        self.answers.clear();
        if !outcome::has_ended(view) {
            return Ok(None);
        }
        let outcome = outcome::read_outcome(&self.engine, view).await?;
        if outcome.status == ChildStatus::Canceled && outcome.changed_files == Some(0) {
            worktree::discard(&self.engine, self.child).await;
        }
        Ok(Some(outcome))
    }

    fn note_answer(&mut self, line: &LogLine) {
        if !matches!(line.name(), Some(EventName::ApprovalGranted | EventName::ApprovalDenied)) {
            return;
        }
        if let Ok(record) = line.record()
            && let Some(answered) = recorded_answer(self.child, record.turn_id, record.event)
        {
            self.answers.push(answered);
        }
    }

    /// Finds the answers to questions that were answered while nobody watched.
    async fn find_missed_answers(&mut self, view: &SessionView) -> Result<(), EngineError> {
        let waits = |heard: &ChildQuestion| {
            view.pending_approvals.iter().any(|a| ChildQuestion::from_approval(a) == *heard)
        };
        if self.known_questions.iter().all(waits) {
            return Ok(());
        }
        let log = self.engine.shared.log.clone();
        let from = view.last_seq.saturating_sub(MISSED_ANSWER_RECORDS).max(1);
        let mut lines = Vec::new();
        history::each_line(&*log, self.child, from..view.last_seq + 1, |line| {
            if matches!(line.name(), Some(EventName::ApprovalGranted | EventName::ApprovalDenied)) {
                lines.push(line.clone());
            }
            Ok(())
        })
        .await?;
        lines.iter().for_each(|line| self.note_answer(line));
        Ok(())
    }

    /// Tells the parent, however often the disk refuses it.
    pub(super) async fn notify_parent(&self, news: ChildUpdate) {
        let telling = async {
            loop {
                let command = Command::Child { session_id: self.child, news: news.clone() };
                match self.engine.submit(self.parent, command).await {
                    Err(EngineError::Log(error)) => {
                        tracing::warn!(parent = %self.parent, %error, "the news of a child could not be recorded yet");
                    }
                    Ok(_) | Err(_) => return,
                }
                tokio::time::sleep(RETRY_EVERY).await;
            }
        };
        // An actor that leaves waits for its attendants, and no longer hears them.
        tokio::select! {
            () = self.parent_ending.cancelled() => {}
            () = telling => {}
        }
    }
}

/// Why a child is told to stop.
#[derive(Debug, Clone)]
struct StopOrder {
    by: String,
    reason: String,
}

/// What a child is still to be told: that its parent has no use for it any more, that its time is over.
struct PendingStopOrders {
    deadline: Option<(Instant, u64)>,
    is_stopped: bool,
    /// An order that the disk refused, and when it is tried again.
    retry: Option<(Instant, StopOrder)>,
    last: Option<StopOrder>,
}

impl PendingStopOrders {
    /// The time that a child has is counted from when it was made, so that a restart gives it no more.
    fn new(engine: &Engine, session: &Session) -> PendingStopOrders {
        let seconds = session.budget.and_then(|budget| budget.max_seconds);
        let passed = engine.clock().now().duration_since(session.created_at);
        let passed = Duration::try_from(passed).unwrap_or_default();
        let deadline = seconds.and_then(|seconds| {
            let left = Duration::from_secs(seconds).saturating_sub(passed);
            Some((Instant::now().checked_add(left)?, seconds))
        });
        PendingStopOrders { deadline, is_stopped: false, retry: None, last: None }
    }

    /// The next order, when it is due.
    async fn next(&mut self, stop: &CancellationToken) -> StopOrder {
        let (deadline, again) = (self.deadline, self.retry.clone());
        let until = |at: Option<Instant>| async move {
            match at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let order = tokio::select! {
            () = stop.cancelled(), if !self.is_stopped => {
                self.is_stopped = true;
                let reason = "the session that started this one has no use for it any more".to_owned();
                StopOrder { by: "parent".to_owned(), reason }
            }
            () = until(deadline.map(|(at, _)| at)) => {
                self.deadline = None;
                let seconds = deadline.map_or(0, |(_, seconds)| seconds);
                StopOrder { by: "budget".to_owned(), reason: format!("its time of {seconds} s is over") }
            }
            () = until(again.as_ref().map(|(at, _)| *at)) => {
                self.retry = None;
                again.map_or_else(|| StopOrder { by: "parent".to_owned(), reason: String::new() }, |(_, order)| order)
            }
        };
        self.last = Some(order.clone());
        order
    }

    /// Remembers an order that could not be given.
    fn set_recorded(&mut self, was_recorded: bool) {
        if !was_recorded {
            self.retry = self.last.take().map(|order| (Instant::now() + RETRY_EVERY, order));
        }
    }
}

impl ChildQuestion {
    fn from_approval(approval: &PendingApproval) -> ChildQuestion {
        let PendingApproval { session_id, turn_id, tool_call_id, .. } = approval;
        ChildQuestion { session_id: *session_id, turn_id: *turn_id, tool_call_id: tool_call_id.clone() }
    }
}

impl ChildAnswer {
    /// The question is gone because its turn is over.
    fn turn_over() -> ChildAnswer {
        ChildAnswer { granted: false, by: "canceled".to_owned(), scope: Scope::Once, reason: None }
    }

    fn into_update(self, question: ChildQuestion) -> ChildUpdate {
        let ChildAnswer { granted, by, scope, reason } = self;
        let ChildQuestion { turn_id, tool_call_id, .. } = question;
        ChildUpdate::Answered { tool_call_id, turn_id, granted, by, scope, reason }
    }
}

/// Which question a record answers, and how.
fn recorded_answer(
    own: SessionId,
    own_turn: Option<TurnId>,
    event: Event,
) -> Option<(ChildQuestion, ChildAnswer)> {
    let granted = matches!(event, Event::Approval(ApprovalEvent::Granted { .. }));
    let (Event::Approval(ApprovalEvent::Granted { tool_call_id, by, scope, reason, child, .. })
    | Event::Approval(ApprovalEvent::Denied { tool_call_id, by, scope, reason, child, .. })) = event
    else {
        return None;
    };
    let (session_id, turn_id) = match child {
        Some(child) => (child.session_id, child.turn_id),
        None => (own, own_turn?),
    };
    Some((ChildQuestion { session_id, turn_id, tool_call_id }, ChildAnswer { granted, by, scope, reason }))
}

/// Whether a record can change what the parent is to know.
fn is_relevant(line: &LogLine) -> bool {
    matches!(
        line.name(),
        Some(
            EventName::ApprovalRequested
                | EventName::ApprovalGranted
                | EventName::ApprovalDenied
                | EventName::PatchReviewRequested
                | EventName::TurnCompleted
                | EventName::TurnFailed
                | EventName::TurnCanceled
                | EventName::SubagentCompleted
                | EventName::MessageWithdrawn
                | EventName::SessionCompleted
        )
    )
}
