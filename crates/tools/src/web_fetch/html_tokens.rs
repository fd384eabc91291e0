//! Takes HTML apart into tags and text, in one pass, whatever is wrong with it. What the tags mean is left
//! to `html_to_markdown`.

/// Elements whose content is no text of the page.
const SKIPPED: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "textarea", "select",
    "nav",
];

/// A piece of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HtmlToken<'a> {
    /// Text as it is written, with its entities.
    Text(&'a str),
    /// A start tag: the name in lower case, and the attributes as they are written.
    Open(String, &'a str),
    /// An end tag.
    Close(String),
}

/// The pieces of a page.
pub(super) struct HtmlTokens<'a> {
    rest: &'a str,
    /// Skipped elements that are never closed from here on, so that nobody looks for their end again.
    never_closed: Vec<&'static str>,
}

impl<'a> HtmlTokens<'a> {
    pub(super) fn new(html: &'a str) -> HtmlTokens<'a> {
        HtmlTokens { rest: html, never_closed: Vec::new() }
    }

    /// Reads a tag whose `<` is behind us. None where it is none, or one that says nothing.
    fn tag(&mut self, text: &'a str) -> Option<HtmlToken<'a>> {
        if let Some(comment) = text.strip_prefix("!--") {
            self.rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            return None;
        }
        if text.starts_with(['!', '?']) {
            self.rest = text.find('>').map_or("", |end| &text[end + 1..]);
            return None;
        }
        let (is_end, text) = match text.strip_prefix('/') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len());
        let (name, rest) = text.split_at(length);
        let end = end_of_tag(rest);
        let attributes = &rest[..end];
        self.rest = rest.get(end + 1..).unwrap_or_default();
        let name = name.to_ascii_lowercase();
        if is_end {
            return Some(HtmlToken::Close(name));
        }
        if !attributes.ends_with('/')
            && let Some(skipped) = SKIPPED.iter().find(|skipped| **skipped == name)
        {
            self.skip(skipped);
            return None;
        }
        Some(HtmlToken::Open(name, attributes))
    }

    /// Goes on behind the end tag of an element, if there is one.
    fn skip(&mut self, name: &'static str) {
        if self.never_closed.contains(&name) {
            return;
        }
        let is_end = |at: &usize| {
            let after = self.rest.as_bytes().get(at + 2..at + 2 + name.len());
            after.is_some_and(|after| after.eq_ignore_ascii_case(name.as_bytes()))
        };
        let end = self.rest.match_indices("</").map(|(at, _)| at).find(is_end);
        match end {
            Some(at) => {
                let rest = &self.rest[at..];
                self.rest = rest.find('>').map_or("", |end| &rest[end + 1..]);
            }
            // What follows a script that never ends is script.
            None if matches!(name, "script" | "style") => self.rest = "",
            None => self.never_closed.push(name),
        }
    }
}

impl<'a> Iterator for HtmlTokens<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(text) = self.rest.strip_prefix('<')
                && text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
            {
                match self.tag(text) {
                    Some(token) => return Some(token),
                    None => continue,
                }
            }
            // A `<` that begins no tag is text.
            let first = self.rest.chars().next().map_or(0, char::len_utf8);
            let end = self.rest[first..].find('<').map_or(self.rest.len(), |end| end + first);
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Some(HtmlToken::Text(text));
        }
    }
}

/// Where a tag ends: at the first `>` that is not inside quotes.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') if text[..at].trim_end().ends_with('=') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (Some(_) | None, _) => {}
        }
    }
    // A quote that is never closed was none.
    if quote.is_some() { text.find('>').unwrap_or(text.len()) } else { text.len() }
}

/// The value of an attribute, with its entities resolved.
pub(super) fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    while let Some((before, after)) = rest.split_once('=') {
        let found = before.trim_end().rsplit(char::is_whitespace).next().unwrap_or_default();
        let after = after.trim_start();
        let (value, next) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            Some(_) | None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        if found.eq_ignore_ascii_case(name) {
            return Some(unescape(value));
        }
        rest = next;
    }
    None
}

