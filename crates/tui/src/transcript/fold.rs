//! The fold: what each event adds to a transcript, or changes in it.

use ostler_client::actor_name;
use ostler_types::{
    AgentEvent, ApprovalEvent, CallEvent, ChildEvent, ChildStatus, CommandResult, Cost, Event, Failure,
    Message, MessageEvent, Part, Record, Role, SessionEvent, SessionId, StepEvent, ToolCall, ToolCallId,
    ToolKind, ToolResult, TurnEvent, TurnId, Usage, WorkspaceEvent,
};
use serde_json::Value;

use super::{
    EntryKind, ModelText, Tone, Transcript, TranscriptCall, TranscriptCallStatus, TranscriptEntry, is_call,
};

/// How much of a result is held: its head and its tail.
const RESULT_BYTES: usize = 32 << 10;

impl Transcript {
    /// What an event means for the transcript. Its place in the log has been looked at.
    pub(super) fn fold(&mut self, record: &Record) {
        let (seq, turn) = (record.seq, record.turn_id);
        match &record.event {
            Event::Message(MessageEvent::Added { message, .. }) => self.message(seq, turn, message),
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                self.completed(seq, turn, message)
            }
            Event::Call(CallEvent::Started { tool_call, kind }) => {
                self.call(seq, turn, tool_call, Some(*kind), TranscriptCallStatus::Running);
            }
            Event::Approval(ApprovalEvent::Requested { tool_call, kind, child: None, .. }) => {
                self.call(seq, turn, tool_call, Some(*kind), TranscriptCallStatus::Waiting);
            }
            Event::Approval(ApprovalEvent::Granted { tool_call_id, child: None, by, .. }) => {
                self.answered(
                    seq,
                    turn,
                    tool_call_id,
                    &format!("allowed by {}", actor_name(by)),
                    Tone::Plain,
                );
            }
            Event::Approval(ApprovalEvent::Denied { tool_call_id, child: None, by, reason, .. }) => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                self.answered(
                    seq,
                    turn,
                    tool_call_id,
                    &format!("denied by {}{reason}", actor_name(by)),
                    Tone::Warn,
                );
            }
            Event::Call(CallEvent::Completed { tool_call, tool_result, duration_ms, .. }) => {
                self.result(seq, turn, &tool_call.id, &tool_call.name, tool_result, *duration_ms);
            }
            Event::Workspace(WorkspaceEvent::VerificationStarted { round, commands }) => {
                let (round, commands) = (*round, commands.clone());
                self.push(seq, turn, EntryKind::Check { round, commands, results: None });
            }
            Event::Workspace(WorkspaceEvent::VerificationCompleted { round, results, .. }) => {
                self.checked(seq, turn, *round, results)
            }
            Event::Workspace(WorkspaceEvent::PatchReviewRequested { tool_call_id, files, more, .. }) => {
                let kind = EntryKind::Review { id: tool_call_id.clone(), files: files.clone(), more: *more };
                self.push(seq, turn, kind);
            }
            Event::Child(ChildEvent::Started { session_id, tool_call_id, description, .. }) => {
                self.child(seq, turn, *session_id, tool_call_id.as_ref(), description);
            }
            Event::Turn(TurnEvent::Completed { usage, verified, stop_reason, .. }) => {
                self.turn_over(seq, turn, completed(usage, *verified, stop_reason));
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => self.turn_over(seq, turn, failed(error)),
            Event::Turn(TurnEvent::Canceled { by, reason }) => {
                self.turn_over(seq, turn, canceled(by, reason.as_ref()))
            }
            event @ (Event::Session(_)
            | Event::Message(MessageEvent::Queued { .. } | MessageEvent::Withdrawn { .. })
            | Event::Turn(TurnEvent::Started { .. } | TurnEvent::Retried { .. })
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Approval(_)
            | Event::Workspace(
                WorkspaceEvent::CheckpointCreated { .. } | WorkspaceEvent::CheckpointFailed { .. },
            )
            | Event::Agent(_)
            | Event::Child(ChildEvent::Completed { .. })) => {
                if let Some((tone, text)) = event_note(event) {
                    self.push(seq, turn, EntryKind::Note { tone, text });
                }
            }
        }
    }

    fn message(&mut self, seq: u64, turn: Option<TurnId>, message: &Message) {
        let known = |entry: &TranscriptEntry| matches!(&entry.kind, EntryKind::User { id, .. } | EntryKind::SystemMessage { id, .. } if *id == message.id);
        if self.entries.iter().any(known) {
            return;
        }
        let (id, text) = (message.id, message.text());
        let kind = match message.role {
            Role::User => EntryKind::User { id, text, files: files(message) },
            Role::System | Role::Assistant | Role::Tool => EntryKind::SystemMessage { id, text },
        };
        self.push(seq, turn, kind);
    }

    /// The whole message takes the place of what was seen of it, in its own order.
    fn completed(&mut self, seq: u64, turn: Option<TurnId>, message: &Message) {
        let is_part = |entry: &TranscriptEntry| matches!(&entry.kind, EntryKind::Answer(spoken) | EntryKind::Thinking(spoken) if spoken.id == message.id);
        let at = self.entries.iter().position(is_part).unwrap_or(self.entries.len());
        let mut seen: Vec<TranscriptEntry> = Vec::new();
        while let Some(index) = self.entries.iter().rposition(is_part) {
            if let Some(entry) = self.entries.remove(index) {
                self.bytes = self.bytes.saturating_sub(entry.size());
                seen.push(entry);
            }
        }
        let mut at = at;
        for (part, content) in (0u32..).zip(&message.parts) {
            let spoken = |text: &String| ModelText { id: message.id, part, text: text.clone(), done: true };
            let kind = match content {
                Part::Text { text } if !text.trim().is_empty() => EntryKind::Answer(spoken(text)),
                Part::Reasoning { text, .. } if !text.trim().is_empty() => EntryKind::Thinking(spoken(text)),
                Part::Image { reference, .. }
                | Part::Audio { reference, .. }
                | Part::File { reference, .. } => {
                    EntryKind::Note { tone: Tone::Plain, text: format!("[file: {reference}]") }
                }
                Part::ToolCall { call } => {
                    self.call(seq, turn, call, None, TranscriptCallStatus::Proposed);
                    continue;
                }
                Part::Text { .. } | Part::Reasoning { .. } | Part::ToolResult { .. } => continue,
            };
            let before = seen.iter().find(|entry| same_part(&entry.kind, &kind));
            let (key, folded) = before.map_or((None, None), |entry| (Some(entry.key), entry.folded));
            self.insert(at, seq, turn, kind);
            let entry = &mut self.entries[at];
            // It is the same thing to the reader, who may have it at the top of the screen.
            entry.key = key.unwrap_or(entry.key);
            entry.folded = folded;
            entry.revision = before.map_or(0, |entry| entry.revision + 1);
            at += 1;
        }
    }

    /// A call that is new, or that moves on.
    fn call(
        &mut self,
        seq: u64,
        turn: Option<TurnId>,
        call: &ToolCall,
        kind: Option<ToolKind>,
        status: TranscriptCallStatus,
    ) {
        let found = self.change(
            |entry| is_call(entry, turn, &call.id),
            |entry| {
                if let EntryKind::ToolCall(known) = &mut entry.kind {
                    if known.input.is_null() {
                        known.input.clone_from(&call.input);
                    }
                    known.kind = known.kind.or(kind);
                    known.orphan = false;
                    known.advance(status);
                }
            },
        );
        if !found {
            let mut known = TranscriptCall::new(call.id.clone(), call.name.clone());
            (known.input, known.kind, known.status) = (call.input.clone(), kind, status);
            self.push(seq, turn, EntryKind::ToolCall(Box::new(known)));
        }
    }

    fn answered(&mut self, seq: u64, turn: Option<TurnId>, id: &ToolCallId, text: &str, tone: Tone) {
        let granted = tone == Tone::Plain;
        self.change(
            |entry| is_call(entry, turn, id),
            |entry| {
                if let (EntryKind::ToolCall(call), true) = (&mut entry.kind, granted) {
                    call.advance(TranscriptCallStatus::Granted);
                }
            },
        );
        self.push(seq, turn, EntryKind::Note { tone, text: text.to_owned() });
    }

    fn result(
        &mut self,
        seq: u64,
        turn: Option<TurnId>,
        id: &ToolCallId,
        name: &str,
        result: &ToolResult,
        duration_ms: u64,
    ) {
        if !self.entries.iter().any(|entry| is_call(entry, turn, id)) {
            let mut call = TranscriptCall::new(id.clone(), name);
            call.orphan = true;
            self.push(seq, turn, EntryKind::ToolCall(Box::new(call)));
        }
        self.change(
            |entry| is_call(entry, turn, id),
            |entry| {
                let EntryKind::ToolCall(call) = &mut entry.kind else { return };
                if call.status.is_over() {
                    return;
                }
                call.advance(if result.ok {
                    TranscriptCallStatus::Done
                } else {
                    TranscriptCallStatus::Failed
                });
                call.result = Some(head_and_tail(&result.text()));
                call.duration_ms = Some(duration_ms);
                call.output = String::new();
                call.diffs = diffs(result.details.as_ref());
                call.exit_code =
                    result.details.as_ref().and_then(|details| details.get("exit_code")?.as_i64());
                call.pictures = result.pictures().map(|picture| picture.reference).collect();
            },
        );
    }

    fn checked(&mut self, seq: u64, turn: Option<TurnId>, round: u32, results: &[CommandResult]) {
        let found = self.change(
            |entry| {
                entry.turn == turn
                    && matches!(&entry.kind, EntryKind::Check { round: known, .. } if *known == round)
            },
            |entry| {
                if let EntryKind::Check { results: known, .. } = &mut entry.kind {
                    *known = Some(results.to_vec());
                }
            },
        );
        if !found {
            let commands = results.iter().map(|result| result.command.clone()).collect();
            self.push(seq, turn, EntryKind::Check { round, commands, results: Some(results.to_vec()) });
        }
    }

    fn child(
        &mut self,
        seq: u64,
        turn: Option<TurnId>,
        session: SessionId,
        call: Option<&ToolCallId>,
        description: &str,
    ) {
        let attached = call.is_some_and(|id| {
            self.change(
                |entry| is_call(entry, turn, id),
                |entry| {
                    if let EntryKind::ToolCall(call) = &mut entry.kind {
                        call.child = Some(session);
                    }
                },
            )
        });
        if !attached {
            let text = format!("started {session}: {description}");
            self.push(seq, turn, EntryKind::Note { tone: Tone::Plain, text });
        }
    }

    /// Nothing of a turn that is over is still on its way.
    fn turn_over(&mut self, seq: u64, turn: Option<TurnId>, (tone, text, hint): TurnEndNote) {
        for entry in self.entries.iter_mut().filter(|entry| entry.turn == turn) {
            match &mut entry.kind {
                EntryKind::Answer(spoken) | EntryKind::Thinking(spoken) if !spoken.done => spoken.done = true,
                EntryKind::ToolCall(call) if !call.status.is_over() => {
                    call.status = TranscriptCallStatus::Failed
                }
                EntryKind::User { .. }
                | EntryKind::SystemMessage { .. }
                | EntryKind::Answer(_)
                | EntryKind::Thinking(_)
                | EntryKind::ToolCall(_)
                | EntryKind::Check { .. }
                | EntryKind::Review { .. }
                | EntryKind::Note { .. }
                | EntryKind::End { .. } => continue,
            }
            entry.revision += 1;
        }
        self.push(seq, turn, EntryKind::End { tone, text, hint });
    }
}

