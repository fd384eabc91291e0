//! Pieces of HTML: text that is safe to show, diffs, prose, pictures. What a page is made of is left to `page`.

mod diff;
mod markdown;
mod picture;

use std::fmt;

use ostler_types::printable;

pub(super) use diff::DiffBlock;
pub(super) use markdown::MarkdownBlock;
pub(super) use picture::PictureEmbedder;

/// Text that shows as itself, in an element or in a quoted attribute, without what nobody would see.
pub(super) struct EscapedHtml<'a>(pub(super) &'a str);

impl fmt::Display for EscapedHtml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.replace('\0', "\u{fffd}");
        let shown = printable(&shown);
        let mut rest = &*shown;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::EscapedHtml;

    #[test]
    fn nothing_that_is_escaped_is_markup() {
        let text = "<script>alert(\"1\" & '2')</script>\0 ü";
        let shown = "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;\u{fffd} ü";
        assert_eq!(EscapedHtml(text).to_string(), shown);
    }
}
