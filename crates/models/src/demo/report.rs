//! What the demo model says of tool calls: what it is about to do, and what came of it, as the tool
//! put it.

use ostler_types::{ToolCall, results};

use super::clause::CallIntent;
use super::situation::DemoToolOutcome;

/// How much of a tool's answer is quoted.
const MAX_LINES: usize = 30;
const MAX_BYTES: usize = 4 * 1024;

/// What is about to be done.
pub(super) fn intention_text(calls: &[CallIntent]) -> String {
    let each: Vec<String> = calls.iter().map(one_intention).collect();
    match each.as_slice() {
        [one] => format!("I {one}."),
        _ => format!("I do these in parallel: I {}.", each.join("; I ")),
    }
}

fn one_intention(call: &CallIntent) -> String {
    let argument = |name: &str| call.argument(name).map(quote).unwrap_or_default();
    match call.tool {
        "repo_tree" if call.argument("path").is_some() => format!("list the files in {}", argument("path")),
        "repo_tree" => "list the files".to_owned(),
        "read_file" => format!("read {}", argument("path")),
        "search" => format!("search for {}", argument("query")),
        "shell" => format!("run {}", argument("command")),
        "write_file" => format!("write {}", argument("path")),
        other => format!("call `{other}`"),
    }
}

/// What came of a call.
pub(super) fn outcome_text(outcome: &DemoToolOutcome<'_>) -> String {
    let what = subject(outcome);
    let text = outcome.text.trim_end();
    if outcome.ok {
        return succeeded(outcome, &what, text);
    }
    match denial(text) {
        Some("") => return format!("You denied {what}, so nothing was done."),
        Some(reason) => {
            return format!("You denied {what}, so nothing was done. Your reason: {}", quote(reason));
        }
        None => {}
    }
    match text {
        results::HALTED => format!("I did not get to {what}, because the call before it failed."),
        results::CANCELED => format!("You canceled {what} while it was under way."),
        results::INTERRUPTED => format!("I do not know what became of {what}: it was interrupted."),
        results::NOT_STARTED => format!("I did not get to {what}: the turn ended first."),
        _ if outcome.name == "shell" => shell(text, &format!("{} failed", capital(&what))),
        _ => format!("{} failed:\n\n{}", capital(&what), block(text)),
    }
}

fn succeeded(outcome: &DemoToolOutcome<'_>, what: &str, text: &str) -> String {
    if text.is_empty() {
        return format!("{} is done; there was nothing to show.", capital(what));
    }
    match outcome.name {
        "write_file" => format!("{} is done: {}", capital(what), excerpt(text, 3)),
        "shell" => shell(text, &format!("{} ended", capital(what))),
        "read_file" | "repo_tree" | "search" => format!("Here is what {what} gave:\n\n{}", block(text)),
        _ => format!("{} answered:\n\n{}", capital(what), block(text)),
    }
}

/// What the call was about, in a few words.
fn subject(outcome: &DemoToolOutcome<'_>) -> String {
    let argument = |name: &str| outcome.call.and_then(|call| text_argument(call, name)).map(quote);
    let known = match outcome.name {
        "read_file" => argument("path").map(|path| format!("reading {path}")),
        "write_file" => argument("path").map(|path| format!("writing {path}")),
        "search" => argument("query").map(|query| format!("the search for {query}")),
        "shell" => argument("command").map(|command| format!("the command {command}")),
        "repo_tree" => Some(match argument("path") {
            Some(path) => format!("the list of files in {path}"),
            None => "the list of files".to_owned(),
        }),
        _ => None,
    };
    known.unwrap_or_else(|| format!("the tool {}", quote(outcome.name)))
}

fn text_argument<'a>(call: &'a ToolCall, name: &str) -> Option<&'a str> {
    call.input.get(name).and_then(serde_json::Value::as_str)
}

/// What a person said on denying a call; None if nobody denied it. A file system denies things too,
/// so only the word on the user counts.
fn denial(text: &str) -> Option<&str> {
    let (_, said) = ["The user denied this call", "You denied this call"]
        .iter()
        .find_map(|words| text.split_once(words).filter(|(before, _)| before.is_empty()))?;
    Some(said.trim_start_matches([':', '.', ' ']))
}

/// How a command ended, which the tool says in its last line, and what it printed before that.
fn shell(text: &str, verb: &str) -> String {
    let (output, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let (output, ending) = if last.starts_with("exit code ") {
        (output, format!(" with {last}"))
    } else if last.starts_with("killed by") || last.starts_with("timed out") {
        (output, format!(", {last}"))
    } else {
        (text, String::new())
    };
    if output.trim().is_empty() {
        format!("{verb}{ending} and printed nothing.")
    } else {
        format!("{verb}{ending}:\n\n{}", block(output))
    }
}

/// A short text on one line, between backticks.
pub(super) fn quote(text: &str) -> String {
    let line: String = text.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let cut = if text.chars().nth(200).is_some() { "…" } else { "" };
    let fence = "`".repeat(longest_run(&line) + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{line}{cut}{space}{fence}")
}

/// The first lines of a text as a block of code.
fn block(text: &str) -> String {
    let shown = excerpt(text, MAX_LINES);
    let fence = "`".repeat(longest_run(shown).max(2) + 1);
    let left = text[shown.len()..].lines().filter(|line| !line.is_empty()).count();
    let more = match left {
        0 => String::new(),
        1 => "\n\n… and 1 more line.".to_owned(),
        _ => format!("\n\n… and {left} more lines."),
    };
    format!("{fence}\n{shown}\n{fence}{more}")
}

/// The first lines of a text, but not too many bytes.
fn excerpt(text: &str, lines: usize) -> &str {
    let end = memchr::memchr_iter(b'\n', text.as_bytes()).nth(lines - 1).unwrap_or(text.len());
    let end = (0..=end.min(MAX_BYTES)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
