//! The system prompt: how to work, and what the owner added. It stays the same for a whole session, so that
//! providers can cache it; what changes goes into context messages.

use crate::prompts;

/// What a system prompt is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemPrompt<'a> {
    /// The directory that the session works in.
    pub workspace: &'a str,
    /// What the session's agent, such as a named sub-agent, is told about its part.
    pub agent_prompt: Option<&'a str>,
    /// What whoever made the session added.
    pub session_prompt: Option<&'a str>,
    /// The name of the tool that reads skills, where there is one.
    pub skill_tool: Option<&'a str>,
}

/// The system prompt: how to work, then the agent's part, then the session's own words, which come last
/// because they hold most.
pub fn system_prompt(prompt: &SystemPrompt<'_>) -> String {
    let mut text = prompts::SYSTEM.trim_end().replace("{workspace}", prompt.workspace);
    if let Some(tool) = prompt.skill_tool {
        text.push('\n');
        text.push_str(prompts::SKILLS.trim_end().replace("{tool}", tool).as_str());
    }
    for own in [prompt.agent_prompt, prompt.session_prompt].into_iter().flatten() {
        if !own.trim().is_empty() {
            text.push_str("\n\n");
            text.push_str(own.trim());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SystemPrompt, system_prompt};

    #[test]
    fn the_owner_has_the_last_word() {
        let plain = system_prompt(&SystemPrompt { workspace: "/w", ..SystemPrompt::default() });
        assert!(plain.contains("/w") && !plain.contains('{') && !plain.contains("Skills"), "{plain}");
        let full = system_prompt(&SystemPrompt {
            workspace: "/w",
            agent_prompt: Some("review only\n"),
            session_prompt: Some(" speak French "),
            skill_tool: Some("skill"),
        });
        assert!(full.ends_with("\n\nreview only\n\nspeak French"), "{full}");
        assert!(full.contains("`skill`"));
        let blank = system_prompt(&SystemPrompt {
            session_prompt: Some("  "),
            workspace: "/w",
            ..SystemPrompt::default()
        });
        assert_eq!(blank, plain);
    }
}
