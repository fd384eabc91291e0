//! What a server answered, as the outcome of a tool: text for the model, cut to head and tail where it is
//! long; images beside it; structure for clients.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_runner::ToolOutcome;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::server_text::{head, strip_hidden, tail};

/// How much of the text the model sees.
const SHOWN_BYTES: usize = 32 * 1024;
/// How much of the text is kept.
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// How large an image is handed on. In base64 it then stays within what providers take.
const IMAGE_BYTES: usize = 3_750_000;
/// How many images are handed on.
const MAXIMUM_IMAGES: usize = 8;
/// How long structured content may be.
const STRUCTURE_BYTES: usize = 64 * 1024;
/// The images that models can see.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The outcome of a call that was answered.
pub(crate) fn to_tool_outcome(server: &str, tool: &str, result: CallToolResult) -> ToolOutcome {
    let mut answer = CallResultContent::default();
    for block in result.content {
        answer.add(block);
    }
    let mut details = json!({ "server": server, "tool": tool });
    if let Some(structure) = result.structured_content {
        answer.structure(structure, &mut details);
    }
    let ok = !result.is_error.unwrap_or(false);
    if answer.text.is_empty() {
        answer.text.push_str(if ok {
            "[The tool returned no content.]"
        } else {
            "The tool failed without an error message."
        });
    }
    let (text, whole) = head_and_tail(answer.text, answer.total);
    details["truncated"] = whole.is_some().into();
    let attachments = answer.images;
    ToolOutcome { ok, details: Some(details), whole, attachments, ..ToolOutcome::failed(text) }
}

/// What has been taken from the answer so far.
#[derive(Default)]
struct CallResultContent {
    text: String,
    /// How long the text would be in whole.
    total: usize,
    images: Vec<(String, Vec<u8>)>,
}

impl CallResultContent {
    fn add(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(content) => self.push(&content.text),
            ContentBlock::Image(content) => self.image(&content.mime_type, &content.data),
            ContentBlock::Audio(content) => self.not_shown("sound", &content.mime_type, content.data.len()),
            ContentBlock::ResourceLink(link) => {
                let name = quoted_word(link.title.as_deref().unwrap_or(&link.name));
                let kind = link
                    .mime_type
                    .as_deref()
                    .map_or_else(String::new, |kind| format!(" ({})", quoted_word(kind)));
                self.push(&format!("[A resource: {name}{kind} at {}]", quoted_word(&link.uri)));
            }
            ContentBlock::Resource(content) => self.resource(content.resource),
            _ => self.push("[Content of an unknown type was omitted.]"),
        }
    }

    fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.push(&format!("[The resource {}]\n{text}", quoted_word(&uri)));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                self.push(&format!("[The resource {}]", quoted_word(&uri)));
                self.image(mime_type.as_deref().unwrap_or("application/octet-stream"), &blob);
            }
            _ => self.push("[A resource of an unknown type was omitted.]"),
        }
    }

    /// An image that a model can see is attached; of anything else it is told that it is there.
    fn image(&mut self, mime_type: &str, data: &str) {
        let fits = data.len() / 4 * 3 <= IMAGE_BYTES && self.images.len() < MAXIMUM_IMAGES;
        let known =
            IMAGE_TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(mime_type)).filter(|_| fits);
        match known.zip(STANDARD.decode(data).ok()) {
            Some((mime_type, bytes)) => {
                self.push(&format!("[An image ({mime_type}, {} bytes); it is attached.]", bytes.len()));
                self.images.push((mime_type.to_owned(), bytes));
            }
            None => self.not_shown("data", mime_type, data.len()),
        }
    }

    fn not_shown(&mut self, what: &str, mime_type: &str, encoded_bytes: usize) {
        let bytes = encoded_bytes / 4 * 3;
        self.push(&format!(
            "[Omitted {what} ({}, about {bytes} bytes), which cannot be shown.]",
            quoted_word(mime_type)
        ));
    }

    fn structure(&mut self, structure: Value, details: &mut Value) {
        let text = structure.to_string();
        if self.text.is_empty() {
            self.push(&text);
        }
        if text.len() <= STRUCTURE_BYTES {
            details["structured"] = structure;
        } else {
            details["structured_bytes"] = text.len().into();
        }
    }

    fn push(&mut self, text: &str) {
        let separator = if self.total == 0 { "" } else { "\n" };
        for text in [separator, text] {
            self.total += text.len();
            self.text.push_str(head(text, (2 * KEPT_BYTES).saturating_sub(self.text.len())));
        }
    }
}

