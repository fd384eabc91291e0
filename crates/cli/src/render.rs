//! Draws a session's events for a terminal, for `run` and `attach`. A pure function of the lines that
//! it was given: it asks nothing, prints nothing and knows no daemon.
//!
//! Streamed text is spliced by offset: a delta that comes again, or a message that is completed after
//! its deltas, adds only what has not been drawn. Text of models and tools is cleaned first, so that
//! nothing in it can drive the terminal.

mod approval;
mod board;
mod children;
mod deltas;
mod formatting;
mod record_line;
mod sanitize;
mod session_table;
mod style;

use std::collections::HashMap;

use ostler_client::actor_name;
use ostler_config::Environment;
use ostler_types::{
    AgentEvent, ApprovalEvent, CallEvent, CommandResult, Cost, Event, Failure, FileChange, LiveText, Message,
    MessageEvent, Part, Record, Resolution, Role, Rule, SessionEvent, SessionId, StepEvent, ToolCall,
    ToolCallId, ToolKind, ToolResult, TurnEvent, Usage, WorkspaceEvent, in_one_line, shell_word,
};

use deltas::{StreamKind, TextDeltaData, TextDeltaLine};
pub(crate) use formatting::counted;
use formatting::{duration, excerpt, with_reason};
use style::{Paint, Style};

pub use approval::{PREVIEW_LINES, approval_preview};
pub use board::{Board, BoardSize};
pub use formatting::money;
pub use record_line::{event_summary, record_line};
pub use sanitize::sanitize;
pub use session_table::{SessionRow, SessionState, session_line, session_table, title};

/// What to draw, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderOptions {
    /// Whether the terminal has colours and the user wants them.
    pub color: bool,
    /// Whether to show what people said; whoever just typed it need not read it again.
    pub prompts: bool,
    /// Whether to say how an approval can be answered elsewhere.
    pub approval_hints: bool,
}

/// Draws events, one at a time.
#[derive(Debug)]
pub struct Renderer {
    options: RenderOptions,
    style: Style,
    /// The text that has been drawn of messages that are not completed.
    live: LiveText,
    /// The newest record that was drawn.
    last_seq: u64,
    /// What the cursor stands in.
    cursor: CursorState,
    /// The call whose line was drawn last; its result needs no name.
    last_call: Option<ToolCallId>,
    /// What the sessions at work are called that this one has started.
    children: HashMap<SessionId, String>,
}

/// What the cursor stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CursorState {
    /// At the start of a line.
    Line,
    /// In streamed text, and whether it ended its line.
    Stream { kind: StreamKind, ended: bool },
}

/// How long a line may be that is not shown in full.
pub(crate) const LINE_WIDTH: usize = 160;
/// Files of a review that are drawn; the rest is counted.
const REVIEW_LINES: usize = 50;

impl Renderer {
    /// A renderer that has drawn nothing.
    pub fn new(options: RenderOptions) -> Renderer {
        Renderer {
            options,
            style: Style::new(options.color),
            live: LiveText::default(),
            last_seq: 0,
            cursor: CursorState::Line,
            last_call: None,
            children: HashMap::new(),
        }
    }

    /// What an event adds to the screen; nothing for a line that is not an event of ours.
    pub fn event(&mut self, line: &str) -> String {
        let mut out = String::new();
        if let Ok(delta) = serde_json::from_str::<TextDeltaLine>(line) {
            self.delta(&delta, &mut out);
        } else if let Ok(record) = serde_json::from_str::<Record>(line)
            && record.seq > self.last_seq
        {
            self.last_seq = record.seq;
            self.record(&record, &mut out);
        }
        out
    }

