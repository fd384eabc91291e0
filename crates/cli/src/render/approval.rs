//! What a tool call would do, for the person who approves it: the diff of its files, or the call itself in full. Pure.

use ostler_types::{ChangeKind, FileChange};
use serde_json::Value;

use super::sanitize::sanitize;
use super::style::{Paint, Style};

/// Lines that are shown at first; the person can ask for the rest.
pub const PREVIEW_LINES: usize = 200;

/// The preview of a call, each line with its end; at most `max_lines` lines, and how to see the rest.
pub fn approval_preview(
    files: Option<&[FileChange]>,
    input: &Value,
    color: bool,
    max_lines: usize,
) -> String {
    let style = Style::new(color);
    let lines = match files {
        Some(files) if !files.is_empty() && files.iter().all(|file| file.diff.is_some() || file.binary) => {
            files.iter().flat_map(file_lines).collect()
        }
        Some(_) | None => input_lines(input),
    };
    let mut out = String::new();
    for (paint, line) in lines.iter().take(max_lines) {
        style.push(*paint, &sanitize(line).replace('\n', " "), &mut out);
        out.push('\n');
    }
    if lines.len() > max_lines {
        let rest = format!("  … {} more lines; `d` shows everything", lines.len() - max_lines);
        style.push(Paint::Dim, &rest, &mut out);
        out.push('\n');
    }
    out
}

fn file_lines(file: &FileChange) -> Vec<(Paint, String)> {
    let what = match (&file.from, file.kind) {
        (Some(from), _) => format!(" (was {from})"),
        (None, ChangeKind::Added) => " (new)".to_owned(),
        (None, ChangeKind::Deleted) => " (deleted)".to_owned(),
        (None, _) => String::new(),
    };
    let head = format!("  {}{what}  +{} −{}", file.path, file.added, file.removed);
    let mut lines = vec![(Paint::Tool, head)];
    let Some(diff) = &file.diff else {
        lines.push((Paint::Dim, "  binary file".to_owned()));
        return lines;
    };
    let is_new = file.kind == ChangeKind::Added;
    for line in diff.lines().filter(|line| !is_file_header(line)) {
        let paint = match line.as_bytes().first() {
            Some(b'+') => Paint::Good,
            Some(b'-') => Paint::Bad,
            Some(b'@') if is_new => continue,
            Some(b'@') => Paint::Dim,
            _ => Paint::Plain,
        };
        lines.push((paint, format!("  {line}")));
    }
    lines
}

/// The lines that name the file once more.
fn is_file_header(line: &str) -> bool {
    ["--- ", "+++ ", "diff --git ", "index "].iter().any(|start| line.starts_with(start))
}

/// The command, or every argument of the call.
fn input_lines(input: &Value) -> Vec<(Paint, String)> {
    let command = input.get("command").and_then(Value::as_str);
    let mut lines: Vec<(Paint, String)> = Vec::new();
    if let Some(command) = command {
        let mark = |index| if index == 0 { "  $ " } else { "    " };
        lines.extend(
            command.lines().enumerate().map(|(at, line)| (Paint::Tool, format!("{}{line}", mark(at)))),
        );
    }
    let others = input.as_object().into_iter().flatten();
    for (name, value) in others.filter(|(name, _)| command.is_none() || *name != "command") {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match text.contains('\n') {
            false => lines.push((Paint::Plain, format!("  {name}: {text}"))),
            true => {
                lines.push((Paint::Plain, format!("  {name}:")));
                lines.extend(text.lines().map(|line| (Paint::Plain, format!("    {line}"))));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use ostler_types::{ChangeKind, FileChange};
    use serde_json::json;

    use super::approval_preview;

    fn file(kind: ChangeKind, diff: &str) -> FileChange {
        FileChange {
            path: "a\u{1b}[2Jb.txt".to_owned(),
            kind,
            from: None,
            added: 1,
            removed: 1,
            binary: false,
            diff: Some(diff.to_owned()),
        }
    }

    #[test]
    fn a_change_is_shown_as_its_diff() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
        let text = approval_preview(Some(&[file(ChangeKind::Modified, diff)]), &json!({}), false, 50);
        assert_eq!(text, "  ab.txt  +1 −1\n  @@ -1 +1 @@\n  -old\n  +new\n");
        let new = approval_preview(Some(&[file(ChangeKind::Added, diff)]), &json!({}), false, 50);
        assert!(new.starts_with("  ab.txt (new)") && !new.contains("@@"), "{new}");
        let cut = approval_preview(Some(&[file(ChangeKind::Modified, diff)]), &json!({}), false, 2);
        assert!(cut.ends_with("… 2 more lines; `d` shows everything\n"), "{cut}");
    }

    #[test]
    fn a_call_without_a_diff_is_shown_in_full() {
        let input = json!({"command": "make \\\n  test", "cwd": "sub"});
        let text = approval_preview(None, &input, false, 50);
        assert_eq!(text, "  $ make \\\n      test\n  cwd: sub\n");
        let text = approval_preview(Some(&[]), &json!({"path": "x", "content": "a\nb"}), false, 50);
        assert_eq!(text, "  path: x\n  content:\n    a\n    b\n");
    }
}