fn same_part(one: &EntryKind, other: &EntryKind) -> bool {
    match (one, other) {
        (EntryKind::Answer(one), EntryKind::Answer(other))
        | (EntryKind::Thinking(one), EntryKind::Thinking(other)) => one.part == other.part,
        _ => false,
    }
}

fn files(message: &Message) -> Vec<String> {
    let file = |part: &Part| match part {
        Part::Image { reference, .. } | Part::Audio { reference, .. } | Part::File { reference, .. } => {
            Some(reference.clone())
        }
        Part::Text { .. } | Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
    };
    message.parts.iter().filter_map(file).collect()
}

/// The diffs that a tool shows in its details.
fn diffs(details: Option<&Value>) -> Vec<(String, String)> {
    let files = details.and_then(|details| details.get("files")?.as_array());
    let of_file = |file: &Value| {
        let diff = file.get("diff")?.as_str().filter(|diff| !diff.is_empty())?;
        Some((file.get("path")?.as_str()?.to_owned(), diff.to_owned()))
    };
    files.into_iter().flatten().filter_map(of_file).collect()
}

/// The head and the tail of a long text.
fn head_and_tail(text: &str) -> String {
    if text.len() <= RESULT_BYTES {
        return text.to_owned();
    }
    let (mut head, mut tail) = (RESULT_BYTES / 2, text.len() - RESULT_BYTES / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..])
}

