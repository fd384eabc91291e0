//! Texts that a model reads: the system prompt, the request for a summary, and the headings of the messages that are
//! added to a conversation. Old logs hold the headings of earlier versions, which are recognized for good.

/// The system prompt. `{workspace}` stands for the working directory.
pub(crate) const SYSTEM: &str = include_str!("prompts/system.md");
/// Follows the system prompt where there are skills. `{tool}` stands for the tool that loads them.
pub(crate) const SKILLS: &str = include_str!("prompts/skills.md");
/// Asks for a summary of the transcript that follows. `{max_words}` stands for its length.
pub(crate) const SUMMARY_REQUEST: &str = include_str!("prompts/summary_request.md");

/// The first line of a summary, the current wording first.
pub(crate) const SUMMARY_HEADINGS: [&str; 2] = [
    "[Summary of the conversation so far. The original messages are in the session's log.]",
    "[Summary of the conversation so far; what it was made from is still in the session's log.]",
];
/// The heading of the user's messages in a summary, the current wording first.
pub(crate) const USER_MESSAGES_HEADINGS: [&str; 2] =
    ["## User messages, newest first", "## What the user said, the newest first"];
/// The first line of a context message, the current wording first.
pub(crate) const CONTEXT_HEADINGS: [&str; 2] = [
    "[Workspace context, added automatically by Ostler. The user did not write this.]",
    "[Ostler gathered this about the workspace; nobody typed it.]",
];
/// Beginnings of the headings of sections in a context message, those of earlier versions included.
pub(crate) const SECTION_HEADINGS: [&str; 11] = [
    "Instructions from ",
    "Workspace files",
    "Key definitions",
    "Git status",
    "Possibly relevant files",
    "Skills",
    "Instructions of ",
    "Files of the workspace",
    "Definitions that matter most",
    "State of the git repository",
    "Files that may matter for this prompt",
];

/// A text without its first line, if that is one of `headings`.
pub(crate) fn strip_heading<'a>(text: &'a str, headings: &[&str]) -> Option<&'a str> {
    headings.iter().find_map(|heading| text.strip_prefix(heading))
}

/// Ends the list of user messages where older ones did not fit.
pub(crate) fn omitted_user_messages(count: usize) -> String {
    format!("\n- [… and {count} older messages, which are in the session's log]")
}

/// Asks a summary to keep what the user named.
pub(crate) fn summary_focus(focus: &str) -> String {
    format!("\nThe user asked that the summary focus on: {focus}\n")
}

/// Begins a transcript that did not fit.
pub(crate) fn omitted_transcript_messages(count: usize) -> String {
    format!("[{count} earlier messages omitted]\n")
}