/// Head and tail of the text, and the text itself, where it is too long to be shown in whole.
fn head_and_tail(mut text: String, total: usize) -> (String, Option<Vec<u8>>) {
    if total <= SHOWN_BYTES {
        return (text, None);
    }
    let (first, last) = (head(&text, SHOWN_BYTES / 2), tail(&text, SHOWN_BYTES / 2));
    let left_out = total - first.len() - last.len();
    let kept = head(&text, KEPT_BYTES).len();
    let note = if kept < total {
        format!("; only the first {kept} of {total} bytes were kept")
    } else {
        String::new()
    };
    let shown = format!("{first}\n[… {left_out} bytes truncated{note} …]\n{last}");
    text.truncate(kept);
    (shown, Some(text.into_bytes()))
}

/// A word that stands within a sentence of ours.
fn quoted_word(text: &str) -> String {
    strip_hidden(head(text, 500)).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ContentBlock};
    use serde_json::json;

    use super::{KEPT_BYTES, SHOWN_BYTES, to_tool_outcome};

    #[test]
    fn texts_are_joined_and_images_attached() {
        let svg = ContentBlock::image("PHN2Zz4=", "image/svg+xml");
        let blocks = vec![
            ContentBlock::text("one"),
            ContentBlock::image("iVBORw0KGgo=", "image/PNG"),
            svg,
            ContentBlock::image("no base64!", "image/png"),
            ContentBlock::embedded_text("file:///a\u{1b}b", "inside"),
            ContentBlock::audio("AAAA", "audio/wav"),
        ];
        let outcome = to_tool_outcome("s", "t", CallToolResult::success(blocks));
        assert!(outcome.ok);
        assert_eq!(outcome.attachments, [("image/png".to_owned(), b"\x89PNG\r\n\x1a\n".to_vec())]);
        let lines: Vec<&str> = outcome.text.lines().collect();
        assert_eq!(lines[0], "one");
        assert!(lines[1].contains("it is attached"));
        assert!(lines[2].contains("image/svg+xml") && lines[2].contains("cannot be shown"));
        assert!(lines[3].contains("cannot be shown"));
        assert_eq!(&lines[4..6], ["[The resource file:///ab]", "inside"]);
        assert!(lines[6].contains("audio/wav"));
    }

    #[test]
    fn long_text_keeps_head_and_tail_and_all_that_fits() {
        let middle = "é".repeat(KEPT_BYTES);
        let blocks =
            vec![ContentBlock::text("first"), ContentBlock::text(middle), ContentBlock::text("last")];
        let outcome = to_tool_outcome("s", "t", CallToolResult::success(blocks));
        assert!(outcome.text.starts_with("first\né") && outcome.text.len() < SHOWN_BYTES + 200);
        assert!(outcome.text.contains("bytes truncated; only the first"));
        let whole = outcome.whole.expect("the text was cut");
        assert!(whole.len() <= KEPT_BYTES && whole.len() >= KEPT_BYTES - 1);
        assert_eq!(outcome.details.expect("there are some")["truncated"], json!(true));
    }

    #[test]
    fn structure_stands_in_for_text_that_is_missing() {
        let mut result = CallToolResult::structured(json!({ "a": 1 }));
        result.content.clear();
        let done = to_tool_outcome("s", "t", result);
        assert_eq!((done.text.as_str(), done.ok), (r#"{"a":1}"#, true));
        let details = done.details.expect("there are some");
        assert_eq!(
            details,
            json!({ "server": "s", "tool": "t", "structured": { "a": 1 }, "truncated": false })
        );
        let failed = to_tool_outcome("s", "t", CallToolResult::error(Vec::new()));
        assert_eq!((failed.text.as_str(), failed.ok), ("The tool failed without an error message.", false));
    }
}