/// How a turn ended, in a line, and what to do next.
type TurnEndNote = (Tone, String, Option<String>);

fn completed(usage: &Usage, verified: Option<bool>, stop_reason: &str) -> TurnEndNote {
    let (tone, word) = match verified {
        Some(true) => (Tone::Good, "✓ done, verified"),
        Some(false) => (Tone::Warn, "! done, not verified"),
        None if stop_reason == "nothing_to_compact" => (Tone::Plain, "✓ nothing to compact"),
        None => (Tone::Plain, "✓ done"),
    };
    (tone, format!("{word}{}", usage_text(usage)), None)
}

fn failed(Failure { message, hint, .. }: &Failure) -> TurnEndNote {
    let hint = hint.clone().unwrap_or_else(|| "/retry to try again".to_owned());
    (Tone::Bad, format!("✗ failed: {message}"), Some(hint))
}

fn canceled(by: &str, reason: Option<&String>) -> TurnEndNote {
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    (Tone::Warn, format!("■ canceled by {}{reason}", actor_name(by)), Some("/retry to try again".to_owned()))
}

/// What something took, in a few words.
fn usage_text(usage: &Usage) -> String {
    let tokens = usage.input_tokens + usage.output_tokens;
    match (tokens, usage.cost_usd) {
        (0, _) => String::new(),
        (tokens, Some(cost)) if cost > Cost::default() => {
            format!(" · {} · {}", crate::formatting::tokens(tokens), crate::formatting::money(cost))
        }
        (tokens, _) => format!(" · {}", crate::formatting::tokens(tokens)),
    }
}

