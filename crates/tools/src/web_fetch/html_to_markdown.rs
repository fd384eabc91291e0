//! Makes Markdown of a page: headings, paragraphs, lists, links, code, quotes and tables, and nothing of how
//! it looks. It need not be exact, only readable, and it must come to an end on anything.
//!
//! Our own, because a stranger writes the page. `htmd` 0.5.6 walks the tree by recursion: 20,000 nested elements
//! (100 kB) overflow a stack of 8 MiB, which ends the daemon. Before that html5ever takes time in the square of the
//! depth: 0.75 s for 5,000 nested elements, more than 100 s for 100,000. A limit on the depth has to be kept before
//! html5ever sees the page, which takes the tokenizer that is here.

use reqwest::Url;

use super::html_tokens::{HtmlToken, HtmlTokens, attribute, unescape};

/// How much Markdown a page may come to.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// How deep lists and quotes are indented.
const MAX_DEPTH: usize = 8;

/// The page as Markdown. Its links are resolved against `base`.
pub(super) fn to_markdown(html: &str, base: &Url) -> String {
    let mut writer = MarkdownWriter { base: Some(base), ..MarkdownWriter::default() };
    for token in HtmlTokens::new(html) {
        match token {
            HtmlToken::Text(text) => writer.text(&unescape(text)),
            HtmlToken::Open(name, attributes) => writer.open(&name, attributes),
            HtmlToken::Close(name) => writer.close(&name),
        }
        if writer.out.len() > MAX_BYTES {
            break;
        }
    }
    if writer.in_code_block {
        writer.close("pre");
    }
    writer.out.push('\n');
    writer.out
}

#[derive(Default)]
struct MarkdownWriter<'a> {
    base: Option<&'a Url>,
    out: String,
    /// How many line ends come before the next text.
    breaks: usize,
    /// Whether a space comes before it.
    space: bool,
    /// What else comes before it: the mark of a list's item, or of what is emphasised.
    marks: Vec<String>,
    /// The lists that are open, each with its next number if it has numbers.
    lists: Vec<Option<usize>>,
    quotes: usize,
    /// How many were open around the text before.
    quotes_before: usize,
    in_code_block: bool,
    /// The target of the link that is open.
    link: Option<String>,
    is_first_cell: bool,
}

impl MarkdownWriter<'_> {
    fn text(&mut self, text: &str) {
        if self.in_code_block {
            self.out.push_str(&text.replace("\r\n", "\n"));
            return;
        }
        for (number, word) in text.split(char::is_whitespace).enumerate() {
            self.space |= number > 0;
            if !word.is_empty() {
                self.word(word);
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.begin();
        self.out.push_str(word);
    }

    /// Writes what comes before a text.
    fn begin(&mut self) {
        if self.breaks > 0 && !self.out.is_empty() {
            for number in 0..self.breaks {
                self.out.push('\n');
                if number + 1 < self.breaks {
                    self.out.push_str(&">".repeat(self.quotes.min(self.quotes_before)));
                }
            }
        } else if self.space && !self.out.is_empty() {
            self.out.push(' ');
        }
        if (self.breaks > 0 || self.out.is_empty()) && self.quotes > 0 {
            self.out.push_str(&"> ".repeat(self.quotes));
        }
        (self.breaks, self.space, self.quotes_before) = (0, false, self.quotes);
        for mark in std::mem::take(&mut self.marks) {
            self.out.push_str(&mark);
        }
    }

    fn break_line(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
        self.space = false;
    }

    fn open(&mut self, name: &str, attributes: &str) {
        if self.in_code_block {
            if name == "br" {
                self.out.push('\n');
            }
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_line(2);
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.marks.push(format!("{} ", "#".repeat(level)));
            }
            "title" => self.marks.push("# ".to_owned()),
            "br" => self.break_line(1),
            "hr" => {
                self.break_line(2);
                self.word("---");
                self.break_line(2);
            }
            "ul" | "ol" => {
                self.break_line(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push((name == "ol").then_some(1));
            }
            "li" => self.item(),
            "pre" => {
                self.break_line(2);
                self.word("```\n");
                self.in_code_block = true;
            }
            "blockquote" => {
                self.break_line(2);
                self.quotes = (self.quotes + 1).min(MAX_DEPTH);
            }
            "tr" => {
                self.break_line(1);
                self.is_first_cell = true;
            }
            "td" | "th" => {
                if !std::mem::take(&mut self.is_first_cell) {
                    self.word(" | ");
                }
            }
            "a" => self.open_link(attributes),
            "img" => self.picture(attributes),
            _ => match inline_mark(name) {
                Some(mark) => self.marks.push(mark.to_owned()),
                None if is_block(name) => self.break_line(2),
                None => {}
            },
        }
    }

    fn close(&mut self, name: &str) {
        if self.in_code_block {
            if name == "pre" {
                let end = if self.out.ends_with('\n') { "```" } else { "\n```" };
                self.out.push_str(end);
                self.in_code_block = false;
                self.break_line(2);
            }
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "title" => {
                self.marks.clear();
                self.break_line(2);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.marks.clear();
                self.break_line(if self.lists.is_empty() { 2 } else { 1 });
            }
            "li" | "tr" => self.break_line(1),
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.break_line(2);
            }
            "a" => self.close_link(),
            _ => match inline_mark(name) {
                Some(mark) if self.marks.last().is_some_and(|last| last == mark) => drop(self.marks.pop()),
                Some(mark) if self.breaks == 0 && !self.out.is_empty() => self.out.push_str(mark),
                None if is_block(name) => self.break_line(2),
                Some(_) | None => {}
            },
        }
    }

    fn item(&mut self) {
        self.break_line(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(MAX_DEPTH));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{indent}{}. ", *number - 1)
            }
            Some(None) | None => format!("{indent}- "),
        };
        self.marks = vec![mark];
    }

    /// Only what can be fetched in turn is worth a link.
    fn open_link(&mut self, attributes: &str) {
        self.close_link();
        let target = attribute(attributes, "href").filter(|target| !target.starts_with('#'));
        let target = target.and_then(|target| self.base?.join(target.trim()).ok());
        self.link = target.filter(|url| matches!(url.scheme(), "http" | "https")).map(String::from);
        if self.link.is_some() {
            self.marks.push("[".to_owned());
        }
    }

    fn close_link(&mut self) {
        let Some(target) = self.link.take() else {
            return;
        };
        // Where the mark still waits, the link had no text.
        match self.marks.iter().rposition(|mark| mark == "[") {
            Some(index) => drop(self.marks.remove(index)),
            None => self.out.push_str(&format!("]({target})")),
        }
    }

    fn picture(&mut self, attributes: &str) {
        let words = attribute(attributes, "alt").unwrap_or_default();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if !words.is_empty() {
            self.word(&format!("[picture: {words}]"));
        }
    }
}

