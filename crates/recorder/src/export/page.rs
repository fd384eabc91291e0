//! The HTML page of a session: one file that needs nothing beside it and does nothing but show.
//!
//! It has no script, and its policy forbids a browser to fetch or run anything, whatever a session may contain.

mod card;

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ostler_types::{Compaction, Event, FileChange, Message, Part, Record, Role, Session, ToolCall, Usage};
use sha2::{Digest, Sha256};

use super::html::{Diff, Escaped, Pictures, Prose};
use super::session_files::SessionFiles;

const STYLE: &str = include_str!("page.css");

/// Writes the page. `session` is what it is called and how it stands now; `files` has its pictures.
pub fn write_html(
    session: &Session,
    files: &dyn SessionFiles,
    records: impl IntoIterator<Item = io::Result<Record>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { out, pictures: Pictures::new(files), calls: Vec::new() };
    page.write_head(session)?;
    for record in records {
        page.write_record(&record?)?;
    }
    page.write_open_calls()?;
    page.write_foot(&session.usage)
}

struct Page<'a> {
    out: &'a mut dyn Write,
    pictures: Pictures<'a>,
    /// The calls of the last message that have no result yet. A message has a bounded number of them.
    calls: Vec<ToolCall>,
}

impl Page<'_> {
    fn write_head(&mut self, session: &Session) -> io::Result<()> {
        let title = session.title.as_deref().unwrap_or("Session");
        let sum = STANDARD.encode(Sha256::digest(STYLE));
        let (title, day) = (Escaped(title), session.created_at.strftime("%Y-%m-%d %H:%M UTC"));
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
            writeln!(self.out, "<dt>{name}</dt><dd>{}</dd>", Escaped(value))?;
        }
        writeln!(self.out, "</dl>\n</header>")
    }

    fn write_record(&mut self, record: &Record) -> io::Result<()> {
        match &record.event {
            Event::SessionCreated { session } => match &session.system_prompt {
                Some(prompt) => self.write_folded("quiet", "Instructions", prompt),
                None => Ok(()),
            },
            Event::MessageAdded { message, .. } | Event::ModelOutputCompleted { message, .. } => {
                self.write_message(message)
            }
            Event::ToolCallCompleted { tool_call, tool_result, duration_ms, .. } => {
                let at = self.calls.iter().position(|call| call.id == tool_call.id);
                let call = at.map(|at| self.calls.remove(at));
                let input = call.as_ref().map(|call| &call.input);
                self.write_card(&tool_call.name, input, Some((tool_result, *duration_ms)))
            }
            Event::ContextCompacted { compaction } => self.write_compaction(compaction),
            Event::PatchReviewRequested { files, .. } => self.write_changes(files),
            Event::VerificationCompleted { ok, results, .. } => self.write_checks(*ok, results),
            Event::SessionUpdated { .. }
            | Event::SessionCompleted { .. }
            | Event::SessionFailed { .. }
            | Event::SessionCanceled { .. }
            | Event::MessageQueued { .. }
            | Event::MessageWithdrawn { .. }
            | Event::TurnStarted { .. }
            | Event::TurnRetried { .. }
            | Event::TurnCompleted { .. }
            | Event::TurnFailed { .. }
            | Event::TurnCanceled { .. }
            | Event::ModelResolved { .. }
            | Event::ModelWaiting { .. }
            | Event::UsageRecorded { .. }
            | Event::ReasoningCompleted { .. }
            | Event::ToolBatchStarted { .. }
            | Event::ToolBatchHalted { .. }
            | Event::ToolBatchCompleted { .. }
            | Event::ToolCallStarted { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalGranted { .. }
            | Event::ApprovalDenied { .. }
            | Event::CheckpointCreated { .. }
            | Event::CheckpointFailed { .. }
            | Event::VerificationStarted { .. }
            | Event::AgentUpdated { .. }
            | Event::SubagentStarted { .. }
            | Event::SubagentCompleted { .. } => self.write_note(record),
        }
    }

    /// What takes no more than a line.
    fn write_note(&mut self, record: &Record) -> io::Result<()> {
        let (class, text) = match &record.event {
            Event::ApprovalGranted { tool, by, .. } => ("note", format!("{by} approved {tool}")),
            Event::ApprovalDenied { tool, by, reason, .. } => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                ("note", format!("{by} denied {tool}{reason}"))
            }
            Event::TurnFailed { error, .. } => {
                self.write_open_calls()?;
                ("note failed", format!("The turn failed: {}", error.message))
            }
            Event::TurnCanceled { by, .. } => {
                self.write_open_calls()?;
                ("note failed", format!("{by} canceled the turn"))
            }
            Event::TurnCompleted { .. } => return self.write_open_calls(),
            Event::SubagentStarted { description, .. } => {
                ("note", format!("A session was started for: {description}"))
            }
            Event::CheckpointFailed { reason, .. } => {
                ("note", format!("The workspace could not be captured: {reason}"))
            }
            Event::ModelResolved { resolution } => ("note", format!("The model is {}", resolution.model)),
            Event::SessionCreated { .. }
            | Event::SessionUpdated { .. }
            | Event::SessionCompleted { .. }
            | Event::SessionFailed { .. }
            | Event::SessionCanceled { .. }
            | Event::MessageAdded { .. }
            | Event::MessageQueued { .. }
            | Event::MessageWithdrawn { .. }
            | Event::TurnStarted { .. }
            | Event::TurnRetried { .. }
            | Event::ModelWaiting { .. }
            | Event::UsageRecorded { .. }
            | Event::ReasoningCompleted { .. }
            | Event::ModelOutputCompleted { .. }
            | Event::ToolBatchStarted { .. }
            | Event::ToolBatchHalted { .. }
            | Event::ToolBatchCompleted { .. }
            | Event::ToolCallStarted { .. }
            | Event::ToolCallCompleted { .. }
            | Event::ApprovalRequested { .. }
            | Event::CheckpointCreated { .. }
            | Event::PatchReviewRequested { .. }
            | Event::VerificationStarted { .. }
            | Event::VerificationCompleted { .. }
            | Event::ContextCompacted { .. }
            | Event::AgentUpdated { .. }
            | Event::SubagentCompleted { .. } => return Ok(()),
        };
        writeln!(self.out, "<p class=\"{class}\">{}</p>", Escaped(&text))
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
                writeln!(self.out, "<p class=\"plain\">{}</p>", Escaped(text.trim_end()))
            }
            Part::Text { text } => write!(self.out, "{}", Prose(text)),
            Part::ToolResult { text, .. } => writeln!(self.out, "<pre>{}</pre>", Escaped(text)),
            Part::Reasoning { text, .. } if text.is_empty() => Ok(()),
            Part::Reasoning { text, .. } => self.write_folded("thinking", "Thinking", text),
            Part::Image { reference, mime_type } => self.pictures.write(reference, mime_type, self.out),
            Part::Audio { reference, .. } | Part::File { reference, .. } => {
                writeln!(self.out, "<p class=\"file-name\">{}</p>", Escaped(reference))
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
            let (path, added, removed) = (Escaped(&file.path), file.added, file.removed);
            writeln!(
                self.out,
                "<details>\n<summary><span class=\"tool\">Changed</span><span class=\"subject\">{path}</span>\
                 <span class=\"took\">+{added} −{removed}</span></summary>\n<div class=\"inside\">"
            )?;
            write!(self.out, "{}", Diff(file.diff.as_deref().unwrap_or_default()))?;
            writeln!(self.out, "</div>\n</details>")?;
        }
        Ok(())
    }

    fn write_folded(&mut self, class: &str, label: &str, text: &str) -> io::Result<()> {
        writeln!(
            self.out,
            "<details class=\"{class}\">\n<summary>{label}</summary>\n<div class=\"inside\">\n{}</div>\n</details>",
            Prose(text)
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
