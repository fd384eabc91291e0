//! A unified diff with its lines in colours.

use std::fmt;

use super::EscapedHtml;

/// A diff as a block.
pub(in crate::export) struct DiffBlock<'a>(pub(in crate::export) &'a str);

impl fmt::Display for DiffBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<pre class=\"diff\">")?;
        for line in self.0.lines() {
            let class = match line.as_bytes().first() {
                Some(b'+') if line.starts_with("+++ ") => "file",
                Some(b'-') if line.starts_with("--- ") => "file",
                Some(b'+') => "added",
                Some(b'-') => "removed",
                Some(b'@') => "hunk",
                Some(_) | None => "same",
            };
            // The line break is inside, so that an empty line keeps its height.
            write!(f, "<span class=\"{class}\">{}\n</span>", EscapedHtml(line))?;
        }
        f.write_str("</pre>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::DiffBlock;

    #[test]
    fn each_line_says_what_it_is() {
        let html = DiffBlock("--- a/x\n+++ b/x\n@@ -1 +1 @@\n same\n-<old>\n+new").to_string();
        for line in [
            "<span class=\"file\">--- a/x\n</span>",
            "<span class=\"hunk\">@@ -1 +1 @@\n</span>",
            "<span class=\"same\"> same\n</span>",
            "<span class=\"removed\">-&lt;old&gt;\n</span>",
            "<span class=\"added\">+new\n</span>",
        ] {
            assert!(html.contains(line), "{line} in {html}");
        }
    }
}
