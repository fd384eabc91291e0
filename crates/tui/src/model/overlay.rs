//! What can lie over everything: a list to pick from, a page to read, a question of our own.

use ostler_api_types::UndoTurn;
use ostler_types::{MessageId, SessionId};

/// What lies over everything.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// A list to pick from.
    Picker(Picker),
    /// A page to read.
    Page {
        /// What it is about.
        title: String,
        /// Its lines.
        lines: Vec<String>,
        /// How far it is scrolled.
        scroll: usize,
    },
    /// Whether to bring the workspace back.
    Undo {
        /// The session.
        id: SessionId,
        /// What would be done.
        undo: UndoTurn,
        /// The same in lines.
        lines: Vec<String>,
        /// How far they are scrolled.
        scroll: usize,
    },
    /// What to look for in the transcript.
    Find,
    /// What waits in the session that is looked at.
    Queue {
        /// The message that is chosen.
        chosen: MessageId,
    },
}

/// A list to pick from.
#[derive(Debug, Clone, PartialEq)]
pub struct Picker {
    /// What is picked.
    pub kind: PickerKind,
    /// What was typed to make the list shorter.
    pub query: String,
    /// All there is.
    pub items: Vec<PickerItem>,
    /// Which of those that match is chosen.
    pub selected: usize,
    /// Whether more is on its way.
    pub loading: bool,
}

/// What is picked from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerKind {
    /// A session to look at.
    Session,
    /// A session in which something was said.
    Found,
    /// A model.
    Model,
    /// An agent for the next session.
    Agent,
    /// A setting of the session's agent, and then how.
    Mode,
    /// A theme.
    Theme,
    /// A command.
    Command,
}

/// Something to pick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerItem {
    /// What is picked.
    pub value: String,
    /// What is shown.
    pub label: String,
    /// What is shown beside it.
    pub detail: String,
}

impl Picker {
    /// A list of which everything is shown.
    pub fn new(picking: PickerKind, items: Vec<PickerItem>) -> Picker {
        Picker { kind: picking, query: String::new(), items, selected: 0, loading: false }
    }

    /// What matches the query: all of its letters, in their order. The better ones come first.
    pub fn matches(&self) -> Vec<&PickerItem> {
        let mut found: Vec<(u32, &PickerItem)> = self
            .items
            .iter()
            .filter_map(|item| {
                Some((match_score(&format!("{} {}", item.label, item.detail), &self.query)?, item))
            })
            .collect();
        found.sort_by_key(|(score, _)| *score);
        found.into_iter().map(|(_, item)| item).collect()
    }

    /// What is chosen.
    pub fn chosen(&self) -> Option<PickerItem> {
        self.matches().get(self.selected).map(|choice| (*choice).clone())
    }
}

/// How badly a text matches a query: its letters may have others between them, which costs. None if it does not.
pub(crate) fn match_score(text: &str, query: &str) -> Option<u32> {
    let (text, query) = (text.to_lowercase(), query.to_lowercase());
    if query.is_empty() {
        return Some(0);
    }
    if let Some(at) = text.find(&query) {
        return Some(u32::try_from(at).unwrap_or(u32::MAX).min(500));
    }
    let (mut cost, mut letters) = (1000, text.chars());
    for wanted in query.chars().filter(|c| !c.is_whitespace()) {
        let skipped = letters.by_ref().position(|c| c == wanted)?;
        cost += u32::try_from(skipped).unwrap_or(u32::MAX).min(1000);
    }
    Some(cost)
}
