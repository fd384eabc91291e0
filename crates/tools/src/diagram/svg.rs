//! Takes out of an SVG all that a viewer would run or fetch: scripts, handlers, foreign content, links to
//! other schemes, styles and pictures from elsewhere. What is not known to be well formed is refused, since
//! a viewer may read it in another way than this does.

/// Elements that are left out with all that is in them.
const DROPPED: &[&str] = &[
    "script",
    "foreignobject",
    "iframe",
    "object",
    "embed",
    "audio",
    "video",
    "handler",
    "listener",
    "animate",
    "set",
    "animatetransform",
    "animatemotion",
    "link",
    "meta",
    "base",
];
/// How deep elements may lie in each other.
const MAX_DEPTH: usize = 256;

/// The picture without them. The error says why it is none.
pub(super) fn clean(text: &str) -> Result<String, String> {
    let mut cleaner =
        Cleaner { rest: text, out: String::with_capacity(text.len()), open: Vec::new(), dropped: None };
    while !cleaner.rest.is_empty() {
        cleaner.step()?;
    }
    if !cleaner.open.is_empty() {
        return Err("an element is not closed".to_owned());
    }
    if !cleaner.out.trim_start().starts_with("<svg") {
        return Err("it does not begin with an svg element".to_owned());
    }
    Ok(cleaner.out)
}

struct Cleaner<'a> {
    rest: &'a str,
    out: String,
    /// The elements that are open here, outermost first.
    open: Vec<&'a str>,
    /// How many were open when one began that is left out.
    dropped: Option<usize>,
}

impl<'a> Cleaner<'a> {
    fn step(&mut self) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix("<!--") {
            self.rest = split_after(rest, "-->")?.1;
        } else if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
            let (text, rest) = split_after(rest, "]]>")?;
            self.rest = rest;
            self.text(&escape(text));
        } else if let Some(rest) = self.rest.strip_prefix("<?") {
            self.rest = split_after(rest, "?>")?.1;
        } else if self.rest.starts_with("<!") {
            self.declaration()?;
        } else if let Some(rest) = self.rest.strip_prefix("</") {
            let (name, rest) = split_after(rest, ">")?;
            self.rest = rest;
            self.close(name.trim())?;
        } else if let Some(rest) = self.rest.strip_prefix('<') {
            self.element(rest)?;
        } else {
            let end = self.rest.find('<').unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            self.text(text);
        }
        Ok(())
    }

    /// A document type may define entities, so none of it is kept.
    fn declaration(&mut self) -> Result<(), String> {
        let (declaration, rest) = split_after(self.rest, ">")?;
        if declaration.contains('[') {
            return Err("it defines entities".to_owned());
        }
        self.rest = rest;
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.dropped.is_some() {
            return;
        }
        let in_style = self.open.last().is_some_and(|name| local_name(name) == "style");
        if !in_style || is_safe_style(text) {
            self.out.push_str(text);
        }
    }

    fn close(&mut self, name: &str) -> Result<(), String> {
        if self.open.pop() != Some(name) {
            return Err("its elements are not nested".to_owned());
        }
        match self.dropped {
            Some(depth) if depth == self.open.len() => self.dropped = None,
            Some(_) => {}
            None => self.out.push_str(&format!("</{name}>")),
        }
        Ok(())
    }

    fn element(&mut self, text: &'a str) -> Result<(), String> {
        let end =
            text.find(|c: char| c.is_whitespace() || c == '/' || c == '>').ok_or("a tag is not closed")?;
        let (name, mut rest) = text.split_at(end);
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, ':' | '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err("an element has no name".to_owned());
        }
        let mut written = format!("<{name}");
        let is_empty = loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>") {
                rest = after;
                break true;
            }
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break false;
            }
            let (attribute, value, after) = attribute(rest)?;
            rest = after;
            if is_safe_attribute(&local_name(name), &attribute.to_lowercase(), &unescape(value)) {
                written.push_str(&format!(" {attribute}=\"{}\"", value.replace('"', "&quot;")));
            }
        };
        self.rest = rest;
        if !is_empty {
            if self.dropped.is_none() && DROPPED.contains(&local_name(name).as_str()) {
                self.dropped = Some(self.open.len());
            }
            self.open.push(name);
            if self.open.len() > MAX_DEPTH {
                return Err("its elements lie too deep".to_owned());
            }
        }
        if self.dropped.is_none() && !DROPPED.contains(&local_name(name).as_str()) {
            self.out.push_str(&written);
            self.out.push_str(if is_empty { "/>" } else { ">" });
        }
        Ok(())
    }
}

/// Reads one attribute: its name, its value as it is written, and what comes after.
fn attribute(text: &str) -> Result<(&str, &str, &str), String> {
    let (name, rest) = text.split_once('=').ok_or("an attribute has no value")?;
    let (name, rest) = (name.trim_end(), rest.trim_start());
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, ':' | '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err("an attribute has no name".to_owned());
    }
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or("a value is not quoted")?;
    let (value, rest) = rest[1..].split_once(quote).ok_or("a value is not closed")?;
    if value.contains('<') {
        return Err("a value holds a tag".to_owned());
    }
    Ok((name, value, rest))
}

