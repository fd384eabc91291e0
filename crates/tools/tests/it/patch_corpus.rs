//! Patches as models send them, each with the files before, and the exact files after or the words of
//! the refusal.

mod bytes;
mod envelope;
mod refusals;
mod unified;
mod wrappers;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::fixture::ToolFixture;

/// Paths and contents.
type Files = &'static [(&'static str, &'static str)];

/// Names of cases, their patches, and words of the refusals.
type Refusals = &'static [(&'static str, &'static str, &'static [&'static str])];

/// One patch and what comes of it.
struct Case {
    name: &'static str,
    before: Files,
    patch: &'static str,
    expected: Expected,
}

enum Expected {
    /// The files afterwards, and all of them.
    After(Files),
    /// The same, and words of the result.
    AfterSaying(Files, &'static [&'static str]),
    /// Words of the refusal. The files are as before.
    Refused(&'static [&'static str]),
}

async fn check(cases: &[Case]) {
    for case in cases {
        let fixture = ToolFixture::with(case.before);
        let outcome = fixture.call("apply_patch", json!({"patch": case.patch})).await;
        let (after, words, ok) = match case.expected {
            Expected::After(after) => (after, [].as_slice(), true),
            Expected::AfterSaying(after, words) => (after, words, true),
            Expected::Refused(words) => (case.before, words, false),
        };
        assert_eq!(outcome.ok, ok, "{}: {}", case.name, outcome.text);
        for word in words {
            assert!(outcome.text.contains(word), "{}: `{word}` is not in: {}", case.name, outcome.text);
        }
        let after: BTreeMap<String, String> =
            after.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect();
        assert_eq!(contents(&fixture), after, "{}: {}", case.name, outcome.text);
        if ok && words.is_empty() {
            assert!(!outcome.text.contains("more than one place"), "{}: {}", case.name, outcome.text);
        }
    }
}

async fn check_refused(before: Files, refusals: Refusals) {
    for (name, patch, words) in refusals {
        check(&[Case { name, before, patch, expected: Expected::Refused(words) }]).await;
    }
}

/// Every file of the workspace, and every empty directory with no content.
fn contents(fixture: &ToolFixture) -> BTreeMap<String, String> {
    let root = fixture.workspace();
    let mut contents = BTreeMap::new();
    for name in fixture.names() {
        let path = Path::new(&name);
        let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        if path.is_file() {
            contents.insert(relative, std::fs::read_to_string(path).unwrap());
        } else if std::fs::read_dir(path).unwrap().next().is_none() {
            contents.insert(format!("{relative}/"), String::new());
        }
    }
    contents
}
