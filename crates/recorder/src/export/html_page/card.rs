//! Cards that unfold: a tool call with its input and its result, and the checks of a workspace.

use std::io;

use ostler_types::{CommandResult, Part, ToolResult};
use serde_json::Value;

use super::HtmlPage;
use crate::export::html::{DiffBlock, EscapedHtml};
use crate::plain_text::result_text;

/// Members of an input that say in a few words what a call is about.
const SUBJECTS: [&str; 8] = ["command", "path", "query", "pattern", "url", "description", "name", "focus"];
/// Members of an input that a diff shows better.
const SHOWN_BY_DIFF: [&str; 4] = ["content", "patch", "old", "new"];
/// Characters of a value that stands in a line of its own.
const SHORT: usize = 80;

impl HtmlPage<'_> {
    /// Writes a call, with what came of it and how long that took.
    pub(super) fn write_card(
        &mut self,
        name: &str,
        input: Option<&Value>,
        result: Option<(&ToolResult, u64)>,
    ) -> io::Result<()> {
        let diffs: Vec<&str> = result.map(|(result, _)| diffs(result)).unwrap_or_default();
        let (state, took) = match result {
            Some((result, took)) if result.ok => ("<span class=\"ok\">✓</span>", duration(took)),
            Some((_, took)) => ("<span class=\"failed\">failed</span>", duration(took)),
            None => ("<span class=\"failed\">no result</span>", String::new()),
        };
        let subject = input.map(subject).unwrap_or_default();
        writeln!(
            self.out,
            "<details>\n<summary><span class=\"tool\">{}</span><span class=\"subject\">{}</span>\
             <span class=\"took\">{took}</span>{state}</summary>\n<div class=\"inside\">",
            EscapedHtml(name),
            EscapedHtml(&subject)
        )?;
        if let Some(input) = input {
            self.write_input(input, !diffs.is_empty())?;
        }
        for diff in diffs {
            write!(self.out, "{}", DiffBlock(diff))?;
        }
        if let Some((result, _)) = result {
            self.write_result(result)?;
        }
        writeln!(self.out, "</div>\n</details>")
    }

    /// Writes how the workspace was checked.
    pub(super) fn write_checks(&mut self, ok: bool, results: &[CommandResult]) -> io::Result<()> {
        let state = if ok { "<span class=\"ok\">✓</span>" } else { "<span class=\"failed\">failed</span>" };
        let commands: Vec<&str> = results.iter().map(|result| result.command.as_str()).collect();
        writeln!(
            self.out,
            "<details>\n<summary><span class=\"tool\">Verification</span>\
             <span class=\"subject\">{}</span>{state}</summary>\n<div class=\"inside\">",
            EscapedHtml(&commands.join(" · "))
        )?;
        for result in results {
            let code = result.exit_code.map_or("no exit code".to_owned(), |code| format!("exit code {code}"));
            let (command, took) = (EscapedHtml(&result.command), duration(result.duration_ms));
            writeln!(self.out, "<p class=\"label\">{command} · {code} · {took}</p>")?;
            writeln!(self.out, "<pre>{}</pre>", EscapedHtml(result.output.trim_end()))?;
        }
        writeln!(self.out, "</div>\n</details>")
    }

    fn write_input(&mut self, input: &Value, has_diff: bool) -> io::Result<()> {
        let Value::Object(members) = input else {
            return writeln!(self.out, "<pre>{}</pre>", EscapedHtml(&text_of(input)));
        };
        for (name, value) in members {
            if has_diff && SHOWN_BY_DIFF.contains(&name.as_str()) {
                continue;
            }
            let text = text_of(value);
            let label = EscapedHtml(name);
            if text.contains('\n') || text.chars().count() > SHORT {
                let text = EscapedHtml(text.trim_end());
                writeln!(self.out, "<p class=\"label\">{label}</p>\n<pre class=\"plain\">{text}</pre>")?;
            } else {
                writeln!(self.out, "<p class=\"label\">{label}: <code>{}</code></p>", EscapedHtml(&text))?;
            }
        }
        Ok(())
    }

    fn write_result(&mut self, result: &ToolResult) -> io::Result<()> {
        let text = result_text(result);
        if !text.trim().is_empty() {
            writeln!(self.out, "<p class=\"label\">result</p>\n<pre>{}</pre>", EscapedHtml(text.trim_end()))?;
        }
        for part in &result.parts {
            if let Part::Image { reference, mime_type } = part {
                self.pictures.write(reference, mime_type, self.out)?;
            }
        }
        for artifact in &result.artifacts {
            writeln!(self.out, "<p class=\"file-name\">{}</p>", EscapedHtml(artifact))?;
        }
        Ok(())
    }
}

/// What a call is about, in a line.
fn subject(input: &Value) -> String {
    let named = SUBJECTS.iter().find_map(|name| input.get(name).and_then(Value::as_str));
    let text = named.map_or_else(|| input.to_string(), str::to_owned);
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(2 * SHORT).collect();
    if short == "{}" { String::new() } else { short }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).expect("a value is JSON"),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The diffs that a tool says it made.
fn diffs(result: &ToolResult) -> Vec<&str> {
    let files = result.details.as_ref().and_then(|details| details.get("files")).and_then(Value::as_array);
    let diffs = files.into_iter().flatten().filter_map(|file| file.get("diff")?.as_str());
    diffs.filter(|diff| !diff.is_empty()).collect()
}

fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds / 1000 % 60),
    }
}
