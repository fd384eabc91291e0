//! `docs/events.md` against the code: every event and delta has a section with an example line, every
//! command and report is mentioned, and nothing is described that is gone.

use serde_json::Value;

use super::TidyFinding;
use super::production;
use super::tree::RepositoryTree;
use crate::rust_text;

const DOCUMENT: &str = "docs/events.md";
const EVENTS: &str = "crates/types/src/event.rs";
const NAMES: &str = "crates/types/src/event_name.rs";
const DELTAS: &str = "crates/types/src/delta.rs";
const COMMANDS: &str = "crates/types/src/command.rs";

/// The members of a record, in their order.
const RECORD: &[&str] = &["seq", "ts", "session_id", "turn_id", "type", "data", "chain"];

/// Each event and delta has a section `### \`name\`` with an example that parses and has that type.
pub(super) fn events_documented(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let sections = sections(text(tree, DOCUMENT));
    let events = event_names(tree);
    let deltas = names(text(tree, DELTAS));
    let mut findings: Vec<TidyFinding> = [(NAMES, &events), (DELTAS, &deltas)]
        .iter()
        .filter(|(_, names)| names.is_empty())
        .map(|(path, _)| {
            TidyFinding::new(path, 1, "no names found; the check of docs/events.md reads them there")
        })
        .collect();
    for (name, members) in
        events.iter().map(|name| (name, Some(RECORD))).chain(deltas.iter().map(|name| (name, None)))
    {
        match sections.iter().find(|section| section.name == *name) {
            Some(section) => findings.extend(example_findings(section, members)),
            None => {
                let text = format!("`{name}` has no section; add `### \\`{name}\\`` with an example line");
                findings.push(TidyFinding::new(DOCUMENT, 1, text));
            }
        }
    }
    let gone =
        sections.iter().filter(|section| !events.contains(&section.name) && !deltas.contains(&section.name));
    findings.extend(gone.map(|section| {
        let text = format!("`{}` is neither an event nor a delta; delete the section", section.name);
        TidyFinding::new(DOCUMENT, section.line, text)
    }));
    findings
}

/// Each command and report is named in the document, in backticks and snake case.
pub(super) fn commands_mentioned(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let document = text(tree, DOCUMENT);
    let code = rust_text::scan(text(tree, COMMANDS)).code;
    let mut findings = Vec::new();
    for kind in ["Command", "TurnReport"] {
        let variants = rust_text::variants(&code, kind);
        if variants.is_empty() {
            let text = format!("no enum `{kind}` found; the check of {DOCUMENT} reads it here");
            findings.push(TidyFinding::new(COMMANDS, 1, text));
        }
        let names = variants.iter().map(|variant| rust_text::snake_case(variant));
        findings.extend(names.filter(|name| !document.contains(&format!("`{name}`"))).map(|name| {
            let text = format!("the {} `{name}` is not mentioned; say what it leads to", kind.to_lowercase());
            TidyFinding::new(DOCUMENT, 1, text)
        }));
    }
    findings
}

/// A section of the document that is named after an event.
struct EventSection {
    name: String,
    line: usize,
    /// The lines of its JSON blocks, with their numbers.
    examples: Vec<(usize, String)>,
}

fn sections(document: &str) -> Vec<EventSection> {
    let mut sections: Vec<EventSection> = Vec::new();
    let (mut fenced, mut inside) = (false, false);
    for (number, line) in document.lines().enumerate() {
        if line.starts_with("```") {
            fenced = !fenced && line.trim_end() == "```json";
        } else if fenced && inside {
            let section = sections.last_mut().expect("inside means that a section has begun");
            section.examples.push((number + 1, line.to_owned()));
        } else if line.starts_with('#') && !fenced {
            let name = line.strip_prefix("### `").and_then(|rest| rest.split('`').next());
            inside = name.is_some();
            sections.extend(name.map(|name| EventSection {
                name: name.to_owned(),
                line: number + 1,
                examples: Vec::new(),
            }));
        }
    }
    sections
}

/// What is wrong with a section's examples. With `members`, each must have exactly these, in this order.
fn example_findings(section: &EventSection, members: Option<&[&str]>) -> Vec<TidyFinding> {
    if section.examples.is_empty() {
        let text = format!("`{}` has no example; add a ```json block with one whole line", section.name);
        return vec![TidyFinding::new(DOCUMENT, section.line, text)];
    }
    let judge = |(line, text): &(usize, String)| {
        let problem = match serde_json::from_str::<Value>(text) {
            Err(error) => format!("the example is not one line of JSON: {error}"),
            Ok(value) if value["type"] != section.name.as_str() => {
                format!("the example's type is {}, not \"{}\"", value["type"], section.name)
            }
            Ok(value) => {
                let present: Vec<&String> =
                    value.as_object().into_iter().flat_map(|object| object.keys()).collect();
                match members {
                    Some(members) if present != members => {
                        format!("the example's members should be {}", members.join(", "))
                    }
                    _ => return None,
                }
            }
        };
        Some(TidyFinding::new(DOCUMENT, *line, problem))
    };
    section.examples.iter().filter_map(judge).collect()
}

/// The names of all events.
fn event_names(tree: &RepositoryTree) -> Vec<String> {
    let named = |line: &str| Some(line.split_once(" = \"")?.1.strip_suffix("\",")?.to_owned());
    text(tree, NAMES).lines().filter_map(named).collect()
}

