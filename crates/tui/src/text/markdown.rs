//! Markdown as lines of a terminal, for text that is still being written: what is finished is laid out once.
//!
//! [`stable_prefix`] says up to where a text can no longer change by what follows; a caller keeps those lines and
//! lays out only the rest.

mod blocks;
mod table;

use pulldown_cmark::{Options, Parser};
use ratatui::text::Line;

use super::sanitize::sanitize;
use crate::theme::Theme;
use blocks::BlockRenderer;

/// Lays a text out in lines of so many cells.
pub fn render(text: &str, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = sanitize(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut blocks = BlockRenderer::new(cells.max(8), *theme);
    for event in Parser::new_ext(&text, options) {
        blocks.event(event);
    }
    blocks.finish()
}

/// How many bytes of a text are whole blocks that nothing after them can change: up to the last empty line that is
/// in no code block and that nothing indented follows.
pub fn stable_prefix(text: &str) -> usize {
    let (mut stable, mut at) = (0, 0);
    let mut fence: Option<&str> = None;
    let mut blank = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if blank && fence.is_none() && !line.starts_with([' ', '\t']) && !trimmed.is_empty() {
            stable = at;
        }
        blank = trimmed.trim_end().is_empty();
        match fence {
            None if trimmed.starts_with("```") => fence = Some("```"),
            None if trimmed.starts_with("~~~") => fence = Some("~~~"),
            Some(mark) if trimmed.starts_with(mark) => fence = None,
            None | Some(_) => {}
        }
        at += line.len();
    }
    stable
}

#[cfg(test)]
mod tests {
    use super::{render, stable_prefix};
    use crate::theme::{ColorDepth, Theme};

    fn lines(text: &str) -> Vec<String> {
        let theme = Theme::new("night", ColorDepth::None);
        render(text, 30, &theme).iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn blocks_stand_apart_and_lists_are_indented() {
        let text = "# Title\nSome *words* and `code`.\n\n- one\n- two\n  1. three\n  2. four\n\n> quoted\n\n---\nend";
        let expected = [
            "# Title",
            "",
            "Some words and code.",
            "",
            "• one",
            "• two",
            "  1. three",
            "  2. four",
            "",
            "│ quoted",
            "",
            "──────────────────────────────",
            "",
            "end",
        ];
        assert_eq!(lines(text), expected);
    }

    #[test]
    fn long_items_hang_and_code_keeps_its_lines() {
        assert_eq!(
            lines("- a rather long item that is wrapped"),
            ["• a rather long item that is", "  wrapped"]
        );
        assert_eq!(
            lines("```rust\nfn a() {\n    b();\n}\n```\nafter"),
            ["  fn a() {", "      b();", "  }", "", "after"]
        );
    }

    #[test]
    fn links_show_where_they_lead_and_pictures_are_not_fetched() {
        assert_eq!(lines("[text](http://x.y)"), ["text (http://x.y)"]);
        assert_eq!(lines("<http://x.y>"), ["http://x.y"]);
        assert_eq!(lines("![alt](http://x/y.png)"), ["[image: alt] (http://x/y.png)"]);
        assert_eq!(lines("<b>bold</b>"), ["<b>bold</b>"]);
    }

    #[test]
    fn tables_are_aligned_or_shown_as_rows() {
        let drawn = lines("| a | long |\n|---|---|\n| 1 | 2 |");
        assert_eq!(drawn, ["a │ long", "──┼─────", "1 │ 2"]);
        let wide = format!("| {} | {} |\n|---|---|\n| 1 | 2 |", "a".repeat(30), "b".repeat(30));
        assert!(lines(&wide).iter().all(|line| line.chars().count() <= 30));
    }

    #[test]
    fn only_whole_blocks_are_stable() {
        assert_eq!(stable_prefix("one\n\ntwo"), 5);
        assert_eq!(stable_prefix("one\ntwo"), 0);
        assert_eq!(stable_prefix("```\na\n\nb\n"), 0);
        assert_eq!(stable_prefix("```\na\n\nb\n```\n\nend"), 14);
        assert_eq!(stable_prefix("- a\n\n  more"), 0);
    }

    #[test]
    fn a_text_laid_out_in_two_goes_is_the_same() {
        let text = "# A\n\ntext *em*\n\n```\nx\n\ny\n```\n\nlast\n\n> q\n\n- a\n- b\n\nend\n";
        let theme = Theme::new("night", ColorDepth::True);
        for cut in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let stable = stable_prefix(&text[..cut]);
            let mut twice = render(&text[..stable], 30, &theme);
            if stable > 0 && !text[stable..cut].trim().is_empty() {
                twice.push(ratatui::text::Line::default());
            }
            twice.extend(render(&text[stable..cut], 30, &theme));
            assert_eq!(twice, render(&text[..cut], 30, &theme), "cut at {cut}");
        }
    }
}
