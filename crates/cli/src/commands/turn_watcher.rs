//! Watching one turn to its end: what happens is shown, what is asked is answered, and a signal, the time or the cost
//! stops it.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::Context;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use ostler_api_types::ApprovalAnswerBody;
use ostler_client::{Client, ClientError, EventLine, EventStream, actor_name};
use ostler_line_framing::{FramedLine, LineReader};
use ostler_types::{
    ApprovalEvent, ChildEvent, Cost, Event, Failure, MessageEvent, MessageId, Record, SessionId, StepEvent,
    ToolCallId, TurnEvent, TurnId, Usage, Verdict, WorkspaceEvent,
};
use serde_json::Value;
use tokio::io::Stdin;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use super::approval_prompt::{ApprovalPrompt, MAX_ANSWER_BYTES, PendingQuestion, TypedAnswer};
use super::event_output::EventOutput;
use crate::args::ApproveWhen;
use crate::exit::CliExit;
use crate::render::{counted, money};

/// How long a turn may take to stop that has run out of time.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// What a turn may take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunLimits {
    /// Until when.
    pub(super) deadline: Option<Instant>,
    /// How much it may cost.
    pub(super) max_cost: Option<Cost>,
}

/// A turn that is being watched.
pub(super) struct TurnWatcher<'a> {
    client: &'a Client,
    id: SessionId,
    turn_id: TurnId,
    /// The message that it answers, if it answers one.
    message_id: Option<MessageId>,
    approve_when: ApproveWhen,
    pub(super) output: EventOutput,
    limits: RunLimits,
    signals: TurnSignals,
    /// What the person at the terminal types.
    answers: LineReader<Stdin>,
    /// The calls that they are asked about, one after the other: those of several sessions may wait at once.
    questions: VecDeque<PendingQuestion>,
    prompt: ApprovalPrompt,
    /// Whether the turn has begun; until then its message waits behind others.
    started: bool,
    /// The call that was refused first.
    refused: Option<String>,
    /// Why it was asked to stop.
    stopped: Option<CliExit>,
    /// The request to stop, while it is under way.
    stopping: Option<BoxFuture<'static, anyhow::Result<()>>>,
    /// What has been spent, over all turns that were watched.
    spent: Cost,
    /// Whether a model was used whose price is not known.
    unpriced: bool,
    /// What the model said last.
    pub(super) answer: String,
    /// What went wrong, for people who have not seen it.
    pub(super) problem: Option<String>,
    /// Whether the turn was left before it ended.
    pub(super) was_left: bool,
}

