//! Markdown as models write it, made into HTML: headings, lists, quotes, code, emphasis, links. Whatever is not
//! understood shows as it was written; nothing in it becomes markup of its own.

use std::fmt;

use super::Escaped;

/// How deep emphasis may stand in emphasis.
const MAX_DEPTH: u32 = 4;
/// Bytes within which a mark must be closed, so that a line of nothing but marks is read in no time.
const REACH: usize = 2000;

/// Markdown as a block.
pub(in crate::export) struct Prose<'a>(pub(in crate::export) &'a str);

impl fmt::Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.0.lines().peekable();
        let mut paragraph: Vec<&str> = Vec::new();
        let mut list: Option<&str> = None;
        while let Some(line) = lines.next() {
            let block = Block::of(line);
            if !matches!(block, Block::Text(_)) || list.is_some() && !line.starts_with(' ') {
                write_paragraph(f, &mut paragraph)?;
            }
            let list_goes_on = match &block {
                Block::Item(kind, _) => list == Some(kind),
                Block::Text(text) => list.is_some() && text.starts_with(' '),
                Block::Blank => list.is_some(),
                Block::Fence(_) | Block::Heading(..) | Block::Quote(_) | Block::Rule | Block::Table => false,
            };
            if let Some(kind) = list.take_if(|_| !list_goes_on) {
                writeln!(f, "</{kind}>")?;
            }
            match block {
                Block::Fence(fence) => {
                    let code: Vec<&str> = lines.by_ref().take_while(|line| !closes(line, fence)).collect();
                    writeln!(f, "<pre><code>{}</code></pre>", Escaped(&code.join("\n")))?;
                }
                Block::Table => {
                    let mut rows = vec![line];
                    while let Some(row) = lines.next_if(|line| line.trim_start().starts_with('|')) {
                        rows.push(row);
                    }
                    write_table(f, &rows)?;
                }
                Block::Heading(level, text) => {
                    // The page itself has the two highest.
                    let level = (level + 2).min(6);
                    writeln!(f, "<h{level}>{}</h{level}>", Inline(text, 0))?;
                }
                Block::Quote(text) => writeln!(f, "<blockquote>{}</blockquote>", Inline(text, 0))?,
                Block::Rule => writeln!(f, "<hr>")?,
                Block::Item(kind, text) => {
                    if list.is_none() {
                        writeln!(f, "<{kind}>")?;
                        list = Some(kind);
                    }
                    writeln!(f, "<li>{}", Inline(text, 0))?;
                }
                Block::Text(text) => paragraph.push(text),
                Block::Blank => {}
            }
        }
        write_paragraph(f, &mut paragraph)?;
        list.map_or(Ok(()), |kind| writeln!(f, "</{kind}>"))
    }
}

/// What a line begins.
enum Block<'a> {
    Fence(&'a str),
    Heading(usize, &'a str),
    Quote(&'a str),
    Item(&'static str, &'a str),
    Table,
    Rule,
    Blank,
    Text(&'a str),
}

impl<'a> Block<'a> {
    fn of(line: &'a str) -> Block<'a> {
        let text = line.trim_start();
        let marks = |mark: char| text.len() - text.trim_start_matches(mark).len();
        if text.is_empty() {
            return Block::Blank;
        }
        if marks('`') >= 3 || marks('~') >= 3 {
            return Block::Fence(&text[..marks('`').max(marks('~'))]);
        }
        let level = marks('#');
        if (1..=6).contains(&level) && text[level..].starts_with(' ') {
            return Block::Heading(level, text[level..].trim());
        }
        if text.len() >= 3 && ['-', '*', '_'].iter().any(|mark| text.trim_end().chars().all(|c| c == *mark)) {
            return Block::Rule;
        }
        if let Some(quoted) = text.strip_prefix('>') {
            return Block::Quote(quoted.trim_start());
        }
        if text.starts_with('|') {
            return Block::Table;
        }
        if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)) {
            return Block::Item("ul", item);
        }
        let digits = marks_of_digits(text);
        match text[digits..].strip_prefix(". ") {
            Some(item) if (1..=3).contains(&digits) => Block::Item("ol", item),
            Some(_) | None => Block::Text(line),
        }
    }
}

fn marks_of_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
}

fn write_paragraph(f: &mut fmt::Formatter<'_>, lines: &mut Vec<&str>) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    f.write_str("<p>")?;
    for (n, line) in lines.drain(..).enumerate() {
        // A line break that somebody wrote is meant, in a conversation.
        f.write_str(if n == 0 { "" } else { "<br>\n" })?;
        write!(f, "{}", Inline(line.trim(), 0))?;
    }
    f.write_str("</p>\n")
}

/// Rows of cells. The first one is the head if a row of dashes follows it.
fn write_table(f: &mut fmt::Formatter<'_>, rows: &[&str]) -> fmt::Result {
    let is_rule = |row: &str| row.contains('-') && row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    let has_head = rows.get(1).is_some_and(|row| is_rule(row));
    f.write_str("<table>\n")?;
    for (n, row) in rows.iter().enumerate().filter(|(_, row)| !is_rule(row)) {
        let row = row.trim();
        let row = row.strip_prefix('|').unwrap_or(row);
        let row = row.strip_suffix('|').unwrap_or(row);
        let cell = if n == 0 && has_head { "th" } else { "td" };
        f.write_str("<tr>")?;
        row.split('|').try_for_each(|text| write!(f, "<{cell}>{}</{cell}>", Inline(text.trim(), 0)))?;
        f.write_str("</tr>\n")?;
    }
    f.write_str("</table>\n")
}

/// A line with code, emphasis and links in it, and how deep it stands.
struct Inline<'a>(&'a str, u32);