/// Events that are told in a line.
fn event_note(event: &Event) -> Option<(Tone, String)> {
    Some(match event {
        Event::Session(SessionEvent::Completed { by }) => {
            (Tone::Plain, format!("■ session closed by {}", actor_name(by)))
        }
        Event::Turn(TurnEvent::Retried { .. }) => (Tone::Plain, "↻ retry".to_owned()),
        Event::Step(StepEvent::ModelResolved { resolution }) => {
            (Tone::Plain, format!("◦ {}", resolution.detail))
        }
        Event::Step(StepEvent::ModelWaiting { attempt, attempts, wait_ms, error, .. }) => {
            let text = format!("… {} (attempt {attempt} of {attempts})", error.message);
            (Tone::Warn, format!("{text}; retrying in {}", crate::formatting::duration(*wait_ms)))
        }
        Event::Workspace(WorkspaceEvent::CheckpointFailed { reason, .. }) => {
            (Tone::Warn, format!("! this turn cannot be undone: {reason}"))
        }
        Event::Agent(AgentEvent::ContextCompacted { compaction }) => {
            let (before, after) = (compaction.tokens_before, compaction.tokens_after);
            let (before, after) = (crate::formatting::tokens(before), crate::formatting::tokens(after));
            (Tone::Plain, format!("≡ conversation compacted: {before} → {after}"))
        }
        Event::Child(ChildEvent::Completed { session_id, outcome }) => {
            let (tone, word) = match outcome.status {
                ChildStatus::Completed => (Tone::Good, "✓ completed"),
                ChildStatus::Failed => (Tone::Bad, "✗ failed"),
                ChildStatus::Canceled => (Tone::Warn, "■ canceled"),
            };
            (tone, format!("{word}: {session_id}"))
        }
        Event::Approval(ApprovalEvent::Requested { child: Some(child), summary, .. }) => {
            (Tone::Warn, format!("? {} asks: {summary}", child.session_id))
        }
        Event::Approval(ApprovalEvent::Granted { child: Some(_), tool, by, .. }) => {
            (Tone::Plain, format!("{tool} allowed by {}", actor_name(by)))
        }
        Event::Approval(ApprovalEvent::Denied { child: Some(_), tool, by, .. }) => {
            (Tone::Warn, format!("{tool} denied by {}", actor_name(by)))
        }
        // The rest is told by another event, by what stands around the composer, or is nothing to look at.
        Event::Session(
            SessionEvent::Created { .. }
            | SessionEvent::Updated { .. }
            | SessionEvent::Failed { .. }
            | SessionEvent::Canceled { .. },
        )
        | Event::Message(_)
        | Event::Turn(
            TurnEvent::Started { .. }
            | TurnEvent::Completed { .. }
            | TurnEvent::Failed { .. }
            | TurnEvent::Canceled { .. },
        )
        | Event::Step(StepEvent::UsageRecorded { .. } | StepEvent::ReasoningCompleted { .. })
        | Event::Batch(_)
        | Event::Call(_)
        | Event::Approval(ApprovalEvent::Requested { child: None, .. })
        | Event::Approval(ApprovalEvent::Granted { child: None, .. })
        | Event::Approval(ApprovalEvent::Denied { child: None, .. })
        | Event::Workspace(
            WorkspaceEvent::CheckpointCreated { .. }
            | WorkspaceEvent::PatchReviewRequested { .. }
            | WorkspaceEvent::VerificationStarted { .. }
            | WorkspaceEvent::VerificationCompleted { .. },
        )
        | Event::Agent(AgentEvent::Updated { .. })
        | Event::Child(ChildEvent::Started { .. }) => return None,
    })
}