impl<'a> TurnWatcher<'a> {
    /// Watches a turn of a session. The message is the one that it answers, which can be taken back until it begins.
    pub(super) fn new(
        client: &'a Client,
        (id, turn_id): (SessionId, TurnId),
        message_id: Option<MessageId>,
        when: ApproveWhen,
        screen: EventOutput,
        prompt: ApprovalPrompt,
    ) -> std::io::Result<TurnWatcher<'a>> {
        Ok(TurnWatcher {
            client,
            id,
            turn_id,
            message_id,
            approve_when: when,
            output: screen,
            limits: RunLimits::default(),
            signals: TurnSignals::new()?,
            answers: LineReader::new(tokio::io::stdin(), MAX_ANSWER_BYTES),
            questions: VecDeque::new(),
            prompt,
            started: message_id.is_none(),
            refused: None,
            stopped: None,
            stopping: None,
            spent: Cost::default(),
            unpriced: false,
            answer: String::new(),
            problem: None,
            was_left: false,
        })
    }

    /// Stops it when it takes more than this.
    pub(super) fn with_limits(mut self, limits: RunLimits) -> TurnWatcher<'a> {
        self.limits = limits;
        self
    }

    /// Goes on to the next turn of the same session.
    pub(super) fn watch_next(&mut self, turn_id: TurnId, message_id: MessageId) {
        (self.turn_id, self.message_id, self.started) = (turn_id, Some(message_id), false);
        self.answer.clear();
    }

    /// Shows what happens, answers what is asked, and tells how the turn ended.
    pub(super) async fn follow(&mut self, events: &mut EventStream) -> anyhow::Result<CliExit> {
        loop {
            tokio::select! {
                line = events.next() => {
                    let line = line.context("the daemon ended the stream before the turn was over")??;
                    if let Err(error) = self.output.show(&line) {
                        // Nobody reads what it does, so it is not to go on doing it.
                        _ = tokio::time::timeout(STOP_GRACE, stop(self.client.clone(), self.turn_to_stop())).await;
                        return Err(error.into());
                    }
                    if let Some(exit) = self.take(&line).await? {
                        self.output.finish()?;
                        return Ok(exit);
                    }
                }
                typed = self.answers.next_line(), if !self.questions.is_empty() => self.take_typed_answer(typed?).await?,
                exit = self.signals.next() => {
                    if self.stopped.replace(exit).is_some() {
                        return Ok(self.leave(exit));
                    }
                    self.stop_turn();
                }
                stopped = wait_for_stop(&mut self.stopping) => {
                    self.stopping = None;
                    stopped?;
                }
                () = sleep_until(self.limits.deadline), if self.limits.deadline.is_some() => {
                    if self.stopped == Some(CliExit::TimedOut) {
                        return Ok(self.leave(CliExit::TimedOut));
                    }
                    self.stopped.get_or_insert(CliExit::TimedOut);
                    self.limits.deadline = Some(Instant::now() + STOP_GRACE);
                    self.problem = Some("stopped: it took longer than --timeout".to_owned());
                    self.stop_turn();
                }
            }
        }
    }

    /// Goes away without waiting for the end.
    fn leave(&mut self, exit: CliExit) -> CliExit {
        self.was_left = true;
        exit
    }

    /// Begins to stop it. A daemon that hangs must not keep a person from leaving, so nobody waits for that here.
    fn stop_turn(&mut self) {
        self.stopping = Some(stop(self.client.clone(), self.turn_to_stop()).boxed());
    }

    /// Which turn it is, and which message of those that wait.
    fn turn_to_stop(&self) -> (SessionId, TurnId, Option<MessageId>) {
        (self.id, self.turn_id, self.message_id.filter(|_| !self.started))
    }

    /// Answers approvals, keeps count, and recognises the end.
    async fn take(&mut self, line: &EventLine) -> anyhow::Result<Option<CliExit>> {
        if line.seq.is_none() {
            return Ok(None);
        }
        let record: Record =
            serde_json::from_str(&line.raw).context("the daemon sent an event of an unknown kind")?;
        if record.turn_id != Some(self.turn_id) {
            return Ok(None);
        }
        match record.event {
            Event::Turn(TurnEvent::Started { .. }) => self.started = true,
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                let text = message.text();
                if !text.trim().is_empty() {
                    self.answer = text;
                }
            }
            Event::Step(StepEvent::UsageRecorded { usage, .. }) => self.count_spending(usage),
            Event::Child(ChildEvent::Completed { outcome, .. }) => self.count_spending(outcome.usage),
            Event::Approval(ApprovalEvent::Requested { tool_call, summary, rule, child, .. }) => {
                let (session_id, turn_id) =
                    child.map_or((self.id, self.turn_id), |child| (child.session_id, child.turn_id));
                self.asked(PendingQuestion {
                    session_id,
                    turn_id,
                    tool_call_id: tool_call.id,
                    summary,
                    input: tool_call.input,
                    rule: Some(rule.to_string()),
                    files: None,
                })
                .await?;
            }
            Event::Workspace(WorkspaceEvent::PatchReviewRequested {
                tool_call_id,
                files,
                waits: true,
                more,
                ..
            }) => {
                let summary = format!("keep the changes to {}", counted(files.len() as u64 + more, "file"));
                self.asked(PendingQuestion {
                    session_id: self.id,
                    turn_id: self.turn_id,
                    tool_call_id,
                    summary,
                    input: Value::Null,
                    rule: None,
                    files: Some(files),
                })
                .await?;
            }
            Event::Approval(ApprovalEvent::Granted { tool_call_id, child, .. })
            | Event::Approval(ApprovalEvent::Denied { tool_call_id, child, .. }) => {
                // Somebody answered, here or elsewhere.
                let turn_id = child.map_or(self.turn_id, |child| child.turn_id);
                self.drop_question(turn_id, &tool_call_id).await;
            }
            Event::Message(MessageEvent::Withdrawn { by, .. })
            | Event::Turn(TurnEvent::Canceled { by, .. }) => {
                return Ok(Some(self.canceled(&by)));
            }
            Event::Turn(TurnEvent::Completed { .. }) => return Ok(Some(self.completed())),
            Event::Turn(TurnEvent::Failed { error, .. }) => return Ok(Some(self.failed(&error))),
            _ => {}
        }
        Ok(None)
    }

    /// Counts what was spent, and stops the turn when that is too much.
    fn count_spending(&mut self, usage: Usage) {
        self.unpriced |= usage.cost_usd.is_none() && usage.tokens() > 0;
        self.spent = self.spent.plus(usage.cost_usd.unwrap_or_default());
        let Some(most) = self.limits.max_cost.filter(|most| self.spent > *most) else { return };
        if self.stopped.is_none() {
            self.stopped = Some(CliExit::OverBudget);
            let spent = money(self.spent);
            self.problem = Some(format!("stopped: it cost {spent}, more than --max-cost ({})", money(most)));
            self.stop_turn();
        }
    }

    /// Whether the limit on cost may have been passed without anybody knowing.
    pub(super) fn cost_is_unknown(&self) -> bool {
        self.limits.max_cost.is_some() && self.unpriced
    }

    fn canceled(&mut self, by: &str) -> CliExit {
        self.stopped.unwrap_or_else(|| {
            self.problem = Some(format!("the turn was canceled by {}", actor_name(by)));
            CliExit::Canceled
        })
    }

    /// A turn may come to its end before it can be stopped. That it was in time counts then, and that it was too dear
    /// does, too.
    fn completed(&mut self) -> CliExit {
        match self.stopped {
            None | Some(CliExit::TimedOut) => {
                self.problem = self.refused.as_ref().map(|summary| {
                    format!(
                        "`{}` needed an approval and was denied; `--approve always` approves every call",
                        summary.escape_debug()
                    )
                });
                if self.refused.is_some() { CliExit::NotApproved } else { CliExit::Success }
            }
            Some(exit) => exit,
        }
    }

    fn failed(&mut self, error: &Failure) -> CliExit {
        self.stopped.unwrap_or_else(|| {
            let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            self.problem = Some(format!("the turn failed: {}{hint}", error.message));
            CliExit::Failure
        })
    }

    async fn asked(&mut self, question: PendingQuestion) -> anyhow::Result<()> {
        match self.approve_when {
            ApproveWhen::Always => self.reply(&question, TypedAnswer::once(Verdict::Approve, None)).await,
            ApproveWhen::Never => {
                let why = "no one is available to approve it (non-interactive run)".to_owned();
                self.reply(&question, TypedAnswer::once(Verdict::Deny, Some(why))).await
            }
            ApproveWhen::Ask => {
                self.questions.push_back(question);
                if self.questions.len() == 1 {
                    self.ask().await;
                }
                Ok(())
            }
        }
    }

    /// Asks the question that is next.
    async fn ask(&mut self) {
        if let Some(question) = self.questions.front_mut() {
            self.prompt.ask(self.client, question).await;
        }
    }

    /// Drops a question that has been answered.
    async fn drop_question(&mut self, turn_id: TurnId, tool_call_id: &ToolCallId) {
        let was_next =
            self.questions.front().is_some_and(|question| question.is_about(turn_id, tool_call_id));
        self.questions.retain(|question| !question.is_about(turn_id, tool_call_id));
        if was_next {
            self.ask().await;
        }
    }

    /// Takes a typed line, which may be an answer.
    async fn take_typed_answer(&mut self, line: Option<FramedLine>) -> anyhow::Result<()> {
        let Some(question) = self.questions.front() else { return Ok(()) };
        let Some(answer) = self.prompt.take_line(question, line) else { return Ok(()) };
        let Some(question) = self.questions.pop_front() else { return Ok(()) };
        self.reply(&question, answer).await?;
        self.ask().await;
        Ok(())
    }

    async fn reply(&mut self, question: &PendingQuestion, given: TypedAnswer) -> anyhow::Result<()> {
        if given.verdict == Verdict::Deny {
            self.refused.get_or_insert_with(|| question.summary.clone());
        }
        let answer = ApprovalAnswerBody {
            turn_id: Some(question.turn_id),
            tool_call_id: question.tool_call_id.clone(),
            action: given.verdict,
            scope: Some(given.scope),
            reason: given.reason,
            review: None,
            option: None,
        };
        match self.client.approve(self.id, &answer).await {
            // Somebody else was quicker; the events tell what they said.
            Err(ClientError::Refused { status: 409, .. }) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// Takes a message back that still waits, and otherwise stops the turn that answers it.
async fn stop(
    client: Client,
    (id, turn_id, waiting): (SessionId, TurnId, Option<MessageId>),
) -> anyhow::Result<()> {
    if let Some(message_id) = waiting {
        match client.withdraw(id, message_id).await {
            Err(ClientError::Refused { status: 404, .. }) => {}
            other => return Ok(other?),
        }
    }
    client.cancel_turn(id, turn_id).await?;
    Ok(())
}

/// Waits until it has been asked to stop; for ever where nobody asks.
async fn wait_for_stop(stopping: &mut Option<BoxFuture<'static, anyhow::Result<()>>>) -> anyhow::Result<()> {
    match stopping {
        Some(stopping) => stopping.await,
        None => std::future::pending().await,
    }
}

/// Waits for a time; for ever where there is none.
async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The signals that stop a turn. A closed terminal is none of them: what a daemon has begun goes on.
struct TurnSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl TurnSignals {
    fn new() -> std::io::Result<TurnSignals> {
        Ok(TurnSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one, and says how the command ends then.
    async fn next(&mut self) -> CliExit {
        tokio::select! {
            _ = self.interrupt.recv() => CliExit::Interrupted,
            _ = self.terminate.recv() => CliExit::Terminated,
        }
    }
}