/// An event is named by `EventName`, which the compiler knows, and not by a text.
pub(super) fn named_by_type(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let names: Vec<String> = event_names(tree).iter().map(|name| format!("\"{name}\"")).collect();
    let is_checked = |path: &str| !path.starts_with("crates/testing/") && ![EVENTS, NAMES].contains(&path);
    let mut findings = Vec::new();
    for file in production::files(tree).filter(|file| is_checked(&file.path)) {
        for (number, line) in production::lines(file) {
            let named = names
                .iter()
                .find(|name| line.contains(name.as_str()) && !line.trim_start().starts_with("//"));
            findings.extend(named.map(|name| {
                let text = format!("names an event by the text {name}; use `EventName`");
                TidyFinding::new(&file.path, number, text)
            }));
        }
    }
    findings
}

/// The strings that `fn name` returns, one per match arm.
fn names(source: &str) -> Vec<String> {
    let functions = rust_text::functions(&rust_text::scan(source).code);
    let Some(function) = functions.iter().find(|function| function.name == "name") else { return Vec::new() };
    let body = source.lines().skip(function.line - 1).take(function.lines);
    let arms = body.filter_map(|line| line.split_once("=> \""));
    arms.filter_map(|(_, rest)| rest.split('"').next()).map(str::to_owned).collect()
}

fn text<'a>(tree: &'a RepositoryTree, path: &str) -> &'a str {
    tree.file(path).map_or("", |file| file.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, DELTAS, DOCUMENT, NAMES, commands_mentioned, events_documented, named_by_type};
    use crate::tidy::tree::RepositoryTree;

    const EVENT_CODE: &str = "event_names! {\n    A(AEvent) {\n        Done: ADone = \"a_done\",\n    }\n}\n";
    const DELTA_CODE: &str =
        "impl Delta { fn name(&self) -> &'static str {\n match x { D::B => \"b_delta\",\n } } }\n";
    const GOOD: &str = "# Events\n### `a_done`\n```json\n{\"seq\":1,\"ts\":\"\",\"session_id\":\"\",\"turn_id\":null,\"type\":\"a_done\",\"data\":{},\"chain\":\"\"}\n```\n### `b_delta`\n```json\n{\"type\":\"b_delta\",\"data\":{}}\n```\n## Commands\n";

    fn found(document: &str) -> Vec<String> {
        let tree =
            RepositoryTree::from_files(&[(DOCUMENT, document), (NAMES, EVENT_CODE), (DELTAS, DELTA_CODE)]);
        events_documented(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_event_is_not_named_by_a_text() {
        let used = "fn f() {\n    // \"a_done\"\n    g(\"a_done\");\n}\n#[cfg(test)]\nmod tests { const A: &str = \"a_done\"; }\nfn h() { g(\"a_done\") }\n";
        let tree = RepositoryTree::from_files(&[
            (NAMES, EVENT_CODE),
            ("crates/a/src/lib.rs", used),
            ("crates/a/tests/it.rs", used),
        ]);
        let found = named_by_type(&tree);
        assert_eq!(
            found.iter().map(|finding| (finding.path.as_str(), finding.line)).collect::<Vec<_>>(),
            [("crates/a/src/lib.rs", 3), ("crates/a/src/lib.rs", 7)]
        );
    }

    #[test]
    fn a_complete_document_passes() {
        assert_eq!(found(GOOD), Vec::<String>::new());
    }

    #[test]
    fn each_lack_is_found() {
        for (from, to, wanted) in [
            ("### `a_done`", "### a_done", "`a_done` has no section"),
            ("### `b_delta`", "### `c_delta`", "`c_delta` is neither"),
            ("\"type\":\"a_done\"", "\"type\":\"a\"", "the example's type is \"a\""),
            ("\"seq\":1,", "", "members should be seq, ts"),
            ("{\"type\":\"b_delta\"", "{{\"type\":\"b_delta\"", "not one line of JSON"),
            ("{\"type\":\"b_delta\",\"data\":{}}\n", "", "`b_delta` has no example"),
        ] {
            let lines = found(&GOOD.replace(from, to));
            assert!(lines.iter().any(|line| line.contains(wanted)), "{wanted}: {lines:?}");
        }
    }

    #[test]
    fn names_that_cannot_be_read_fail_instead_of_passing_silently() {
        let tree = RepositoryTree::from_files(&[(DOCUMENT, GOOD), (NAMES, ""), (DELTAS, DELTA_CODE)]);
        assert!(events_documented(&tree).iter().any(|finding| finding.path == NAMES));
        assert!(commands_mentioned(&tree).iter().any(|finding| finding.path == COMMANDS));
    }

    #[test]
    fn a_command_that_is_not_mentioned_is_found() {
        let code = "pub enum Command { Submit { by: String }, TakeBack }\npub enum TurnReport { StepFinished(u8) }\n";
        let check = |document: &str| {
            commands_mentioned(&RepositoryTree::from_files(&[(DOCUMENT, document), (COMMANDS, code)])).len()
        };
        assert_eq!(check("`submit` `take_back` `step_finished`"), 0);
        assert_eq!(check("`submit` take_back `step_finished`"), 1);
        assert_eq!(check(""), 3);
    }
}
