//! Requests to write a file, with the content that was given or a friendly one.

use super::clause::{CallIntent, text_after, unquoted, without_leading};
use super::files::is_path;

const DEFAULT_CONTENT: &str = "Hello from the embedded demo model of Ostler.\n";

/// `write hello.txt`, `create a file called notes with some text`, `write "hi" to hello.txt`.
pub(super) fn write(text: &str) -> Option<CallIntent> {
    let rest = text_after(text, &["write", "create", "save", "make", "put", "add"])?;
    content_first(rest).or_else(|| path_first(rest)).map(|(path, content)| {
        CallIntent::new("write_file", [("path", path.into()), ("content", content.into())])
    })
}

fn path_first(rest: &str) -> Option<(&str, &str)> {
    let rest = without_leading(rest, &["a", "an", "the", "new", "text", "me", "to", "into"]);
    let (rest, named) = match text_after(rest, &["file called", "file named", "file", "called", "named"]) {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let (word, rest) = first_word(rest)?;
    let (word, colon) = match word.strip_suffix(':') {
        Some(word) => (word, true),
        None => (word, false),
    };
    let content = content(rest, colon);
    // A full stop at the end of the sentence is not part of the name.
    let path = unquoted(
        if rest.is_empty() { word.trim_end_matches(['.', '!', '?']) } else { word }.trim_end_matches(','),
    );
    ((named && !path.is_empty()) || is_path(path)).then_some((path, content))
}

fn content_first(rest: &str) -> Option<(&str, &str)> {
    let separators = [" to the file ", " into the file ", " to ", " into ", " in the file ", " in "];
    let quoted = rest.starts_with(['"', '\'', '`', '“']);
    separators.iter().find_map(|separator| {
        let (content, path) = rest.rsplit_once(separator)?;
        let path = unquoted(path.trim().trim_end_matches(['.', '!', '?']));
        // Without quotes, `write a.txt with a note to b.txt` is about a.txt.
        let about_path = first_word(content).is_some_and(|(word, _)| is_path(word.trim_end_matches(':')));
        let starts_with_file = text_after(content, &["a file", "a new file", "the file", "file"]).is_some();
        let fits = is_path(path) && (quoted || !(about_path || starts_with_file));
        (fits && !content.trim().is_empty()).then(|| (path, unquoted(content)))
    })
}

fn content(rest: &str, colon: bool) -> &str {
    let introductions = [
        "with the following content",
        "with the content",
        "with the contents",
        "with the text",
        "with the line",
        "with contents",
        "with content",
        "with text",
        "with",
        "containing",
        "that contains",
        "which contains",
        "that says",
        "which says",
        "saying",
        "and put",
    ];
    let rest = rest.trim_start();
    let introduced =
        text_after(rest, &introductions).or_else(|| rest.strip_prefix(':')).or(colon.then_some(rest));
    let content = introduced.map(|text| unquoted(text.strip_prefix(':').unwrap_or(text))).unwrap_or_default();
    if content.is_empty() { DEFAULT_CONTENT } else { content }
}

/// The first word, or what is quoted there, and the rest.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '`' | '"' | '\''));
    let end = match quote {
        Some(quote) => text[1..].find(quote).map(|at| at + 2),
        None => text.find(char::is_whitespace),
    };
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (!word.is_empty()).then_some((word, rest))
}
