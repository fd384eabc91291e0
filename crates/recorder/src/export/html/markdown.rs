//! Markdown as models write it, made into HTML. `pulldown-cmark` reads the text and writes the tags; the filter here
//! decides which tags there may be. Markup in the text shows as it was written, links lead to the web or nowhere, and a
//! picture becomes a link to it, because an exported page fetches nothing.

use std::fmt;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::EscapedHtml;

/// How deep lists, quotes and emphasis are shown in one another. A browser lays nested elements out by recursion.
const MAX_DEPTH: usize = 32;

/// Markdown as a block.
pub(in crate::export) struct MarkdownBlock<'a>(pub(in crate::export) &'a str);

impl fmt::Display for MarkdownBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut filter = MarkdownFilter::default();
        html::write_html_fmt(f, Parser::new_ext(self.0, options).filter_map(|event| filter.shown(event)))
    }
}

/// Turns events into those that a page shows. Beginnings and ends are left out in pairs.
#[derive(Default)]
struct MarkdownFilter {
    depth: usize,
    /// The links and pictures that are open, and whether each has a tag. Only one of them has: links do not nest.
    links: Vec<bool>,
    in_link: bool,
}

impl MarkdownFilter {
    fn shown<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        Some(match event {
            Event::Start(tag) => return self.start(tag),
            Event::End(tag) => return self.end(tag),
            // Escaped here, because the library leaves quotes and invisible characters as they are.
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => Event::InlineHtml(EscapedHtml(&text).to_string().into()),
            Event::Code(text) => Event::InlineHtml(format!("<code>{}</code>", EscapedHtml(&text)).into()),
            Event::TaskListMarker(done) => Event::Text(if done { "☑ " } else { "☐ " }.into()),
            // A line break that somebody wrote is meant, in a conversation.
            Event::SoftBreak | Event::HardBreak => Event::HardBreak,
            Event::Rule => Event::Rule,
        })
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the elements are the library's; others stay as they are"
    )]
    fn start<'a>(&mut self, tag: Tag<'a>) -> Option<Event<'a>> {
        Some(Event::Start(match tag {
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let is_link = !self.in_link && is_web(&dest_url);
                self.links.push(is_link);
                self.in_link |= is_link;
                let tag = format!("<a href=\"{}\" rel=\"noreferrer\">", EscapedHtml(&dest_url));
                return is_link.then(|| Event::InlineHtml(tag.into()));
            }
            // The page itself has the two highest.
            Tag::Heading { level, .. } => {
                Tag::Heading { level: lower(level), id: None, classes: Vec::new(), attrs: Vec::new() }
            }
            // An alignment would be a style, which the page's policy forbids.
            Tag::Table(_) => Tag::Table(Vec::new()),
            Tag::HtmlBlock => Tag::Paragraph,
            nested if nests(&nested.to_end()) => {
                self.depth += 1;
                return (self.depth <= MAX_DEPTH).then_some(Event::Start(nested));
            }
            other => other,
        }))
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the elements are the library's; others stay as they are"
    )]
    fn end<'a>(&mut self, tag: TagEnd) -> Option<Event<'a>> {
        Some(Event::End(match tag {
            TagEnd::Link | TagEnd::Image => {
                let was_link = self.links.pop().unwrap_or(false);
                self.in_link &= !was_link;
                return was_link.then(|| Event::InlineHtml("</a>".into()));
            }
            TagEnd::Heading(level) => TagEnd::Heading(lower(level)),
            TagEnd::HtmlBlock => TagEnd::Paragraph,
            nested if nests(&nested) => {
                self.depth -= 1;
                return (self.depth < MAX_DEPTH).then_some(Event::End(nested));
            }
            other => other,
        }))
    }
}

/// Whether an element can stand in another one of its kind.
fn nests(tag: &TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::BlockQuote(_)
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
    )
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + 2).unwrap_or(HeadingLevel::H6)
}