impl fmt::Display for Inline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inline(mut rest, depth) = *self;
        while let Some(at) = rest.find(['`', '*', '[', '\\']) {
            write!(f, "{}", Escaped(&rest[..at]))?;
            rest = &rest[at..];
            let inner = |text| Inline(text, depth + 1);
            if let Some((code, after)) = code(rest) {
                write!(f, "<code>{}</code>", Escaped(code))?;
                rest = after;
            } else if let Some((text, after)) = between(rest, "**").filter(|_| depth < MAX_DEPTH) {
                write!(f, "<strong>{}</strong>", inner(text))?;
                rest = after;
            } else if let Some((text, after)) = between(rest, "*").filter(|_| depth < MAX_DEPTH) {
                write!(f, "<em>{}</em>", inner(text))?;
                rest = after;
            } else if let Some((text, address, after)) = link(rest).filter(|_| depth < MAX_DEPTH) {
                write!(f, "<a href=\"{}\" rel=\"noreferrer\">{}</a>", Escaped(address), inner(text))?;
                rest = after;
            } else {
                let escaped =
                    rest.strip_prefix('\\').filter(|after| after.starts_with(['`', '*', '[', '\\', '_']));
                // A run of marks that means nothing is not looked at again mark by mark.
                let run = || rest.len() - rest.trim_start_matches(&rest[..1]).len();
                let (shown, after) = escaped.map_or_else(|| rest.split_at(run()), |after| after.split_at(1));
                f.write_str(shown)?;
                rest = after;
            }
        }
        write!(f, "{}", Escaped(rest))
    }
}

/// As much of a text as is looked through for the end of something.
fn near(text: &str) -> &str {
    &text[..text.floor_char_boundary(REACH)]
}

/// Code between equal runs of backticks.
fn code(text: &str) -> Option<(&str, &str)> {
    let run = text.len() - text.trim_start_matches('`').len();
    let (fence, rest) = text.split_at(run);
    let end = near(rest).find(fence).filter(|end| run > 0 && *end > 0)?;
    let after = &rest[end + run..];
    (!after.starts_with('`')).then(|| (rest[..end].trim(), after))
}

/// Text between two marks, with no space just inside them.
fn between<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let rest = text.strip_prefix(mark).filter(|rest| !rest.starts_with([' ', '*']))?;
    let end = near(rest).find(mark).filter(|end| *end > 0 && !rest[..*end].ends_with(' '))?;
    Some((&rest[..end], &rest[end + mark.len()..]))
}

/// A link to the web; any other address stays text.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let rest = text.strip_prefix('[')?;
    let (label, rest) = rest.split_at(near(rest).find(']')?);
    let rest = rest.strip_prefix("](")?;
    let (address, after) = rest.split_at(near(rest).find(')')?);
    let web = address.starts_with("https://") || address.starts_with("http://");
    (web && !address.contains(char::is_whitespace)).then(|| (label, address, &after[1..]))
}

#[cfg(test)]
mod tests {
    use super::Prose;

    #[test]
    fn what_models_write_becomes_html() {
        for (text, html) in [
            ("hello\nworld", "<p>hello<br>\nworld</p>\n"),
            ("a\n\nb", "<p>a</p>\n<p>b</p>\n"),
            ("# Title", "<h3>Title</h3>\n"),
            ("- a\n- b\n\ntext", "<ul>\n<li>a\n<li>b\n</ul>\n<p>text</p>\n"),
            ("1. a\n2. b", "<ol>\n<li>a\n<li>b\n</ol>\n"),
            (
                "```rust\nlet a = 1 < 2;\n```\nafter",
                "<pre><code>let a = 1 &lt; 2;</code></pre>\n<p>after</p>\n",
            ),
            ("````\n```\n````", "<pre><code>```</code></pre>\n"),
            ("never closed:\n```\nx", "<p>never closed:</p>\n<pre><code>x</code></pre>\n"),
            ("**bold *both*** `c*d*e`", "<p><strong>bold *both</strong>* <code>c*d*e</code></p>\n"),
            ("2 * 3 * 4", "<p>2 * 3 * 4</p>\n"),
            (
                "[a](https://x.y/?q=\"1\")",
                "<p><a href=\"https://x.y/?q=&quot;1&quot;\" rel=\"noreferrer\">a</a></p>\n",
            ),
            ("[a](javascript:x)", "<p>[a](javascript:x)</p>\n"),
            ("> quoted", "<blockquote>quoted</blockquote>\n"),
            ("---", "<hr>\n"),
            (
                "| a | `b` |\n|---|:-:|\n| 1 | <2> |",
                "<table>\n<tr><th>a</th><th><code>b</code></th></tr>\n\
                 <tr><td>1</td><td>&lt;2&gt;</td></tr>\n</table>\n",
            ),
            ("<b>not bold</b>", "<p>&lt;b&gt;not bold&lt;/b&gt;</p>\n"),
            ("\\*plain\\*", "<p>*plain*</p>\n"),
            ("a ``` **** [[b] \\x", "<p>a ``` **** [[b] \\x</p>\n"),
        ] {
            assert_eq!(Prose(text).to_string(), html, "{text:?}");
        }
    }

    #[test]
    fn a_line_of_nothing_but_marks_shows_as_it_is() {
        for mark in ["`", "*", "[", "\\", "*a", "[a", "`a", "**a *b "] {
            let text = format!("x{}", mark.repeat(200_000));
            assert!(Prose(&text).to_string().len() >= text.len() / 2, "{mark}");
        }
    }
}
