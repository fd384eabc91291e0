//! The blocks of a markdown text, one event of the parser at a time.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::highlight::{HighlightLanguage, HighlightState, highlight, language};
use super::super::wrap::wrap;
use super::table::Table;
use crate::theme::{StyleRole, Theme};

/// What a line stands in.
enum Container {
    Quote,
    /// An item of a list; its mark stands before its first line only.
    Item {
        mark: Option<String>,
        indent: usize,
    },
}

/// The lines so far, and what is open.
pub(super) struct BlockRenderer {
    cells: usize,
    theme: Theme,
    out: Vec<Line<'static>>,
    inline: Vec<(String, Style)>,
    styles: Vec<Style>,
    containers: Vec<Container>,
    /// The next number of each open list; none for one without numbers.
    lists: Vec<Option<u64>>,
    code: Option<(Option<HighlightLanguage>, String)>,
    table: Option<Table>,
    /// Where the open links and pictures lead, and the text that they began after.
    links: Vec<(String, usize)>,
    /// Whether the next block stands directly after its beginning, without an empty line.
    fresh: bool,
}

impl BlockRenderer {
    pub(super) fn new(cells: usize, theme: Theme) -> BlockRenderer {
        BlockRenderer {
            cells,
            theme,
            out: Vec::new(),
            inline: Vec::new(),
            styles: vec![theme.style(StyleRole::Text)],
            containers: Vec::new(),
            lists: Vec::new(),
            code: None,
            table: None,
            links: Vec::new(),
            fresh: true,
        }
    }

