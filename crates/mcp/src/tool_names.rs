//! The names under which a server's tools are offered: `mcp__SERVER__TOOL`, in the characters and the
//! length that every provider takes.
//!
//! The server's part has no two underscores in a row, so the first pair after the prefix ends it: no
//! server can offer a tool under the name of another server's.

use std::collections::HashSet;

/// How long a name may be.
const NAME_BYTES: usize = 64;
/// How much of it the server's part may take.
const SERVER_BYTES: usize = 24;

/// The parts that stand for the servers, in their order; no two are the same.
pub(crate) fn server_keys<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    names.map(|name| unique(&server_part(name), SERVER_BYTES, '-', &mut taken)).collect()
}

/// The names of one server's tools, in their order; no two are the same.
pub(crate) struct ToolNames {
    prefix: String,
    taken: HashSet<String>,
}

impl ToolNames {
    pub(crate) fn new(server_key: &str) -> ToolNames {
        ToolNames { prefix: format!("mcp__{server_key}__"), taken: HashSet::new() }
    }

    pub(crate) fn name(&mut self, tool: &str) -> String {
        let part: String = tool.chars().map(safe).collect();
        let part = if part.is_empty() { "tool" } else { &part };
        let room = NAME_BYTES - self.prefix.len();
        format!("{}{}", self.prefix, unique(part, room, '_', &mut self.taken))
    }
}

fn server_part(name: &str) -> String {
    let mut part = String::new();
    for character in name.chars().map(safe) {
        if character != '_' || !part.ends_with('_') {
            part.push(character);
        }
    }
    let part: String = part.trim_matches('_').chars().take(SERVER_BYTES).collect();
    let part = part.trim_end_matches('_');
    if part.is_empty() { "server".to_owned() } else { part.to_owned() }
}

/// The word itself, or with the first number that makes it a new one. It is ASCII already.
fn unique(word: &str, room: usize, separator: char, taken: &mut HashSet<String>) -> String {
    let mut name = word[..word.len().min(room)].to_owned();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        let suffix = format!("{separator}{number}");
        let stem = word[..word.len().min(room - suffix.len())].trim_end_matches(separator);
        name = format!("{stem}{suffix}");
    }
    name
}

fn safe(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') { character } else { '_' }
}

#[cfg(test)]
mod tests {
    use super::{ToolNames, server_keys};

    #[test]
    fn servers_are_told_apart_whatever_they_are_called() {
        let long = "x".repeat(40);
        let names = ["git", "a__b", "my server", "my_server", "", "漢字", "_", &long, &long];
        let keys = server_keys(names.into_iter());
        assert_eq!(&keys[..4], ["git", "a_b", "my_server", "my_server-2"]);
        assert_eq!(&keys[4..7], ["server", "server-2", "server-3"]);
        assert!(keys.iter().all(|key| key.len() <= 24 && !key.contains("__")), "{keys:?}");
        assert_ne!(keys[7], keys[8]);
    }

    #[test]
    fn tools_of_a_server_are_told_apart() {
        let mut names = ToolNames::new("git");
        assert_eq!(names.name("status"), "mcp__git__status");
        assert_eq!(names.name("a.b"), "mcp__git__a_b");
        assert_eq!(names.name("a/b"), "mcp__git__a_b_2");
        assert_eq!(names.name("\u{1b}[2K"), "mcp__git____2K");
        assert_eq!(names.name(""), "mcp__git__tool");
        let long = "y".repeat(500);
        let (first, second) = (names.name(&long), names.name(&long));
        assert!(first.len() <= 64 && second.len() <= 64 && first != second, "{first} {second}");
    }
}
