//! Watching one turn to its end: what happens is shown, what is asked is answered, and Ctrl-C stops it.

use std::collections::VecDeque;

use anyhow::Context;
use futures_util::StreamExt;
use ostler_client::{Approve, Client, ClientError, EventLine, EventStream};
use ostler_types::{Event, MessageId, Record, SessionId, ToolCallId, TurnId, Verdict};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use super::follow::Screen;
use crate::args::ApproveWhen;
use crate::exit::Exit;

/// A turn that is being watched.
pub(super) struct Turn<'a> {
    client: &'a Client,
    id: SessionId,
    turn_id: TurnId,
    /// The message that it answers, if it answers one.
    message_id: Option<MessageId>,
    when: ApproveWhen,
    screen: Screen,
    /// What the person at the terminal types.
    answers: Lines<BufReader<Stdin>>,
    /// The calls that they are asked about, one after the other: those of several sessions may wait at once.
    asking: VecDeque<Question>,
    /// Whether the turn has begun; until then its message waits behind others.
    started: bool,
    /// Whether a call was refused.
    refused: bool,
}

/// A call that waits for an answer.
#[derive(PartialEq, Eq)]
struct Question {
    /// The turn whose call it is, which may be that of a session that this one has started.
    turn_id: TurnId,
    tool_call_id: ToolCallId,
    summary: String,
}

impl<'a> Turn<'a> {
    /// Watches a turn of a session. The message is the one that it answers, which can be taken back until it begins.
    pub(super) fn new(
        client: &'a Client,
        (id, turn_id): (SessionId, TurnId),
        message_id: Option<MessageId>,
        when: ApproveWhen,
        screen: Screen,
    ) -> Turn<'a> {
        let answers = BufReader::new(tokio::io::stdin()).lines();
        let (asking, started) = (VecDeque::new(), message_id.is_none());
        Turn { client, id, turn_id, message_id, when, screen, answers, asking, started, refused: false }
    }

    /// Shows what happens, answers what is asked, and tells how the turn ended.
    pub(super) async fn follow(&mut self, mut events: EventStream) -> anyhow::Result<Exit> {
        let mut interrupts = 0;
        loop {
            tokio::select! {
                line = events.next() => {
                    let line = line.context("the daemon ended the stream before the turn was over")??;
                    self.screen.show(&line)?;
                    if let Some(exit) = self.take(&line).await? {
                        self.screen.finish()?;
                        return Ok(exit);
                    }
                }
                typed = self.answers.next_line(), if !self.asking.is_empty() => self.typed(typed?.as_deref()).await?,
                _ = tokio::signal::ctrl_c() => {
                    interrupts += 1;
                    if interrupts > 1 {
                        return Ok(Exit::Canceled);
                    }
                    self.stop().await?;
                }
            }
        }
    }

    /// Takes a message back that still waits, and otherwise stops the turn that answers it.
    async fn stop(&self) -> anyhow::Result<()> {
        if let Some(message_id) = self.message_id.filter(|_| !self.started) {
            match self.client.withdraw(self.id, message_id).await {
                Err(ClientError::Refused { status: 404, .. }) => {}
                other => return Ok(other?),
            }
        }
        self.client.cancel_turn(self.id, self.turn_id).await?;
        Ok(())
    }

    /// Answers approvals, and recognises the end.
    async fn take(&mut self, line: &EventLine) -> anyhow::Result<Option<Exit>> {
        if line.seq.is_none() {
            return Ok(None);
        }
        let record: Record =
            serde_json::from_str(&line.raw).context("the daemon sent an event of an unknown kind")?;
        if record.turn_id != Some(self.turn_id) {
            return Ok(None);
        }
        match record.event {
            Event::TurnStarted { .. } => self.started = true,
            Event::ApprovalRequested { tool_call, summary, child, .. } => {
                let turn_id = child.map_or(self.turn_id, |child| child.turn_id);
                self.asked(Question { turn_id, tool_call_id: tool_call.id, summary }).await?;
            }
            Event::PatchReviewRequested { tool_call_id, files, waits: true, more, .. } => {
                let summary = format!("keep the change of {} files", files.len() as u64 + more);
                self.asked(Question { turn_id: self.turn_id, tool_call_id, summary }).await?;
            }
            Event::ApprovalGranted { tool_call_id, child, .. }
            | Event::ApprovalDenied { tool_call_id, child, .. } => {
                // Somebody answered, here or elsewhere.
                let turn_id = child.map_or(self.turn_id, |child| child.turn_id);
                self.settle(turn_id, &tool_call_id);
            }
            Event::MessageWithdrawn { .. } | Event::TurnCanceled { .. } => return Ok(Some(Exit::Canceled)),
            Event::TurnCompleted { .. } if self.refused => return Ok(Some(Exit::NotApproved)),
            Event::TurnCompleted { .. } => return Ok(Some(Exit::Success)),
            Event::TurnFailed { .. } => return Ok(Some(Exit::Failure)),
            _ => {}
        }
        Ok(None)
    }

    async fn asked(&mut self, question: Question) -> anyhow::Result<()> {
        match self.when {
            ApproveWhen::Always => self.answer(question, Verdict::Approve, None).await,
            ApproveWhen::Never => {
                let why = "nobody is there to ask; run with --approve always to allow it".to_owned();
                self.answer(question, Verdict::Deny, Some(why)).await
            }
            ApproveWhen::Ask => {
                self.asking.push_back(question);
                if self.asking.len() == 1 {
                    self.ask();
                }
                Ok(())
            }
        }
    }

    /// Asks the question that is next.
    fn ask(&self) {
        if let Some(question) = self.asking.front() {
            eprint!("allow `{}`? [y/N] ", question.summary.escape_debug());
        }
    }

    /// Drops a question that has been answered.
    fn settle(&mut self, turn_id: TurnId, tool_call_id: &ToolCallId) {
        let is_it =
            |question: &Question| question.turn_id == turn_id && question.tool_call_id == *tool_call_id;
        let was_next = self.asking.front().is_some_and(is_it);
        self.asking.retain(|question| !is_it(question));
        if was_next {
            self.ask();
        }
    }

    /// Takes a typed answer; the end of the input is a no.
    async fn typed(&mut self, line: Option<&str>) -> anyhow::Result<()> {
        let Some(question) = self.asking.pop_front() else { return Ok(()) };
        let yes = line.is_some_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes"));
        self.ask();
        self.answer(question, if yes { Verdict::Approve } else { Verdict::Deny }, None).await
    }

    async fn answer(
        &mut self,
        question: Question,
        action: Verdict,
        reason: Option<String>,
    ) -> anyhow::Result<()> {
        self.refused |= action == Verdict::Deny;
        let Question { turn_id, tool_call_id, .. } = question;
        let answer = Approve { turn_id, tool_call_id, action, scope: None, reason, review: None };
        match self.client.approve(self.id, &answer).await {
            // Somebody else was quicker; the events tell what they said.
            Err(ClientError::Refused { status: 409, .. }) => Ok(()),
            other => Ok(other?),
        }
    }
}