    /// Ends the line that the cursor is in, before something else is printed.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.end_stream(&mut out);
        out
    }

    fn delta(&mut self, TextDeltaLine { name, data }: &TextDeltaLine, out: &mut String) {
        let TextDeltaData { message_id, part, offset, text } = data;
        let spliced = self.live.splice_at(&name.of_part(*message_id, *part), *offset, text);
        if let Some(fresh) = spliced.and_then(|spliced| spliced.appended()) {
            self.stream(*name, fresh, out);
        }
    }

    fn record(&mut self, record: &Record, out: &mut String) {
        match &record.event {
            Event::Message(MessageEvent::Added { message, .. }) => self.message(message, out),
            Event::Message(MessageEvent::Queued { queued, .. }) => {
                self.prompt("queued", &queued.message, out)
            }
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                self.completed(message, out)
            }
            Event::Call(CallEvent::Started { tool_call, .. }) => self.call(tool_call, out),
            Event::Call(CallEvent::Completed { tool_call, tool_result, duration_ms, .. }) => {
                self.result(&tool_call.name, tool_result, *duration_ms, out);
            }
            Event::Approval(ApprovalEvent::Requested {
                tool_call,
                kind,
                summary,
                rule,
                options: _,
                child,
            }) => {
                let whose = child.as_ref().map_or(record.session_id, |child| child.session_id);
                if child.is_some() {
                    self.line(
                        Paint::Question,
                        &format!("? asked by {whose}, a subagent of this session"),
                        out,
                    );
                }
                self.question(whose, tool_call, *kind, summary, rule, out);
            }
            Event::Approval(ApprovalEvent::Granted { tool, by, reason, .. }) => {
                self.answer(&format!("  {tool} allowed by {}", actor_name(by)), reason.as_deref(), out);
            }
            Event::Approval(ApprovalEvent::Denied { tool, by, reason, .. }) => {
                self.answer(&format!("  {tool} denied by {}", actor_name(by)), reason.as_deref(), out);
            }
            Event::Workspace(WorkspaceEvent::VerificationStarted { commands, .. }) => {
                self.line(
                    Paint::Tool,
                    &format!("● verify  {}", in_one_line(&commands.join("; "), LINE_WIDTH)),
                    out,
                );
            }
            Event::Workspace(WorkspaceEvent::VerificationCompleted { ok, results, .. }) => {
                self.verified(*ok, results, out)
            }
            Event::Workspace(WorkspaceEvent::CheckpointFailed { reason, .. }) => {
                let line = with_reason("! this turn cannot be undone", Some(reason));
                self.line(Paint::Warning, &line, out);
            }
            Event::Workspace(WorkspaceEvent::PatchReviewRequested { files, more, note, .. }) => {
                self.review(files, *more, note.as_deref(), out);
            }
            Event::Turn(
                TurnEvent::Retried { .. }
                | TurnEvent::Completed { .. }
                | TurnEvent::Failed { .. }
                | TurnEvent::Canceled { .. },
            )
            | Event::Session(SessionEvent::Completed { .. }) => self.turn(&record.event, out),
            Event::Step(StepEvent::ModelResolved { .. } | StepEvent::ModelWaiting { .. }) => {
                self.model(&record.event, out)
            }
            Event::Child(_) | Event::Agent(AgentEvent::ContextCompacted { .. }) => {
                self.child(&record.event, out)
            }
            // The rest is told by another event, or is nothing to look at.
            Event::Session(
                SessionEvent::Created { .. }
                | SessionEvent::Updated { .. }
                | SessionEvent::Failed { .. }
                | SessionEvent::Canceled { .. },
            )
            | Event::Message(MessageEvent::Withdrawn { .. })
            | Event::Turn(TurnEvent::Started { .. })
            | Event::Step(StepEvent::UsageRecorded { .. } | StepEvent::ReasoningCompleted { .. })
            | Event::Agent(AgentEvent::Updated { .. })
            | Event::Workspace(WorkspaceEvent::CheckpointCreated { .. })
            | Event::Batch(_) => {}
        }
    }

    /// How a turn begins again or ends, and with it perhaps the session.
    fn turn(&mut self, event: &Event, out: &mut String) {
        match event {
            Event::Turn(TurnEvent::Retried { .. }) => self.line(Paint::Dim, "↻ retry", out),
            Event::Turn(TurnEvent::Completed { stop_reason, usage, verified, verification }) => {
                if stop_reason == "nothing_to_compact" {
                    self.line(
                        Paint::Dim,
                        "≡ nothing to compact: the conversation is short, or all of it is recent",
                        out,
                    );
                }
                self.turn_completed(*usage, *verified, verification.as_deref(), out);
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => self.turn_failed(error, out),
            Event::Turn(TurnEvent::Canceled { by, reason }) => {
                self.line(
                    Paint::Warning,
                    &with_reason(&format!("■ canceled by {}", actor_name(by)), reason.as_deref()),
                    out,
                );
            }
            Event::Session(SessionEvent::Completed { by }) => {
                self.line(Paint::Dim, &format!("■ session closed by {}", actor_name(by)), out)
            }
            _ => {}
        }
    }

    /// What a model is waited for, and which one takes over.
    fn model(&mut self, event: &Event, out: &mut String) {
        match event {
            Event::Step(StepEvent::ModelResolved {
                resolution: Resolution { model, instead_of: Some(before), error, .. },
            }) => {
                let why = error.as_ref().map(|error| error.message.as_str());
                let line = with_reason(&format!("↻ fallback: {model} instead of {before}"), why);
                self.line(Paint::Warning, &line, out);
            }
            Event::Step(StepEvent::ModelWaiting { model, attempt, attempts, wait_ms, error }) => {
                let again =
                    format!("↻ retrying {model} in {} (attempt {attempt} of {attempts})", duration(*wait_ms));
                self.line(Paint::Dim, &with_reason(&again, Some(&error.message)), out);
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Message, out: &mut String) {
        match message.role {
            Role::User => self.prompt("", message, out),
            Role::Assistant => self.completed(message, out),
            Role::System | Role::Tool => {}
        }
    }

    fn prompt(&mut self, state: &str, message: &Message, out: &mut String) {
        if !self.options.prompts {
            return;
        }
        let mark = if state.is_empty() { "> ".to_owned() } else { format!("> ({state}) ") };
        self.block(Paint::Prompt, &mark, &message.text(), out);
    }

    /// Draws what the deltas of a message have not.
    fn completed(&mut self, message: &Message, out: &mut String) {
        for (index, part) in message.parts.iter().enumerate() {
            let (kind, text) = match part {
                Part::Text { text } => (StreamKind::Text, text),
                Part::Reasoning { text, .. } => (StreamKind::Reasoning, text),
                Part::Image { .. }
                | Part::Audio { .. }
                | Part::File { .. }
                | Part::ToolCall { .. }
                | Part::ToolResult { .. } => continue,
            };
            let part = u32::try_from(index).unwrap_or(u32::MAX);
            if let Some(rest) = self.live.remainder(&kind.of_part(message.id, part), text) {
                self.stream(kind, rest, out);
            }
        }
        self.live.complete(message.id);
        self.end_stream(out);
    }

    fn call(&mut self, call: &ToolCall, out: &mut String) {
        let what = in_one_line(&record_line::subject(call), LINE_WIDTH);
        self.line(Paint::Tool, format!("● {}  {what}", in_one_line(&call.name, LINE_WIDTH)).trim_end(), out);
        self.last_call = Some(call.id.clone());
    }

    fn result(&mut self, name: &str, result: &ToolResult, duration_ms: u64, out: &mut String) {
        let exit_code = result.details.as_ref().and_then(|details| details.get("exit_code")?.as_i64());
        let outcome = match (exit_code, result.ok) {
            (Some(code), _) => format!("exit code {code}"),
            (None, true) => "ok".to_owned(),
            (None, false) => "failed".to_owned(),
        };
        let whose = if self.last_call.as_ref() == Some(&result.id) {
            String::new()
        } else {
            format!("{}: ", in_one_line(name, LINE_WIDTH))
        };
        let paint = if result.ok { Paint::Dim } else { Paint::Warning };
        self.line(paint, &format!("  ↳ {whose}{outcome} ({})", duration(duration_ms)), out);
        self.output(&result.text(), out);
        let warnings = result.details.as_ref().and_then(|details| details.get("warnings")?.as_array());
        for warning in warnings.into_iter().flatten().filter_map(serde_json::Value::as_str) {
            self.block(Paint::Warning, "  ! ", warning, out);
        }
    }

    fn output(&mut self, text: &str, out: &mut String) {
        for line in excerpt(text) {
            self.line(Paint::Dim, &format!("    {line}"), out);
        }
    }

    fn question(
        &mut self,
        session_id: SessionId,
        call: &ToolCall,
        kind: ToolKind,
        summary: &str,
        rule: &Rule,
        out: &mut String,
    ) {
        let kind = match kind {
            ToolKind::Read => "read files",
            ToolKind::Write => "change files",
            ToolKind::Exec => "run a program",
            ToolKind::Network => "use the network",
        };
        self.end_stream(out);
        // Whoever answers must see all of it, so nothing is left out here.
        self.block(
            Paint::Question,
            &format!("? {} wants to {kind}: ", in_one_line(&call.name, LINE_WIDTH)),
            summary,
            out,
        );
        if self.options.approval_hints {
            let (session, call_id) = (session_id, shell_word(&call.id.0));
            self.line(Paint::Dim, &format!("  ostler approve {session} {call_id}   (or with --deny)"), out);
            let rule = in_one_line(&rule.to_string(), LINE_WIDTH);
            self.line(Paint::Dim, &format!("  --scope session or always allows: {rule}"), out);
        }
        self.last_call = None;
    }

    fn answer(&mut self, text: &str, reason: Option<&str>, out: &mut String) {
        self.line(Paint::Dim, &with_reason(text, reason), out);
    }

    fn verified(&mut self, ok: bool, results: &[CommandResult], out: &mut String) {
        if ok {
            self.line(Paint::Dim, "  ↳ ok", out);
        }
        for failed in results.iter().filter(|result| !ok && result.exit_code != Some(0)) {
            let code = failed.exit_code.map_or("was stopped".to_owned(), |code| format!("exit code {code}"));
            let command = in_one_line(&failed.command, LINE_WIDTH);
            self.line(
                Paint::Warning,
                &format!("  ↳ {command}: {code} ({})", duration(failed.duration_ms)),
                out,
            );
            self.output(&failed.output, out);
        }
    }

    /// What a turn changed, a line for each file.
    fn review(&mut self, files: &[FileChange], more: u64, note: Option<&str>, out: &mut String) {
        for file in files.iter().take(REVIEW_LINES) {
            let from = file.from.as_ref().map_or_else(String::new, |from| format!(" (was {from})"));
            let change = format!("  Δ {}{from}  +{} −{}", file.path, file.added, file.removed);
            self.line(Paint::Tool, &in_one_line(&change, LINE_WIDTH), out);
        }
        let unshown = files.len().saturating_sub(REVIEW_LINES) as u64 + more;
        if unshown > 0 {
            self.line(Paint::Dim, &format!("  Δ and {}", counted(unshown, "more file")), out);
        }
        if let Some(note) = note {
            self.line(Paint::Warning, &format!("  Δ cannot be shown: {note}"), out);
        }
    }

    fn turn_completed(
        &mut self,
        usage: Usage,
        verified: Option<bool>,
        verification: Option<&str>,
        out: &mut String,
    ) {
        let verified = match (verified, verification) {
            (_, Some(said)) => format!(", {said}"),
            (Some(true), None) => ", verified".to_owned(),
            (Some(false), None) => ", not verified".to_owned(),
            (None, None) => String::new(),
        };
        let tokens = format!("{} tokens in, {} out", usage.input_tokens, usage.output_tokens);
        let cost = match usage.cost_usd {
            Some(cost) if cost > Cost::default() => format!(", {}", money(cost)),
            Some(_) | None => String::new(),
        };
        self.line(Paint::Good, &format!("✓ completed{verified} ({tokens}{cost})"), out);
    }

    fn turn_failed(&mut self, error: &Failure, out: &mut String) {
        self.line(Paint::Bad, &with_reason("✗ failed", Some(&error.message)), out);
        if let Some(hint) = &error.hint {
            self.line(Paint::Dim, &format!("  {hint}"), out);
        }
    }

    /// Goes on with streamed text of one kind.
    fn stream(&mut self, kind: StreamKind, text: &str, out: &mut String) {
        let text = sanitize(text);
        if text.is_empty() {
            return;
        }
        if !matches!(self.cursor, CursorState::Stream { kind: open, .. } if open == kind) {
            self.end_stream(out);
            if kind == StreamKind::Reasoning && !self.options.color {
                out.push_str("(thinking) ");
            }
        }
        let paint = match kind {
            StreamKind::Text => Paint::Plain,
            StreamKind::Reasoning => Paint::Dim,
        };
        self.style.push(paint, &text, out);
        self.cursor = CursorState::Stream { kind, ended: text.ends_with('\n') };
        self.last_call = None;
    }

    fn end_stream(&mut self, out: &mut String) {
        if let CursorState::Stream { ended: false, .. } = self.cursor {
            out.push('\n');
        }
        self.cursor = CursorState::Line;
    }

    /// A line of its own. What is not ours in it has been cleaned, or is cleaned here.
    fn line(&mut self, paint: Paint, text: &str, out: &mut String) {
        self.end_stream(out);
        self.style.push(paint, &sanitize(text).replace('\n', " "), out);
        out.push('\n');
    }

    /// Lines with a mark before the first and the others set in below it.
    fn block(&mut self, paint: Paint, mark: &str, text: &str, out: &mut String) {
        let text = sanitize(text);
        for (index, line) in text.trim_end_matches('\n').split('\n').enumerate() {
            let before = if index == 0 { mark } else { "  " };
            self.line(paint, &format!("{before}{line}"), out);
        }
    }
}

/// Whether to draw in colours: on a terminal that has them, for a user who has not said no.
pub fn wants_color(is_terminal: bool, environment: &Environment) -> bool {
    let dumb = environment.get("TERM").is_some_and(|term| term == "dumb");
    is_terminal && !dumb && environment.get("NO_COLOR").is_none()
}
