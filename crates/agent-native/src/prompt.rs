//! What the model is told before anything else.

use ostler_types::Session;

/// The system prompt of a session: how to work, and what its owner added.
pub(crate) fn system(session: &Session) -> String {
    let base = format!(
        "You are a coding agent. You work in the directory {}. Use the tools to look before you change \
         anything, keep changes small, and say plainly what you did and what you could not do.",
        session.workspace_path
    );
    match &session.system_prompt {
        Some(own) => format!("{base}\n\n{own}"),
        None => base,
    }
}
