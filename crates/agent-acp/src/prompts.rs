//! Texts that a third-party agent is sent besides the messages themselves.

/// Continues a turn that has no message of its own.
pub(crate) const CONTINUE: &str = "Continue.";
/// Separates the introduction from the message.
pub(crate) const MESSAGE_FOLLOWS: &str = "The message to answer follows.";
/// Stands where older messages did not fit.
pub(crate) const EARLIER_OMITTED: &str = "[Earlier messages omitted.]";

/// The instructions of the session, for an agent that does not have them.
pub(crate) fn instructions(prompt: &str) -> String {
    format!("Instructions for this session:\n\n{prompt}")
}

/// The conversation so far, for an agent that does not have it.
pub(crate) fn history(lines: &str) -> String {
    format!("This conversation was started with another agent. The conversation so far:\n\n{lines}")
}

/// Stands for a file that is too large.
pub(crate) fn file_too_large(reference: &str, bytes: usize) -> String {
    format!("[{reference} omitted: {bytes} bytes exceed the limit for one prompt.]")
}

/// Stands for a file that cannot be read.
pub(crate) fn file_unreadable(reference: &str, error: &str) -> String {
    format!("[{reference} cannot be read: {error}.]")
}
