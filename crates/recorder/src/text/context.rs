//! `context.md`: the conversation for people to read, under one heading for each message.

use jiff::Timestamp;
use ostler_types::{
    AgentEvent, CallEvent, Compaction, Event, Message, MessageEvent, Record, Role, SessionEvent, ToolCall,
    ToolResult, TurnEvent, printable,
};

use super::{day_and_time, time_of_day};
use crate::plain_text::{message_text, result_text};

/// Characters of a tool's output that are shown.
const MAX_OUTPUT: usize = 2000;

/// Adds what a record says to the page.
pub(crate) fn write(record: &Record, page: &mut String) {
    match &record.event {
        Event::Session(SessionEvent::Created { session }) => {
            add(
                page,
                format_args!("# Session Log\n\nStarted: {}\n\n---\n\n", day_and_time(session.created_at)),
            );
            if let Some(prompt) = &session.system_prompt {
                add(page, format_args!("## System\n\n{}\n\n---\n\n", prompt.trim_end()));
            }
        }
        Event::Message(MessageEvent::Added { message, .. })
        | Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
            write_message(message, page);
        }
        Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
            write_result(&tool_call.name, tool_result, page);
        }
        Event::Agent(AgentEvent::ContextCompacted { compaction }) => {
            write_compaction(record.ts, compaction, page)
        }
        Event::Turn(TurnEvent::Failed { error, .. }) => {
            add(page, format_args!("> Turn failed: {}\n\n", one_line(&error.message)));
        }
        Event::Turn(TurnEvent::Canceled { by, .. }) => {
            add(page, format_args!("> Turn canceled by {}\n\n", one_line(by)))
        }
        Event::Session(
            SessionEvent::Updated { .. }
            | SessionEvent::Completed { .. }
            | SessionEvent::Failed { .. }
            | SessionEvent::Canceled { .. },
        )
        | Event::Message(MessageEvent::Queued { .. } | MessageEvent::Withdrawn { .. })
        | Event::Turn(TurnEvent::Started { .. } | TurnEvent::Retried { .. } | TurnEvent::Completed { .. })
        | Event::Step(_)
        | Event::Batch(_)
        | Event::Call(CallEvent::Started { .. })
        | Event::Approval(_)
        | Event::Workspace(_)
        | Event::Agent(AgentEvent::Updated { .. })
        | Event::Child(_) => {}
    }
}

fn write_message(message: &Message, page: &mut String) {
    let text = message_text(message);
    let at = time_of_day(message.created_at);
    match message.role {
        Role::System => add(page, format_args!("## System\n\n{}\n\n---\n\n", text.trim_end())),
        Role::User => add(page, format_args!("## User [{at}]\n\n{}\n\n", text.trim_end())),
        Role::Assistant => add(page, format_args!("## Assistant [{at}]\n\n")),
        Role::Tool => add(page, format_args!("## Tool [{at}]\n\n{}\n\n", text.trim_end())),
    }
    if message.role != Role::Assistant {
        return;
    }
    if !text.is_empty() {
        add(page, format_args!("{}\n\n", text.trim_end()));
    }
    let mut calls = message.tool_calls().peekable();
    if calls.peek().is_some() {
        page.push_str("### Tool Calls\n\n");
    }
    calls.for_each(|call| write_call(call, page));
}

fn write_call(call: &ToolCall, page: &mut String) {
    let input = serde_json::to_string_pretty(&call.input).expect("a value is JSON");
    let fence = fence(&input);
    add(page, format_args!("**{}**\n{fence}json\n{input}\n{fence}\n\n", one_line(&call.name)));
}

fn write_result(name: &str, result: &ToolResult, page: &mut String) {
    let word = if result.ok { "success" } else { "error" };
    let text = result_text(result);
    let (shown, note) = match text.char_indices().nth(MAX_OUTPUT) {
        Some((end, _)) => {
            let more = text[end..].chars().count();
            (&text[..end], format!("\n… {more} more characters in session.db"))
        }
        None => (text.trim_end_matches('\n'), String::new()),
    };
    let fence = fence(shown);
    add(
        page,
        format_args!("### Tool Result: {} ({word})\n\n{fence}\n{shown}{note}\n{fence}\n\n", one_line(name)),
    );
}

fn write_compaction(at: Timestamp, compaction: &Compaction, page: &mut String) {
    let (at, before, after) = (time_of_day(at), compaction.tokens_before, compaction.tokens_after);
    if let Some(summary) = &compaction.summary {
        let text = message_text(summary);
        add(page, format_args!("## Summary [{at}]\n\n{}\n\n", text.trim_end()));
    }
    let pruned = match compaction.pruned.len() {
        0 => String::new(),
        1 => "; the output of 1 call is left out".to_owned(),
        count => format!("; the output of {count} calls is left out"),
    };
    add(page, format_args!("> Context compacted: about {before} tokens became {after}{pruned}\n\n---\n\n"));
}

/// A fence longer than any in the text, so that nothing inside ends the block.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The page is read in terminals and editors: nothing in it may drive them, or hide from the reader.
fn add(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.push_str(&printable(&text.to_string()));
}
