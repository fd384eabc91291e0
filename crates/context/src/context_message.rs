//! What is gathered for a model, and how it reads as the text of one message. What goes into it is for
//! `gather` to say.
//!
//! The text carries on its second line what it shows, so that a later turn can tell from the conversation
//! alone what the model already knows: there is no other memory of it, and a compaction that drops the
//! message makes everything new again.

use std::sync::Arc;

use ostler_runner::ShownContext;
use ostler_types::{Message, Part, Role};

use crate::prompts::{CONTEXT_HEADINGS, SECTION_HEADINGS, strip_heading};
use crate::tokens::text_tokens;

const SHOWN_PREFIX: &str = "Shown: ";

/// What is gathered, in the order in which it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextMessage {
    /// The sections; none that is empty.
    pub sections: Vec<GatheredSection>,
    /// What these sections show.
    pub shown: ShownContext,
}

/// One piece of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatheredSection {
    /// What it is about.
    pub kind: GatheredSectionKind,
    /// Its heading.
    pub name: String,
    /// The text beneath it.
    pub text: String,
    /// How many tokens it takes, about, the heading included.
    pub tokens: u64,
}

/// What a section is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GatheredSectionKind {
    /// What the workspace asks of whoever works in it.
    Instructions,
    /// What is where, and how the repository stands.
    Repository,
    /// Pieces of files that matter for the prompt.
    Files,
    /// Skills that can be read.
    Skills,
}

impl ContextMessage {
    /// The text of the message; none where there is nothing to show.
    pub fn text(&self) -> Option<String> {
        if self.sections.is_empty() {
            return None;
        }
        let shown = serde_json::to_string(&self.shown).expect("names and digests can be written");
        let mut text = format!("{}\n{SHOWN_PREFIX}{shown}\n", CONTEXT_HEADINGS[0]);
        for section in &self.sections {
            text.push_str(&format!("\n# {}\n{}\n", section.name, section.text.trim_end()));
        }
        Some(text)
    }

    /// How many tokens the sections take, about.
    pub fn tokens(&self) -> u64 {
        self.sections.iter().map(|section| section.tokens).sum()
    }

    /// Adds a section, if it has any text.
    pub fn push(&mut self, kind: GatheredSectionKind, name: impl Into<String>, text: String) {
        if text.trim().is_empty() {
            return;
        }
        let name = name.into();
        let tokens = text_tokens(&name) + text_tokens(&text) + 2;
        self.sections.push(GatheredSection { kind, name, text, tokens });
    }
}

/// What a conversation shows, by the bundles in it; the later ones count.
pub fn shown_context(messages: &[Arc<Message>]) -> ShownContext {
    let mut all = ShownContext::default();
    let systems = messages.iter().filter(|message| message.role == Role::System);
    for shown in systems.flat_map(|message| &message.parts).filter_map(shown_by_part) {
        all.instructions.extend(shown.instructions);
        all.skills.extend(shown.skills);
        all.repository |= shown.repository;
        all.awaits_git = shown.awaits_git.or(all.awaits_git);
    }
    all
}

/// The sections of a message that shows a bundle, each with the tokens that it takes, about; none for any other
/// message. Read back from the text, in which a file that is shown may have headings of its own.
pub fn section_sizes(message: &Message) -> Option<Vec<(String, u64)>> {
    let text = match message.parts.as_slice() {
        [Part::Text { text }] if message.role == Role::System => strip_heading(text, &CONTEXT_HEADINGS)?,
        _ => return None,
    };
    let mut sections: Vec<(String, u64)> = Vec::new();
    for piece in text.split("\n\n# ").skip(1) {
        let name = piece.lines().next().unwrap_or_default();
        let tokens = text_tokens(piece) + 2;
        match sections.last_mut() {
            Some((_, sum)) if !SECTION_HEADINGS.iter().any(|known| name.starts_with(known)) => *sum += tokens,
            _ => sections.push((name.to_owned(), tokens)),
        }
    }
    Some(sections)
}

fn shown_by_part(part: &Part) -> Option<ShownContext> {
    let Part::Text { text } = part else { return None };
    let rest = strip_heading(text, &CONTEXT_HEADINGS)?.strip_prefix('\n')?;
    serde_json::from_str(rest.lines().next()?.strip_prefix(SHOWN_PREFIX)?).ok()
}

#[cfg(test)]
mod tests {
    use ostler_types::{Message, MessageId, Part, Role};

    use super::{CONTEXT_HEADINGS, ContextMessage, GatheredSectionKind, section_sizes, shown_context};

    #[test]
    fn the_sections_of_a_message_are_those_of_its_bundle() {
        let mut bundle = ContextMessage::default();
        let file = "before\n\n# A heading of its own\n\nafter\n".to_owned();
        bundle.push(GatheredSectionKind::Instructions, "Instructions from AGENTS.md (everywhere)", file);
        bundle.push(GatheredSectionKind::Repository, "Workspace files", "src/\n".to_owned());
        let message = |role, text: String| Message {
            id: MessageId::new(uuid::Uuid::nil()),
            role,
            parts: vec![Part::text(text)],
            created_at: jiff::Timestamp::UNIX_EPOCH,
        };
        let text = bundle.text().unwrap();
        let sections = section_sizes(&message(Role::System, text.clone())).unwrap();
        let names: Vec<&str> = sections.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Instructions from AGENTS.md (everywhere)", "Workspace files"]);
        for (section, (_, tokens)) in bundle.sections.iter().zip(&sections) {
            assert!(section.tokens.abs_diff(*tokens) <= 6, "{sections:?}");
        }
        let old_text = text.replace(CONTEXT_HEADINGS[0], CONTEXT_HEADINGS[1]);
        let old_text = old_text.replace("Instructions from", "Instructions of");
        let old_text = old_text.replace("Workspace files", "Files of the workspace");
        let old = section_sizes(&message(Role::System, old_text)).unwrap();
        assert_eq!(old.len(), 2, "logs with the wording of earlier versions keep their sections: {old:?}");
        assert_eq!(section_sizes(&message(Role::User, text)), None);
        assert_eq!(section_sizes(&message(Role::System, "a note".to_owned())), None);
    }

    #[test]
    fn what_a_log_of_an_earlier_version_shows_is_not_shown_again() {
        let mut bundle = ContextMessage::default();
        bundle.shown.instructions.insert("AGENTS.md".to_owned(), "0".to_owned());
        bundle.push(GatheredSectionKind::Instructions, "Instructions from AGENTS.md", "be brief".to_owned());
        for heading in CONTEXT_HEADINGS {
            let text = bundle.text().unwrap().replace(CONTEXT_HEADINGS[0], heading);
            let message = Message {
                id: MessageId::new(uuid::Uuid::nil()),
                role: Role::System,
                parts: vec![Part::text(text)],
                created_at: jiff::Timestamp::UNIX_EPOCH,
            };
            assert_eq!(shown_context(&[message.into()]), bundle.shown, "{heading}");
        }
    }
}
