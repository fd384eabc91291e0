//! Requests to look at the workspace: list, read and search.

use serde_json::Value;

use super::clause::{CallIntent, text_after, unquoted, without_ending, without_leading};

const ARTICLES: [&str; 8] = ["the", "all", "of", "my", "me", "this", "every", "these"];

/// The words for the place that the session works in.
const HERE: [&str; 20] = [
    "",
    ".",
    "./",
    "here",
    "this directory",
    "this folder",
    "this repo",
    "this repository",
    "this project",
    "this workspace",
    "the current directory",
    "the current folder",
    "the workspace",
    "the repo",
    "the repository",
    "the project",
    "the directory",
    "the folder",
    "current directory",
    "there",
];

/// `list the files in src`, `what is in src`, `show me the tree`.
pub(super) fn list(text: &str) -> Option<CallIntent> {
    let text = text.trim_end_matches(['.', '?', '!']);
    if let Some(directory) = text_after(text, &["what is in", "what's in", "what is inside", "ls", "tree"]) {
        let looks_like_file = last_name(unquoted(directory)).trim_start_matches('.').contains('.');
        return (!looks_like_file).then(|| tree(directory)).flatten();
    }
    if ["what is here", "what's here"].iter().any(|words| text.eq_ignore_ascii_case(words)) {
        return tree("");
    }
    if let Some(rest) = text_after(text, &["list"]) {
        let rest = without_leading(rest, &ARTICLES);
        return listed(rest)
            .or_else(|| tree(text_after(rest, &["contents of", "content of"]).unwrap_or(rest)));
    }
    let verbs = ["show me", "show", "give me", "display", "print", "see", "find", "what", "which"];
    let rest = without_leading(text_after(text, &verbs)?, &ARTICLES);
    listed(rest).or_else(|| without_ending(rest, &[" directory", " folder"]).and_then(tree))
}

/// What follows `list`, if it speaks of files in general.
fn listed(rest: &str) -> Option<CallIntent> {
    let nouns = [
        "files and folders",
        "files and directories",
        "files",
        "file tree",
        "file list",
        "directory tree",
        "tree",
        "everything",
        "directory structure",
        "folder structure",
        "project structure",
        "directory",
        "folder",
    ];
    let rest = without_leading(
        text_after(rest, &nouns)?,
        &["are there", "there are", "are", "do you see", "we have", "you see"],
    );
    match text_after(rest, &["in", "of", "under", "inside", "within", "from", "at"]) {
        Some(directory) => tree(directory),
        None => tree(rest),
    }
}

fn tree(directory: &str) -> Option<CallIntent> {
    let directory = directory.trim();
    let call = CallIntent::new("repo_tree", []);
    if HERE.iter().any(|words| directory.eq_ignore_ascii_case(words)) {
        return Some(call);
    }
    let directory = without_ending(directory, &[" directory", " folder", " dir"]).unwrap_or(directory);
    let directory =
        unquoted(without_leading(directory, &["the directory", "the folder", "directory", "folder", "the"]));
    one_word(directory).then(|| call.with("path", directory))
}

/// `search for main`, `grep main in src`, `where is Session`.
pub(super) fn search(text: &str) -> Option<CallIntent> {
    let text = text.trim_end_matches(['?', '!']);
    let verbs = [
        "search the code for",
        "search the files for",
        "search the workspace for",
        "search everything for",
        "search for",
        "search",
        "find all uses of",
        "find uses of",
        "find me",
        "find",
        "grep for",
        "grep -r",
        "grep -rn",
        "grep",
        "rg",
        "look for",
        "where is",
        "where are",
    ];
    let fillers = [
        "the word",
        "the words",
        "the text",
        "the string",
        "the phrase",
        "all occurrences of",
        "occurrences of",
        "all",
        "the",
    ];
    let rest = without_leading(text_after(text, &verbs)?.trim_start_matches([':', ' ']), &fillers);
    let (query, place) = match rest.rsplit_once(" in ") {
        Some((query, place)) => match glob(place) {
            Some(glob) => (query, Some(glob)),
            None if HERE.iter().any(|words| place.trim().eq_ignore_ascii_case(words)) => (query, None),
            None => (rest, None),
        },
        None => (rest, None),
    };
    let query = unquoted(query.trim_end_matches('.'));
    let call = (!query.is_empty()).then(|| CallIntent::new("search", [("query", query.into())]))?;
    Some(match place {
        Some(glob) => call.with("glob", glob),
        None => call,
    })
}

