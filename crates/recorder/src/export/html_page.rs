//! The HTML page of a session: one file that needs nothing beside it and does nothing but show.
//!
//! It has no script, and its policy forbids a browser to fetch or run anything, whatever a session may contain.

mod card;

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ostler_types::{
    AgentEvent, ApprovalEvent, CallEvent, ChildEvent, Compaction, Event, FileChange, Message, MessageEvent,
    Part, Record, Role, Session, SessionEvent, StepEvent, ToolCall, TurnEvent, Usage, WorkspaceEvent,
};
use sha2::{Digest, Sha256};

use super::html::{DiffBlock, EscapedHtml, MarkdownBlock, PictureEmbedder};
use super::session_files::SessionFiles;

const STYLE: &str = include_str!("page.css");

/// Writes the page. `session` is what it is called and how it stands now; `files` has its pictures.
pub fn write_html(
    session: &Session,
    files: &dyn SessionFiles,
    records: impl IntoIterator<Item = io::Result<Record>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = HtmlPage { out, pictures: PictureEmbedder::new(files), calls: Vec::new() };
    page.write_head(session)?;
    for record in records {
        page.write_record(&record?)?;
    }
    page.write_open_calls()?;
    page.write_foot(&session.usage)
}

struct HtmlPage<'a> {
    out: &'a mut dyn Write,
    pictures: PictureEmbedder<'a>,
    /// The calls of the last message that have no result yet. A message has a bounded number of them.
    calls: Vec<ToolCall>,
}