    pub(super) fn finish(mut self) -> Vec<Line<'static>> {
        self.flush();
        self.out
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push(&text, self.style()),
            },
            Event::Code(text) => self.push(&text, self.theme.style(StyleRole::Str)),
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&text, self.theme.style(StyleRole::Code));
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.push(text.trim_end_matches('\n'), self.style())
            }
            Event::FootnoteReference(text) => {
                self.push(&format!("[{text}]"), self.theme.style(StyleRole::Link))
            }
            Event::SoftBreak => self.push(" ", self.style()),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.room());
                self.push(&rule, self.theme.style(StyleRole::Border));
                self.flush();
            }
            Event::TaskListMarker(done) => {
                self.push(if done { "☑ " } else { "☐ " }, self.theme.style(StyleRole::Accent));
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "Markdown that is not known is drawn as plain text")]
    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.styles.push(self.theme.style(StyleRole::Heading));
                let marks = format!("{} ", "#".repeat(depth(level)));
                self.push(&marks, self.theme.style(StyleRole::Dim));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.containers.push(Container::Quote);
                self.fresh = true;
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let name = match kind {
                    CodeBlockKind::Fenced(name) => name.split([' ', ',']).next().and_then(language),
                    CodeBlockKind::Indented => None,
                };
                self.code = Some((name, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Table::default());
            }
            Tag::Emphasis => self.modify(Modifier::ITALIC),
            Tag::Strong => self.modify(Modifier::BOLD),
            Tag::Strikethrough => self.modify(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.inline.len()));
                self.styles.push(self.theme.style(StyleRole::Link));
            }
            Tag::Image { dest_url, .. } => {
                self.push("[image: ", self.theme.style(StyleRole::Dim));
                self.links.push((dest_url.to_string(), usize::MAX));
            }
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "Markdown that is not known is drawn as plain text")]
    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.fresh = false;
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.fresh = false;
            }
            TagEnd::Item => {
                self.flush();
                self.containers.pop();
                self.fresh = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => _ = self.styles.pop(),
            TagEnd::Link => {
                self.styles.pop();
                self.link_end();
            }
            TagEnd::Image => {
                self.push("]", self.theme.style(StyleRole::Dim));
                self.link_end();
            }
            TagEnd::TableCell => {
                let cell: String = self.inline.drain(..).map(|(text, _)| text).collect();
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => self.table_end(),
            _ => {}
        }
    }

    fn item(&mut self) {
        self.flush();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "• ".to_owned(),
        };
        let indent = mark.chars().count();
        self.containers.push(Container::Item { mark: Some(mark), indent });
        self.fresh = true;
    }

    /// Shows where a link leads, unless its text says so.
    fn link_end(&mut self) {
        let Some((url, from)) = self.links.pop() else { return };
        let said: String = self.inline.iter().skip(from).map(|(text, _)| text.as_str()).collect();
        let same = said == url || url.strip_prefix("mailto:").is_some_and(|address| address == said);
        if !url.is_empty() && !same {
            self.push(&format!(" ({url})"), self.theme.style(StyleRole::Dim));
        }
    }

    fn code_block(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let mut carried = HighlightState::default();
        for line in code.trim_end_matches('\n').split('\n') {
            let spans = highlight(line, language, &mut carried, &self.theme);
            let (mut first, mut rest) = self.prefixes();
            first.push(Span::raw("  "));
            rest.push(Span::raw("    "));
            self.out.extend(wrap(&spans, self.cells, &first, &rest));
        }
        self.fresh = false;
    }

    fn table_end(&mut self) {
        let Some(table) = self.table.take() else { return };
        let (first, _) = self.prefixes();
        let room = self.room();
        for line in table.lines(room, &self.theme) {
            let mut spans = first.clone();
            spans.extend(line.spans);
            self.out.push(Line::from(spans));
        }
        self.fresh = false;
    }

    /// An empty line between two blocks, and none after the beginning of what they stand in.
    fn gap(&mut self) {
        self.flush();
        if !self.fresh && !self.out.is_empty() {
            let first = self.prefixes_without_mark();
            self.out.push(Line::from(first));
        }
        self.fresh = true;
    }

    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let inline = std::mem::take(&mut self.inline);
        let (first, rest) = self.prefixes();
        for (number, line) in split_lines(&inline).iter().enumerate() {
            let first = if number == 0 { &first } else { &rest };
            self.out.extend(wrap(line, self.cells, first, &rest));
        }
        self.fresh = false;
    }

    /// What stands before the first line of a block and before the others. The mark of an item is used up.
    fn prefixes(&mut self) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for container in &mut self.containers {
            match container {
                Container::Quote => {
                    let bar = Span::styled("│ ", self.theme.style(StyleRole::Border));
                    first.push(bar.clone());
                    rest.push(bar);
                }
                Container::Item { mark, indent } => {
                    let space = Span::raw(" ".repeat(*indent));
                    let mark =
                        mark.take().map(|mark| Span::styled(mark, self.theme.style(StyleRole::Accent)));
                    first.push(mark.unwrap_or_else(|| space.clone()));
                    rest.push(space);
                }
            }
        }
        (first, rest)
    }

    fn prefixes_without_mark(&self) -> Vec<Span<'static>> {
        let span = |container: &Container| match container {
            Container::Quote => Span::styled("│ ", self.theme.style(StyleRole::Border)),
            Container::Item { indent, .. } => Span::raw(" ".repeat(*indent)),
        };
        self.containers.iter().map(span).collect()
    }

    /// Cells that are left for text.
    fn room(&self) -> usize {
        let taken = |container: &Container| match container {
            Container::Quote => 2,
            Container::Item { indent, .. } => *indent,
        };
        self.cells.saturating_sub(self.containers.iter().map(taken).sum()).max(4)
    }

    fn push(&mut self, text: &str, style: Style) {
        match self.inline.last_mut() {
            Some((last, same)) if *same == style && self.links.is_empty() => last.push_str(text),
            _ => self.inline.push((text.to_owned(), style)),
        }
    }

    fn modify(&mut self, modifier: Modifier) {
        self.styles.push(self.style().add_modifier(modifier));
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }
}

fn depth(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Spans with line ends in them, as several lines.
fn split_lines(spans: &[(String, Style)]) -> Vec<Vec<(String, Style)>> {
    let mut lines = vec![Vec::new()];
    for (text, style) in spans {
        for (number, piece) in text.split('\n').enumerate() {
            if number > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push((piece.to_owned(), *style));
            }
        }
    }
    lines
}