/// What stands around an element of a line.
fn inline_mark(name: &str) -> Option<&'static str> {
    match name {
        "strong" | "b" => Some("**"),
        "em" | "i" => Some("*"),
        "code" | "kbd" | "samp" | "tt" => Some("`"),
        "del" | "s" => Some("~~"),
        _ => None,
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "main"
            | "header"
            | "footer"
            | "aside"
            | "table"
            | "figure"
            | "figcaption"
            | "dl"
            | "dt"
            | "dd"
            | "details"
            | "summary"
            | "form"
            | "fieldset"
            | "address"
            | "body"
            | "caption"
    )
}

#[cfg(test)]
mod tests {
    use super::to_markdown;

    fn markdown(html: &str) -> String {
        to_markdown(html, &"https://example.com/docs/a".parse().unwrap()).trim_end().to_owned()
    }

    #[test]
    fn a_page_becomes_readable() {
        let html = "<!DOCTYPE html><html><head><title>The Page</title><style>p{}</style></head><body>\n\
            <nav><a href='/'>Home</a></nav><h2>First &amp; last</h2><p>Some <b>bold</b>,\n <em>soft</em> and \
            <code>x &lt; y</code>; see <a href=\"../b?x=1&amp;y\">there</a>.</p><ul><li>one<li>two<ol><li>deep</li>\
            </ol></li></ul><pre>fn a() {\n    b\n}</pre><blockquote><p>said</p><p>again</p></blockquote>\
            <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><img src=x alt='a  cat'>\
            <script>alert(1)</script></body></html>";
        assert_eq!(
            markdown(html),
            "# The Page\n\n## First & last\n\nSome **bold**, *soft* and `x < y`; see \
             [there](https://example.com/b?x=1&y).\n\n- one\n- two\n  1. deep\n\n```\nfn a() {\n    b\n}\n```\n\n> \
             said\n>\n> again\n\na | b\n1 | 2\n\n[picture: a cat]"
        );
    }

    #[test]
    fn odd_pages_do_no_harm() {
        for (html, expected) in [
            ("", ""),
            ("plain text", "plain text"),
            ("<b></b>x<a href=/y></a>", "x"),
            ("<a href='javascript:alert(1)'>x</a>", "x"),
            ("<a href=#top>x</a>", "x"),
            ("<pre>never closed", "```\nnever closed\n```"),
            ("</ul></li></a></b></blockquote>x", "x"),
            ("a<br>b<br><br>c", "a\nb\nc"),
            ("<p>a</p>\n\n\n<p>b</p>", "a\n\nb"),
        ] {
            assert_eq!(markdown(html), expected, "{html}");
        }
        markdown(&"<blockquote><ul><li>".repeat(50_000));
    }

    #[test]
    fn a_page_that_is_made_to_hurt_comes_to_an_end() {
        const SIZE: usize = 1 << 18;
        let formats: String = (0..20_000).map(|number| format!("<b a={number}>")).collect();
        let mut pages = vec![
            "<div>".repeat(100_000),
            "<".repeat(1 << 20),
            format!("{}x{}", "<div><span>".repeat(50_000), "</span></div>".repeat(50_000)),
            format!("{formats}{}", "<p>x".repeat(100_000)),
            format!("{formats}{}", "<a href=/y>".repeat(50_000)),
            format!("<a b='>{}", "<a b=\">".repeat(100_000)),
            format!("<a{}>x", " b=c".repeat(SIZE / 4)),
            format!("<a href={}>x</a>", "/".repeat(SIZE)),
        ];
        for piece in [
            "<a",
            "<a ",
            "</",
            "<!",
            "<!--",
            "<?",
            "<b>x</b>",
            "<b><i>",
            "</b>",
            "&",
            "&#",
            "&amp;",
            "<a href='",
            "<a href=/x>",
            "<a href=/x>y",
            "<svg>",
            "<script>",
            "<nav><svg>",
            "<table><tr><td>",
            "<pre>",
            "<h1>",
            "<li>",
            "<ol><li>",
            "<blockquote>x",
            "<br>",
            "<hr>",
            "<img alt=x>",
            "<title>",
            " ",
            "\0",
        ] {
            pages.push(piece.repeat(SIZE / piece.len()));
        }
        for page in pages {
            let text = markdown(&page);
            assert!(text.len() <= super::MAX_BYTES + 1000, "{:.40}", page);
        }
    }
}