/// Whether an address leads to the web: no script, no file, no data.
fn is_web(address: &str) -> bool {
    let has =
        |scheme: &str| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    (has("https://") || has("http://")) && !address.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, MarkdownBlock};

    #[test]
    fn what_models_write_becomes_html() {
        for (text, html) in [
            ("hello\nworld", "<p>hello<br />\nworld</p>\n"),
            ("a\n\nb", "<p>a</p>\n<p>b</p>\n"),
            ("# Title", "<h3>Title</h3>\n"),
            ("###### Title", "<h6>Title</h6>\n"),
            ("- a\n- b\n\ntext", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<p>text</p>\n"),
            ("- a\n  - b", "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>\n"),
            ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"),
            ("- [x] a", "<ul>\n<li>☑ a</li>\n</ul>\n"),
            (
                "```rust\nlet a = 1 < 2;\n```\nafter",
                "<pre><code class=\"language-rust\">let a = 1 &lt; 2;\n</code></pre>\n<p>after</p>\n",
            ),
            ("````\n```\n````", "<pre><code>```\n</code></pre>\n"),
            ("never closed:\n```\nx", "<p>never closed:</p>\n<pre><code>x</code></pre>\n"),
            ("**bold *both*** `c*d*e`", "<p><strong>bold <em>both</em></strong> <code>c*d*e</code></p>\n"),
            ("2 * 3 * 4", "<p>2 * 3 * 4</p>\n"),
            (
                "[a](https://x.y/?q=\"1\")",
                "<p><a href=\"https://x.y/?q=&quot;1&quot;\" rel=\"noreferrer\">a</a></p>\n",
            ),
            ("> quoted", "<blockquote>\n<p>quoted</p>\n</blockquote>\n"),
            ("---", "<hr />\n"),
            (
                "| a | `b` |\n|---|:-:|\n| 1 | <2> |",
                "<table><thead><tr><th>a</th><th><code>b</code></th></tr></thead><tbody>\n\
                 <tr><td>1</td><td>&lt;2&gt;</td></tr>\n</tbody></table>\n",
            ),
            ("\\*plain\\*", "<p>*plain*</p>\n"),
            ("a ``` **** [[b] \\x", "<p>a ``` **** [[b] \\x</p>\n"),
        ] {
            assert_eq!(MarkdownBlock(text).to_string(), html, "{text:?}");
        }
    }

    #[test]
    fn markup_shows_as_it_was_written() {
        for text in [
            "<b>not bold</b>",
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "a <img src=x onerror=alert(1)> b",
            "<!-- --><svg onload=alert(1)>",
            "<![CDATA[<script>]]><?x <script>?>",
            "> <iframe src=x>\n- <style>@import x</style>",
            "| <a href=x> |\n|---|\n| <script> |",
            "# <h1 onclick=x>",
            "`<script>`",
            "```<script> \"onclick=x\n<script>\n```",
            "&lt;script&gt; &#60;script&#62;",
            "[<script>](https://x \"<script>\")",
            "![<img src=x>](<script>)",
            "<img src=\"https://x\"> `<img src=\"https://x\">` ```<img src=\"https://x\">",
        ] {
            let html = MarkdownBlock(text).to_string();
            for tag in
                ["<script", "<img", "<svg", "<iframe", "<style", "<b>", "<a href=x", "<h1", "<!", "src=\""]
            {
                assert!(!html.contains(tag), "{text:?}: {html}");
            }
        }
    }

    #[test]
    fn links_lead_to_the_web_or_nowhere() {
        for text in [
            "[a](javascript:x)",
            "[a](JavaScript:x)",
            "[a](java&#x73;cript:x)",
            "[a](&#x01;javascript:x)",
            "[a](data:text/html;base64,eA==)",
            "[a](vbscript:x)",
            "[a](file:///etc/passwd)",
            "[a](//evil.example)",
            "[a](relative)",
            "[a](<https://x y>)",
            "[a](https://x&#10;y)",
            "[a][b]\n\n[b]: javascript:x",
            "<javascript:x>",
            "<a@b.example>",
            "![a](javascript:x)",
            "![a](data:image/svg+xml,x)",
        ] {
            let html = MarkdownBlock(text).to_string();
            assert!(!html.contains("href") && !html.contains("src="), "{text:?}: {html}");
        }
        let quoted = MarkdownBlock("<https://x.y/\"onclick=\"x>").to_string();
        assert!(quoted.contains("<a href=\"https://x.y/&quot;onclick=&quot;x\" rel="), "{quoted}");
    }

    #[test]
    fn a_picture_is_a_link_to_it() {
        let html = MarkdownBlock("![alt *text*](https://x.y/z.png \"title\")").to_string();
        assert_eq!(html, "<p><a href=\"https://x.y/z.png\" rel=\"noreferrer\">alt <em>text</em></a></p>\n");
        let html = MarkdownBlock("[![alt](https://x.y/z.png)](https://w.y)").to_string();
        assert_eq!(html, "<p><a href=\"https://w.y\" rel=\"noreferrer\">alt</a></p>\n");
    }

    #[test]
    fn what_nobody_would_see_is_left_out() {
        let html = MarkdownBlock("a\u{202e}b &#x202e;c `d\u{200b}`").to_string();
        assert_eq!(html, "<p>ab c <code>d</code></p>\n");
    }

    #[test]
    fn elements_nest_only_so_deep() {
        for mark in ["> ", "- ", "1. ", "*a **b "] {
            let html =
                MarkdownBlock(&format!("{}x{}", mark.repeat(10_000), "** *".repeat(5_000))).to_string();
            let (mut depth, mut deepest) = (0_usize, 0);
            for tag in html.split('<').skip(1) {
                depth = if tag.starts_with('/') { depth - 1 } else { depth + 1 };
                deepest = deepest.max(depth);
            }
            assert!(depth == 0 && deepest <= MAX_DEPTH + 2, "{mark:?}: {depth}, {deepest}");
        }
    }

    #[test]
    fn a_text_of_nothing_but_marks_shows_as_it_is() {
        for mark in [
            "`", "*", "[", "\\", "*a", "[a", "`a", "**a *b ", "![", "<", "<a", "<!--", "](", "&", "|", "~~a ",
        ] {
            let text = format!("x{}", mark.repeat(100_000));
            assert!(MarkdownBlock(&text).to_string().len() >= text.len() / 2, "{mark}");
        }
        let nested = format!("{}{}", "![".repeat(100_000), "](https://x)".repeat(100_000));
        assert_eq!(MarkdownBlock(&nested).to_string().matches("<a ").count(), 1);
        for line in ["> ", "- ", "| a ", "```", "<b>", "1. a", "    a", "# "] {
            let text = format!("{line}\n").repeat(50_000);
            assert!(MarkdownBlock(&text).to_string().len() >= line.len(), "{line}");
        }
    }
}
