//! Forks: a new session that shares the beginning of another one, up to the end of a turn, and then goes its own
//! way. The records are copied with their times and turns; what would count twice or still waits for somebody
//! stays behind.

use std::ops::ControlFlow;

use ostler_eventlog::{LogError, LogLine};
use ostler_types::{
    AgentEvent, ApprovalEvent, CallEvent, Event, EventName, ForkedFrom, Message, MessageEvent, NewRecord,
    Part, Record, Refusal, RefusalCode, Session, SessionEvent, SessionId, SessionStatus, SessionView,
    StateLimits, StepEvent, ToolResult, TurnEvent, TurnId, TurnStatus, Usage, WorkspaceEvent,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::history;
use crate::new_log::NewLog;

/// What is added to the title.
const SUFFIX: &str = " (fork)";

impl Engine {
    /// Makes a session that goes on from the end of a turn of another one: of `turn_id`, or of the last one that
    /// has ended. The other one may sleep, work on a later turn, or be closed.
    pub async fn fork(&self, id: SessionId, turn_id: Option<TurnId>) -> Result<Session, EngineError> {
        self.refuse_if_stopping()?;
        let view = self.view(id).await?;
        self.check_workspace(view.session.runner.as_ref(), &view.session.workspace_path).await?;
        let turn_id = shared_turn(&view, turn_id)?;
        let until = match turn_id {
            Some(turn_id) => self.end_seq(id, turn_id, view.last_seq).await?,
            None => 0,
        };
        let session = forked(self, view.session, turn_id);
        let mut copy = NewLog::claim(self, session.id).await?;
        let copied = self.copy(id, session, turn_id, until, &mut copy).await;
        copy.finish(copied).await
    }

    /// The record that ends a turn.
    async fn end_seq(&self, id: SessionId, turn_id: TurnId, last_seq: u64) -> Result<u64, EngineError> {
        let mut found = None;
        history::each_line(&*self.shared.log, id, 1..last_seq + 1, |line| {
            if found.is_none() && ends_turn(line) && parse_record(line)?.turn_id == Some(turn_id) {
                found = Some(line.seq);
            }
            Ok(())
        })
        .await?;
        let unknown =
            || Refusal::not_found("turn_not_found", format!("turn {turn_id} is no turn of this session"));
        Ok(found.ok_or_else(unknown)?)
    }

    /// Copies what is shared, and the files that it speaks of.
    async fn copy(
        &self,
        from: SessionId,
        session: Session,
        turn_id: Option<TurnId>,
        until: u64,
        copy: &mut NewLog<'_>,
    ) -> Result<(), EngineError> {
        let (to, ts) = (session.id, session.created_at);
        copy.add(NewRecord { ts, turn_id: None, event: Event::Session(SessionEvent::Created { session }) })
            .await?;
        let mut shift = SeqMapping::default();
        let mut next = 2;
        let mut is_over = turn_id.is_none();
        while !is_over {
            let lines = self.shared.log.read(from, next, history::PAGE_BYTES).await?;
            let Some(last) = lines.last() else { break };
            next = last.seq + 1;
            let mut files = Vec::new();
            for line in &lines {
                let record = parse_record(line)?;
                let (old_seq, spoken_of) = (record.seq, files_of(&record.event));
                match forked_record(record, turn_id, until, &shift) {
                    ControlFlow::Continue(Some(new)) => {
                        shift.insert(old_seq, copy.next_seq());
                        copy.add(new).await?;
                        files.extend(spoken_of);
                    }
                    ControlFlow::Continue(None) => {}
                    ControlFlow::Break(()) => is_over = true,
                }
                if is_over {
                    break;
                }
            }
            // Files can only lie beside a log that is there.
            copy.flush().await?;
            self.share_files(from, to, files).await?;
        }
        copy.end_open_work().await
    }

    /// A file that is gone is gone in the fork, too.
    async fn share_files(
        &self,
        from: SessionId,
        to: SessionId,
        files: Vec<String>,
    ) -> Result<(), EngineError> {
        for file in files {
            match self.shared.log.share_blob(from, to, file).await {
                Ok(()) | Err(LogError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Which seq a record of the source has in the fork, for the few records that speak of others.
#[derive(Default)]
struct SeqMapping {
    /// Where the difference between the two changes: the old seq, and the new one.
    steps: Vec<(u64, u64)>,
}

impl SeqMapping {
    fn insert(&mut self, old: u64, new: u64) {
        let difference = |(old, new): &(u64, u64)| old - new;
        if self.steps.last().map(difference) != Some(old - new) {
            self.steps.push((old, new));
        }
    }

    /// The seq of the first record in the fork that was not before `old`.
    fn map(&self, old: u64) -> u64 {
        let after = self.steps.partition_point(|(first, _)| *first <= old);
        let next = self.steps.get(after).map(|(_, new)| *new);
        match after.checked_sub(1).map(|index| self.steps[index]) {
            Some((first, new)) => next.map_or(new + (old - first), |next| next.min(new + (old - first))),
            None => next.unwrap_or(1),
        }
    }
}

/// The last turn that both are to share.
fn shared_turn(view: &SessionView, wanted: Option<TurnId>) -> Result<Option<TurnId>, Refusal> {
    match wanted {
        Some(turn_id) if view.running_turn_id == Some(turn_id) => {
            Err(Refusal::conflict(RefusalCode::TurnRunning, format!("turn {turn_id} is running"))
                .hint("wait for it to end, cancel it, or fork at an earlier turn"))
        }
        Some(turn_id) => Ok(Some(turn_id)),
        None => {
            let mut ended = view.turns.iter().rev().filter(|turn| turn.status != TurnStatus::Running);
            Ok(ended.next().map(|turn| turn.id))
        }
    }
}

/// The session that goes its own way: with the settings of the other, and none of what it has spent or is tied to.
fn forked(engine: &Engine, source: Session, turn_id: Option<TurnId>) -> Session {
    let (clock, session_id) = (engine.clock(), source.id);
    let at = clock.now();
    let title = source.title.map(|mut title| {
        title.truncate(title.floor_char_boundary(StateLimits::LABEL_BYTES - SUFFIX.len()));
        title + SUFFIX
    });
    Session {
        id: SessionId::new(clock.uuid()),
        created_at: at,
        updated_at: at,
        status: SessionStatus::Active,
        last_turn_id: None,
        title,
        archived: false,
        pinned: false,
        parent_session_id: None,
        name: None,
        agent_session_id: None,
        worktree: None,
        forked_from: Some(ForkedFrom { session_id, turn_id }),
        usage: Usage::default(),
        idempotency_key: None,
        ..source
    }
}

/// What becomes of a record in the fork: the same, something a little different, or nothing. Breaks off when
/// nothing of the last shared turn can come any more.
fn forked_record(
    record: Record,
    turn_id: Option<TurnId>,
    until: u64,
    shift: &SeqMapping,
) -> ControlFlow<(), Option<NewRecord>> {
    if record.seq > until {
        return forked_late_record(record, turn_id, until);
    }
    let Record { ts, turn_id: of, event, .. } = record;
    let event = match event {
        Event::Message(MessageEvent::Added { message, .. }) => {
            Event::Message(MessageEvent::Added { message, idempotency_key: None })
        }
        Event::Message(MessageEvent::ModelOutputCompleted { message, stop_reason, .. }) => {
            Event::Message(MessageEvent::ModelOutputCompleted {
                message,
                stop_reason,
                usage: Usage::default(),
            })
        }
        Event::Turn(TurnEvent::Completed { stop_reason, verified, verification, .. }) => {
            Event::Turn(TurnEvent::Completed { stop_reason, usage: Usage::default(), verified, verification })
        }
        Event::Agent(AgentEvent::ContextCompacted { mut compaction }) => {
            compaction.first_kept_seq = shift.map(compaction.first_kept_seq);
            Event::Agent(AgentEvent::ContextCompacted { compaction })
        }
        Event::Session(
            SessionEvent::Created { .. } | SessionEvent::Updated { .. } | SessionEvent::Completed { .. },
        )
        | Event::Message(MessageEvent::Queued { .. } | MessageEvent::Withdrawn { .. })
        | Event::Step(StepEvent::UsageRecorded { .. })
        | Event::Agent(AgentEvent::Updated { .. })
        | Event::Child(_)
        | Event::Approval(ApprovalEvent::Requested { child: Some(_), .. })
        | Event::Approval(ApprovalEvent::Granted { child: Some(_), .. })
        | Event::Approval(ApprovalEvent::Denied { child: Some(_), .. }) => {
            return ControlFlow::Continue(None);
        }
        kept @ (Event::Session(SessionEvent::Failed { .. } | SessionEvent::Canceled { .. })
        | Event::Turn(
            TurnEvent::Started { .. }
            | TurnEvent::Retried { .. }
            | TurnEvent::Failed { .. }
            | TurnEvent::Canceled { .. },
        )
        | Event::Step(
            StepEvent::ModelResolved { .. }
            | StepEvent::ModelWaiting { .. }
            | StepEvent::ReasoningCompleted { .. },
        )
        | Event::Batch(_)
        | Event::Call(_)
        | Event::Approval(ApprovalEvent::Requested { child: None, .. })
        | Event::Approval(ApprovalEvent::Granted { child: None, .. })
        | Event::Approval(ApprovalEvent::Denied { child: None, .. })
        | Event::Workspace(_)) => kept,
    };
    ControlFlow::Continue(Some(NewRecord { ts, turn_id: of, event }))
}

/// The same for a record that follows the last shared turn's end.
fn forked_late_record(
    record: Record,
    turn_id: Option<TurnId>,
    until: u64,
) -> ControlFlow<(), Option<NewRecord>> {
    let Record { seq, ts, turn_id: of, event, .. } = record;
    if matches!(event, Event::Turn(TurnEvent::Started { .. })) {
        return ControlFlow::Break(());
    }
    // How the turn left the workspace is seen when nothing of it runs any more.
    let is_checkpoint = matches!(
        event,
        Event::Workspace(WorkspaceEvent::CheckpointCreated { .. } | WorkspaceEvent::CheckpointFailed { .. })
    );
    let is_end = matches!(event, Event::Session(SessionEvent::Failed { .. } | SessionEvent::Canceled { .. }));
    let is_kept = is_checkpoint && of == turn_id || is_end && seq == until + 1;
    ControlFlow::Continue(is_kept.then_some(NewRecord { ts, turn_id: of, event }))
}

/// The files beside the log that an event speaks of.
fn files_of(event: &Event) -> Vec<String> {
    match event {
        Event::Message(MessageEvent::Added { message, .. })
        | Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => files_in(message),
        Event::Call(CallEvent::Completed { tool_result, .. }) => files_of_result(tool_result),
        Event::Agent(AgentEvent::ContextCompacted { compaction }) => {
            compaction.summary.as_ref().map(files_in).unwrap_or_default()
        }
        Event::Session(_)
        | Event::Message(MessageEvent::Queued { .. } | MessageEvent::Withdrawn { .. })
        | Event::Turn(_)
        | Event::Step(_)
        | Event::Batch(_)
        | Event::Call(CallEvent::Started { .. })
        | Event::Approval(_)
        | Event::Workspace(_)
        | Event::Agent(AgentEvent::Updated { .. })
        | Event::Child(_) => Vec::new(),
    }
}

fn files_of_result(result: &ToolResult) -> Vec<String> {
    result.parts.iter().flat_map(files_of_part).chain(result.artifacts.iter().cloned()).collect()
}

fn files_in(message: &Message) -> Vec<String> {
    message.parts.iter().flat_map(files_of_part).collect()
}

fn files_of_part(part: &Part) -> Vec<String> {
    match part {
        Part::Image { reference, .. } | Part::Audio { reference, .. } | Part::File { reference, .. } => {
            vec![reference.clone()]
        }
        Part::ToolResult { images, .. } => images.iter().map(|image| image.reference.clone()).collect(),
        Part::Text { .. } | Part::Reasoning { .. } | Part::ToolCall { .. } => Vec::new(),
    }
}

fn ends_turn(line: &LogLine) -> bool {
    line.name().is_some_and(EventName::ends_turn)
}

fn parse_record(line: &LogLine) -> Result<Record, LogError> {
    line.record().map_err(|error| LogError::Io(format!("record {}: {error}", line.seq)))
}