fn is_safe_attribute(element: &str, name: &str, value: &str) -> bool {
    let name_only = name.rsplit(':').next().unwrap_or(name);
    if name_only.starts_with("on") || name_only == "base" {
        return false;
    }
    let target: String = value.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let target = target.to_lowercase();
    match name_only {
        "href" | "src" if target.starts_with('#') => true,
        "href" if element == "a" => {
            ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
        }
        "href" | "src" => ["png", "jpeg", "gif", "webp"]
            .iter()
            .any(|kind| element == "image" && target.starts_with(&format!("data:image/{kind};base64,"))),
        _ => is_safe_style(value),
    }
}

/// Whether a style, or a value that may hold one, fetches nothing.
fn is_safe_style(text: &str) -> bool {
    let plain: String = text.to_lowercase().split_whitespace().collect();
    let is_own = |rest: &str| rest.trim_start_matches(['"', '\'']).starts_with('#');
    let fetches = plain.match_indices("url(").any(|(at, word)| !is_own(&plain[at + word.len()..]));
    // A backslash can spell any of the words in another way.
    let is_hidden = plain.contains('\\') && (plain.contains('(') || plain.contains('@'));
    let calls = ["javascript:", "expression(", "@import", "image-set(", "-moz-binding", "behavior:"];
    !fetches && !is_hidden && !calls.iter().any(|word| plain.contains(word))
}

/// The name without its prefix, in lower case.
fn local_name(name: &str) -> String {
    name.rsplit(':').next().unwrap_or(name).to_lowercase()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Resolves what an attribute may hide its value behind. An unknown entity stays as it is.
fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let end = after.find(';').filter(|end| *end <= 10);
        let known = end.and_then(|end| entity(&after[..end]));
        match (known, end) {
            (Some(character), Some(end)) => {
                text.push(character);
                rest = &after[end + 1..];
            }
            (Some(_) | None, Some(_) | None) => {
                text.push('&');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

fn entity(name: &str) -> Option<char> {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
            Some(digits) => number(digits, 16),
            None => name.strip_prefix('#').and_then(|digits| number(digits, 10)),
        },
    }
}

fn split_after<'a>(text: &'a str, end: &str) -> Result<(&'a str, &'a str), String> {
    text.split_once(end).ok_or_else(|| format!("a `{end}` is missing"))
}

#[cfg(test)]
mod tests {
    use super::clean;

    fn inside(content: &str) -> String {
        let svg = clean(&format!("<svg>{content}</svg>")).unwrap();
        svg.strip_prefix("<svg>").and_then(|rest| rest.strip_suffix("</svg>")).unwrap().to_owned()
    }

    #[test]
    fn what_draws_is_kept() {
        let drawn = "<g id=\"a\"><title>a&lt;b</title><path d=\"M0,0\" style=\"fill:url(#x)\"/></g>";
        assert_eq!(inside(drawn), drawn);
        let link = "<a xlink:href=\"https://example.com/\"><text>x</text></a>";
        assert_eq!(inside(link), link);
        assert_eq!(inside("<style>.a{fill:red}</style>"), "<style>.a{fill:red}</style>");
        let whole =
            "<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"a\"\n \"b\">\n<!-- c -->\n<svg><g/></svg>\n";
        assert_eq!(clean(whole).unwrap().trim(), "<svg><g/></svg>");
    }

    #[test]
    fn what_runs_or_fetches_is_taken_out() {
        for content in [
            "<script>alert(1)</script>",
            "<SCRIPT>alert(1)</SCRIPT>",
            "<svg:script href=\"data:,alert(1)\"/>",
            "<script><![CDATA[alert(1)]]></script>",
            "<foreignObject><body xmlns=\"x\"><g><script>alert(1)</script></g></body></foreignObject>",
            "<set attributeName=\"href\" to=\"javascript:alert(1)\"/>",
            "<style>@import 'https://evil'</style>",
            "<style>@\\69mport 'https://evil'</style>",
            "<style><![CDATA[.a{background:url(https://evil)}]]></style>",
        ] {
            let left = inside(content);
            assert!(left.is_empty() || left == "<style></style>", "{content}: {left}");
        }
        for attribute in [
            "onload=\"alert(1)\"",
            "ONCLICK='alert(1)'",
            "x:onload=\"alert(1)\"",
            "href=\"javascript:alert(1)\"",
            "href=\"java&#x73;cript:alert(1)\"",
            "href=\"java&#10;script:alert(1)\"",
            "xlink:href=\"data:text/html,x\"",
            "href=\"https://evil/x.png\"",
            "style=\"fill:url( 'https://evil' )\"",
            "style=\"fill:u\\72l(https://evil)\"",
            "fill=\"url(//evil)\"",
            "xml:base=\"https://evil\"",
        ] {
            assert_eq!(inside(&format!("<image {attribute}/>")), "<image/>", "{attribute}");
        }
        assert_eq!(inside("<a href=\" javascript:alert(1)\"/>"), "<a/>");
        assert_eq!(inside("<text a='\"onload=1'/>"), "<text a=\"&quot;onload=1\"/>");
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        for text in [
            "",
            "x",
            "<html></html>",
            "<svg>",
            "<svg></g>",
            "<svg a=1></svg>",
            "<svg a></svg>",
            "<svg a=\"<\"></svg>",
            "<svg",
            "<svg><!-- </svg>",
            "<svg>< /svg>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><svg></svg>",
            "<svg><scr<b>ipt></svg>",
        ] {
            assert!(clean(text).is_err(), "{text}");
        }
        assert!(clean(&format!("<svg>{}", "<g>".repeat(100_000))).is_err());
    }
}