impl HtmlPage<'_> {
    fn write_head(&mut self, session: &Session) -> io::Result<()> {
        let title = session.title.as_deref().unwrap_or("Session");
        let sum = STANDARD.encode(Sha256::digest(STYLE));
        let (title, day) = (EscapedHtml(title), session.created_at.strftime("%Y-%m-%d %H:%M UTC"));
        write!(
            self.out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
             style-src 'sha256-{sum}'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<header class=\"head\">\n<h1>{title}</h1>\n<dl>\n"
        )?;
        for (name, value) in [
            ("Started", day.to_string().as_str()),
            ("Model", &session.model),
            ("Workspace", &session.workspace_path),
            ("Session", &session.id.to_string()),
        ] {
            writeln!(self.out, "<dt>{name}</dt><dd>{}</dd>", EscapedHtml(value))?;
        }
        writeln!(self.out, "</dl>\n</header>")
    }

    fn write_record(&mut self, record: &Record) -> io::Result<()> {
        match &record.event {
            Event::Session(SessionEvent::Created { session }) => match &session.system_prompt {
                Some(prompt) => self.write_folded("quiet", "Instructions", prompt),
                None => Ok(()),
            },
            Event::Message(MessageEvent::Added { message, .. })
            | Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                self.write_message(message)
            }
            Event::Call(CallEvent::Completed { tool_call, tool_result, duration_ms, .. }) => {
                let at = self.calls.iter().position(|call| call.id == tool_call.id);
                let call = at.map(|at| self.calls.remove(at));
                let input = call.as_ref().map(|call| &call.input);
                self.write_card(&tool_call.name, input, Some((tool_result, *duration_ms)))
            }
            Event::Agent(AgentEvent::ContextCompacted { compaction }) => self.write_compaction(compaction),
            Event::Workspace(WorkspaceEvent::PatchReviewRequested { files, .. }) => self.write_changes(files),
            Event::Workspace(WorkspaceEvent::VerificationCompleted { ok, results, .. }) => {
                self.write_checks(*ok, results)
            }
            Event::Session(
                SessionEvent::Updated { .. }
                | SessionEvent::Completed { .. }
                | SessionEvent::Failed { .. }
                | SessionEvent::Canceled { .. },
            )
            | Event::Message(MessageEvent::Queued { .. } | MessageEvent::Withdrawn { .. })
            | Event::Turn(_)
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Call(CallEvent::Started { .. })
            | Event::Approval(_)
            | Event::Workspace(
                WorkspaceEvent::CheckpointCreated { .. }
                | WorkspaceEvent::CheckpointFailed { .. }
                | WorkspaceEvent::VerificationStarted { .. },
            )
            | Event::Agent(AgentEvent::Updated { .. })
            | Event::Child(_) => self.write_note(record),
        }
    }

    /// What takes no more than a line.
    fn write_note(&mut self, record: &Record) -> io::Result<()> {
        let (class, text) = match &record.event {
            Event::Approval(ApprovalEvent::Granted { tool, by, .. }) => {
                ("note", format!("{by} approved {tool}"))
            }
            Event::Approval(ApprovalEvent::Denied { tool, by, reason, .. }) => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                ("note", format!("{by} denied {tool}{reason}"))
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => {
                self.write_open_calls()?;
                ("note failed", format!("The turn failed: {}", error.message))
            }
            Event::Turn(TurnEvent::Canceled { by, .. }) => {
                self.write_open_calls()?;
                ("note failed", format!("{by} canceled the turn"))
            }
            Event::Turn(TurnEvent::Completed { .. }) => return self.write_open_calls(),
            Event::Child(ChildEvent::Started { description, .. }) => {
                ("note", format!("A session was started for: {description}"))
            }
            Event::Workspace(WorkspaceEvent::CheckpointFailed { reason, .. }) => {
                ("note", format!("The workspace could not be captured: {reason}"))
            }
            Event::Step(StepEvent::ModelResolved { resolution }) => {
                ("note", format!("The model is {}", resolution.model))
            }
            Event::Session(_)
            | Event::Message(_)
            | Event::Turn(TurnEvent::Started { .. } | TurnEvent::Retried { .. })
            | Event::Step(
                StepEvent::ModelWaiting { .. }
                | StepEvent::UsageRecorded { .. }
                | StepEvent::ReasoningCompleted { .. },
            )
            | Event::Batch(_)
            | Event::Call(_)
            | Event::Approval(ApprovalEvent::Requested { .. })
            | Event::Workspace(
                WorkspaceEvent::CheckpointCreated { .. }
                | WorkspaceEvent::PatchReviewRequested { .. }
                | WorkspaceEvent::VerificationStarted { .. }
                | WorkspaceEvent::VerificationCompleted { .. },
            )
            | Event::Agent(_)
            | Event::Child(ChildEvent::Completed { .. }) => return Ok(()),
        };
        writeln!(self.out, "<p class=\"{class}\">{}</p>", EscapedHtml(&text))
    }

    fn write_message(&mut self, message: &Message) -> io::Result<()> {
        if message.role == Role::System {
            return self.write_folded("quiet", "Instructions", &message.text());
        }
        self.write_open_calls()?;
        let (class, who) = match message.role {
            Role::User => ("user", "User"),
            Role::Assistant | Role::System => ("assistant", "Assistant"),
            Role::Tool => ("tool", "Tool"),
        };
        let at = time(message.created_at);
        writeln!(self.out, "<section class=\"{class}\">\n<h2>{who} {at}</h2>")?;
        for part in &message.parts {
            self.write_part(message.role, part)?;
        }
        writeln!(self.out, "</section>")
    }

    fn write_part(&mut self, role: Role, part: &Part) -> io::Result<()> {
        match part {
            Part::Text { text } if role == Role::User => {
                writeln!(self.out, "<p class=\"plain\">{}</p>", EscapedHtml(text.trim_end()))
            }
            Part::Text { text } => write!(self.out, "{}", MarkdownBlock(text)),
            Part::ToolResult { text, .. } => writeln!(self.out, "<pre>{}</pre>", EscapedHtml(text)),
            Part::Reasoning { text, .. } if text.is_empty() => Ok(()),
            Part::Reasoning { text, .. } => self.write_folded("thinking", "Thinking", text),
            Part::Image { reference, mime_type } => self.pictures.write(reference, mime_type, self.out),
            Part::Audio { reference, .. } | Part::File { reference, .. } => {
                writeln!(self.out, "<p class=\"file-name\">{}</p>", EscapedHtml(reference))
            }
            Part::ToolCall { call } => {
                self.calls.push(call.clone());
                Ok(())
            }
        }
    }

    /// The calls that never got a result: what was under way when the log ends.
    fn write_open_calls(&mut self) -> io::Result<()> {
        for call in std::mem::take(&mut self.calls) {
            self.write_card(&call.name, Some(&call.input), None)?;
        }
        Ok(())
    }

    fn write_compaction(&mut self, compaction: &Compaction) -> io::Result<()> {
        let (before, after) = (compaction.tokens_before, compaction.tokens_after);
        writeln!(
            self.out,
            "<hr>\n<p class=\"note\">Earlier messages were summarised: about {before} tokens became {after}.</p>"
        )?;
        match &compaction.summary {
            Some(summary) => self.write_folded("quiet", "Summary", &summary.text()),
            None => Ok(()),
        }
    }

    fn write_changes(&mut self, files: &[FileChange]) -> io::Result<()> {
        for file in files {
            let (path, added, removed) = (EscapedHtml(&file.path), file.added, file.removed);
            writeln!(
                self.out,
                "<details>\n<summary><span class=\"tool\">Changed</span><span class=\"subject\">{path}</span>\
                 <span class=\"took\">+{added} −{removed}</span></summary>\n<div class=\"inside\">"
            )?;
            write!(self.out, "{}", DiffBlock(file.diff.as_deref().unwrap_or_default()))?;
            writeln!(self.out, "</div>\n</details>")?;
        }
        Ok(())
    }

    fn write_folded(&mut self, class: &str, label: &str, text: &str) -> io::Result<()> {
        writeln!(
            self.out,
            "<details class=\"{class}\">\n<summary>{label}</summary>\n<div class=\"inside\">\n{}</div>\n</details>",
            MarkdownBlock(text)
        )
    }

    fn write_foot(&mut self, usage: &Usage) -> io::Result<()> {
        let (sent, written) = (usage.input_tokens, usage.output_tokens);
        let tokens = if sent + written > 0 {
            format!("{sent} tokens sent, {written} written · ")
        } else {
            String::new()
        };
        writeln!(self.out, "<footer>{tokens}exported by Ostler</footer>\n</main>\n</body>\n</html>")
    }
}

fn time(at: Timestamp) -> String {
    format!("<time datetime=\"{at}\">{}</time>", at.strftime("%H:%M:%S"))
}