/// Text with its entities resolved. An unknown one stays as it is.
pub(super) fn unescape(text: &str) -> String {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        resolved.push_str(before);
        let end = after.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| entity(&after[..end])) {
            Some(character) => {
                resolved.push(character);
                rest = &after[end.unwrap_or_default() + 1..];
            }
            None => {
                resolved.push('&');
                rest = after;
            }
        }
    }
    resolved.push_str(rest);
    resolved
}

fn entity(name: &str) -> Option<char> {
    const NAMES: &[(&str, char)] = &[
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("copy", '©'),
        ("reg", '®'),
        ("trade", '™'),
        ("hellip", '…'),
        ("mdash", '—'),
        ("ndash", '–'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("laquo", '«'),
        ("raquo", '»'),
        ("bull", '•'),
        ("middot", '·'),
        ("deg", '°'),
        ("times", '×'),
        ("plusmn", '±'),
        ("larr", '←'),
        ("rarr", '→'),
        ("uarr", '↑'),
        ("darr", '↓'),
        ("euro", '€'),
        ("pound", '£'),
        ("sect", '§'),
        ("para", '¶'),
        ("auml", 'ä'),
        ("ouml", 'ö'),
        ("uuml", 'ü'),
        ("Auml", 'Ä'),
        ("Ouml", 'Ö'),
        ("Uuml", 'Ü'),
        ("szlig", 'ß'),
        ("eacute", 'é'),
        ("egrave", 'è'),
        ("agrave", 'à'),
        ("ccedil", 'ç'),
        ("ntilde", 'ñ'),
        ("lbrace", '{'),
        ("rbrace", '}'),
        ("lbrack", '['),
        ("rbrack", ']'),
    ];
    if let Some(digits) = name.strip_prefix('#') {
        let number = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        return number.ok().and_then(char::from_u32);
    }
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

#[cfg(test)]
mod tests {
    use super::{HtmlToken, HtmlTokens, attribute, unescape};

    fn texts(html: &str) -> Vec<&str> {
        let text = |token| if let HtmlToken::Text(text) = token { Some(text) } else { None };
        HtmlTokens::new(html).filter_map(text).collect()
    }

    #[test]
    fn what_is_no_text_is_skipped() {
        for (html, expected) in [
            ("a<script>if (a<b) '</p>'</SCRIPT >b", vec!["a", "b"]),
            ("a<!-- <b> -->b<!DOCTYPE x>c<?php ?>d", vec!["a", "b", "c", "d"]),
            ("a<script>never", vec!["a"]),
            ("a<svg>b", vec!["a", "b"]),
            ("a < b <3 c<", vec!["a ", "< b ", "<3 c", "<"]),
            ("<a title=\"x > y\">b</a>", vec!["b"]),
            ("<a title=\"x>b</a>", vec!["b"]),
            ("é<é", vec!["é", "<é"]),
        ] {
            assert_eq!(texts(html), expected, "{html}");
        }
    }

    #[test]
    fn a_page_of_open_tags_is_read_in_one_pass() {
        assert_eq!(texts(&"<svg>".repeat(400_000)), Vec::<&str>::new());
        assert_eq!(texts(&"<a b='".repeat(20_000)), Vec::<&str>::new());
    }

    #[test]
    fn attributes_and_entities_are_read() {
        let attributes = " class=x  HREF = '/a?b&amp;c' data-href=\"no\" title=";
        assert_eq!(attribute(attributes, "href").as_deref(), Some("/a?b&c"));
        assert_eq!(attribute(attributes, "class").as_deref(), Some("x"));
        assert_eq!(attribute(attributes, "none"), None);
        assert_eq!(unescape("&lt;&#65;&#x42;&unknown;&amp;lt; & &é;"), "<AB&unknown;&lt; & &é;");
    }
}
