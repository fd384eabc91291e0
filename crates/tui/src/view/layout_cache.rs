//! What was laid out of a transcript, kept until it changes. Of text that streams only the end is laid out anew.

use std::collections::HashMap;

use ostler_types::SessionId;
use ratatui::text::Line;

use super::entries;
use crate::model::PictureRegistry;
use crate::picture::ShownPicture;
use crate::text::markdown;
use crate::theme::Theme;
use crate::transcript::{EntryKind, TranscriptEntry};

/// How many entries are kept beyond those on the screen.
const MAX_CACHED_ENTRIES: usize = 256;

/// Entries as lines, by their key.
#[derive(Debug, Default)]
pub(crate) struct LayoutCache {
    layouts: HashMap<u64, CachedLayout>,
    for_cells: usize,
    for_theme: Option<Theme>,
    surroundings: EntrySurroundings,
}

/// What an entry is laid out with besides: where its files lie, and which pictures can be shown.
#[derive(Debug, Default)]
pub(crate) struct EntrySurroundings {
    pub(super) log_dir: String,
    pub(super) shown: HashMap<String, ShownPicture>,
    version: u64,
}

#[derive(Debug, Default)]
struct CachedLayout {
    revision: u32,
    folded: bool,
    lines: Vec<Line<'static>>,
    /// How much of the text, and of the lines, can no longer change.
    stable: (usize, usize),
}

impl LayoutCache {
    /// Forgets what was laid out for another width or other colours, and what has grown too much.
    pub(super) fn prepare(&mut self, cells: usize, theme: Theme) {
        if self.for_cells != cells || self.for_theme != Some(theme) {
            self.layouts.clear();
            (self.for_cells, self.for_theme) = (cells, Some(theme));
        }
        if self.layouts.len() > MAX_CACHED_ENTRIES {
            self.layouts.clear();
        }
    }

    /// Takes in which pictures can be shown now.
    pub(super) fn update_surroundings(
        &mut self,
        pictures: &PictureRegistry,
        session: SessionId,
        log_dir: &str,
    ) {
        if self.surroundings.version != pictures.version || self.surroundings.log_dir != log_dir {
            self.layouts.clear();
            let (version, log_dir) = (pictures.version, log_dir.to_owned());
            self.surroundings = EntrySurroundings { log_dir, shown: pictures.of_session(session), version };
        }
    }

    /// The lines of an entry.
    pub(super) fn lines(&mut self, entry: &TranscriptEntry) -> &[Line<'static>] {
        let (cells, theme) = (self.for_cells, self.for_theme.unwrap_or_else(no_theme));
        let laid = self.layouts.entry(entry.key).or_default();
        let folded = entry.is_folded();
        if laid.lines.is_empty() || laid.revision != entry.revision || laid.folded != folded {
            match &entry.kind {
                EntryKind::Answer(spoken) => laid.answer(&spoken.text, spoken.done, cells, &theme),
                EntryKind::User { .. }
                | EntryKind::SystemMessage { .. }
                | EntryKind::Thinking(_)
                | EntryKind::ToolCall(_)
                | EntryKind::Check { .. }
                | EntryKind::Review { .. }
                | EntryKind::Note { .. }
                | EntryKind::End { .. } => {
                    laid.lines = entries::entry_lines(entry, folded, cells, &theme, &self.surroundings)
                }
            }
            (laid.revision, laid.folded) = (entry.revision, folded);
            if laid.lines.is_empty() {
                laid.lines.push(Line::default());
            }
        }
        &laid.lines
    }
}

impl CachedLayout {
    /// Lays an answer out: what is stable stays, the rest is laid out again.
    fn answer(&mut self, text: &str, done: bool, cells: usize, theme: &Theme) {
        if done {
            self.lines = markdown::render(text, cells, theme);
            return;
        }
        let (mut known, mut kept) = self.stable;
        if known > text.len() || !text.is_char_boundary(known) {
            (known, kept) = (0, 0);
        }
        self.lines.truncate(kept);
        let fresh = markdown::stable_prefix(&text[known..]);
        if fresh > 0 {
            self.block(&text[known..known + fresh], cells, theme);
            self.stable = (known + fresh, self.lines.len());
        } else {
            self.stable = (known, kept);
        }
        let rest = &text[known + fresh..];
        if !rest.trim().is_empty() {
            self.block(rest, cells, theme);
        }
    }

    fn block(&mut self, text: &str, cells: usize, theme: &Theme) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.lines.extend(markdown::render(text, cells, theme));
    }
}

fn no_theme() -> Theme {
    Theme::new("plain", crate::theme::ColorDepth::None)
}