/// The files that `in src` or `in *.rs files` means.
fn glob(place: &str) -> Option<String> {
    let place = place.trim().trim_end_matches('.');
    let place = without_ending(place, &[" files", " directory", " folder"]).unwrap_or(place);
    let place = unquoted(without_leading(place, &["the", "all"]));
    let common = ["src", "tests", "docs", "lib", "crates", "examples"].contains(&place);
    if !one_word(place) || !(common || place.contains(['/', '*', '.'])) {
        None
    } else if place.contains('*') || last_name(place).contains('.') {
        Some(place.to_owned())
    } else {
        Some(format!("{}/**", place.trim_end_matches('/')))
    }
}

/// `read README.md`, `show me a.txt and b.txt`, `read lines 3 to 9 of a.txt`.
pub(super) fn read(text: &str) -> Option<Vec<CallIntent>> {
    let verbs = [
        "read",
        "show me",
        "show",
        "open",
        "cat",
        "print",
        "display",
        "view",
        "look at",
        "take a look at",
        "see",
        "what is in",
        "what's in",
        "head",
    ];
    let rest = text_after(text, &verbs)?.trim_end_matches(['.', '?', '!']);
    let rest = what(rest);
    if let Some((lines, path)) = line_range(rest) {
        let [start, end] = lines.map(Value::from);
        let call =
            CallIntent::new("read_file", [("path", path.into()), ("start_line", start), ("end_line", end)]);
        return Some(vec![call]);
    }
    let names: Vec<&str> = rest
        .split(',')
        .flat_map(|names| names.split(" and "))
        .map(|name| unquoted(what(name.trim())))
        .collect();
    let paths: Option<Vec<String>> = names.iter().map(|name| file(name)).collect();
    let paths = paths.or_else(|| {
        let first = rest.split_whitespace().next().filter(|first| is_path(first))?;
        Some(vec![unquoted(first).to_owned()])
    })?;
    Some(paths.into_iter().map(|path| CallIntent::new("read_file", [("path", path.into())])).collect())
}

fn what(text: &str) -> &str {
    let words =
        ["the", "both", "me", "file", "files", "contents of", "content of", "contents", "called", "named"];
    without_leading(text, &words)
}

/// A name that can be a file's. The one that everybody abbreviates is spelled out.
fn file(name: &str) -> Option<String> {
    if name.eq_ignore_ascii_case("readme") {
        return Some("README.md".to_owned());
    }
    one_word(name).then(|| name.to_owned())
}

/// `first 10 lines of a.txt`, `lines 3-9 of a.txt`, `a.txt lines 3 to 9`.
fn line_range(text: &str) -> Option<([u64; 2], &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let of = ["of", "from", "in"];
    match words.as_slice() {
        ["first", count, "lines", preposition, path] if of.contains(preposition) => {
            Some(([1, count.parse().ok()?], unquoted(path)))
        }
        ["lines" | "line", range @ .., preposition, path] if of.contains(preposition) => {
            Some((numbers(range)?, unquoted(path)))
        }
        [path, "lines" | "line", range @ ..] => Some((numbers(range)?, unquoted(path.trim_end_matches(',')))),
        _ => None,
    }
}

fn numbers(words: &[&str]) -> Option<[u64; 2]> {
    let range = words.join(" ").replace(" to ", "-").replace(" - ", "-");
    let (start, end) = range.split_once('-').unwrap_or((&range, &range));
    Some([start.trim().parse().ok()?, end.trim().parse().ok()?])
}

/// Whether a word looks like a file's path.
pub(super) fn is_path(word: &str) -> bool {
    let word = unquoted(word);
    let known = ["Makefile", "Dockerfile", "LICENSE", "README"].contains(&word);
    one_word(word)
        && (known || word.contains('/') || word.trim_matches('.').contains('.') || is_dotfile(word))
}

fn is_dotfile(word: &str) -> bool {
    word.strip_prefix('.').is_some_and(|name| name.starts_with(|c: char| c.is_alphanumeric()))
}

fn one_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
