//! The files that a glob may become. Every file that bash would find is among them; more may be, because any
//! character with a meaning counts as any text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_command_line::ReadExtent;

use super::public_read_scope::PublicReadScope;

/// A glob, taken apart.
pub(super) struct Glob {
    is_absolute: bool,
    parts: Vec<GlobComponent>,
    text: String,
}

/// What stands between two slashes: texts, with anything between them.
struct GlobComponent {
    texts: Vec<String>,
}

impl Glob {
    /// Takes a glob apart in which a backslash takes the meaning from the next character.
    pub(super) fn new(glob: &str) -> Glob {
        let mut parts = vec![GlobComponent { texts: vec![String::new()] }];
        let mut text = String::new();
        let (mut is_open, mut characters) = (false, glob.chars());
        while let Some(character) = characters.next() {
            let (character, has_meaning) = match character {
                '\\' => (characters.next().unwrap_or('\\'), false),
                other => (other, true),
            };
            text.push(character);
            let Some(part) = parts.last_mut() else { continue };
            match character {
                '/' => {
                    parts.push(GlobComponent { texts: vec![String::new()] });
                    is_open = false;
                }
                '*' | '?' | '[' if has_meaning && !is_open => {
                    part.texts.push(String::new());
                    if character == '[' {
                        match simple_bracket(characters.as_str()) {
                            Some(length) => {
                                text.push_str(&characters.as_str()[..length]);
                                characters = characters.as_str()[length..].chars();
                            }
                            // Where it ends is not certain, so the rest of the name may be anything.
                            None => is_open = true,
                        }
                    }
                }
                _ if is_open => {}
                other => {
                    if let Some(last) = part.texts.last_mut() {
                        last.push(other);
                    }
                }
            }
        }
        parts.retain(|part| part.texts != [""]);
        Glob { is_absolute: text.starts_with('/'), parts, text }
    }

    /// The glob as a shell passes it on where nothing matches.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The paths that it may become. None where a directory on the way is not public, or there are too many.
    pub(super) fn expand(&self, directory: &Path, scope: &mut PublicReadScope) -> Option<Vec<PathBuf>> {
        let start = if self.is_absolute { Path::new("/") } else { directory };
        let mut paths = vec![start.to_owned()];
        for part in &self.parts {
            if let [name] = part.texts.as_slice() {
                paths.iter_mut().for_each(|path| path.push(name));
                continue;
            }
            let mut found = Vec::new();
            for path in &paths {
                if !scope.is_public(path, ReadExtent::Itself) {
                    return None;
                }
                found.extend(part.matches_in(path, scope)?);
            }
            paths = found;
        }
        Some(paths)
    }
}

/// How long the rest of a bracket is, with its end, when it holds nothing but letters, digits and ranges.
fn simple_bracket(rest: &str) -> Option<usize> {
    let (held, _) = rest.split_once(']')?;
    let characters = held.strip_prefix(['!', '^']).unwrap_or(held);
    let is_simple = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    (!characters.is_empty() && characters.chars().all(is_simple)).then_some(held.len() + 1)
}

impl GlobComponent {
    fn matches_in(&self, directory: &Path, scope: &mut PublicReadScope) -> Option<Vec<PathBuf>> {
        // Older shells match `.` and `..` too.
        let special = [".", ".."].map(OsStr::new).into_iter().filter(|_| self.texts[0].starts_with('.'));
        let mut found: Vec<PathBuf> =
            special.filter(|name| self.matches(name)).map(|name| directory.join(name)).collect();
        let Ok(entries) = directory.read_dir() else { return Some(found) };
        for entry in entries {
            if !scope.count_lookup() {
                return None;
            }
            let name = entry.ok()?.file_name();
            if self.matches(&name) {
                found.push(directory.join(name));
            }
        }
        Some(found)
    }

    fn matches(&self, name: &OsStr) -> bool {
        let [first, middle @ .., last] = self.texts.as_slice() else { return false };
        let Some(mut rest) = name.as_bytes().strip_prefix(first.as_bytes()) else { return false };
        for text in middle {
            let text = text.as_bytes();
            if text.is_empty() {
                continue;
            }
            match rest.windows(text.len()).position(|window| window == text) {
                Some(position) => rest = &rest[position + text.len()..],
                None => return false,
            }
        }
        rest.ends_with(last.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::Glob;

    #[test]
    fn a_part_fits_at_least_what_bash_matches() {
        let fits = |glob: &str, name: &str| Glob::new(glob).parts[0].matches(OsStr::new(name));
        for (glob, name) in [
            ("*", "a"),
            ("*.rs", "a.rs"),
            ("a*b*c", "abc"),
            ("a*b*c", "axbyc"),
            ("a?c", "abc"),
            ("[ab]c", "ac"),
            ("x[a]y", "xay"),
            ("[[:alpha:]]y", "xy"),
            ("[]a]y", "]y"),
            ("[!a]y", "by"),
            ("[a-c]y*", "by"),
            ("[\\a]y", "ay"),
            ("[a", "[a"),
            ("a\\**", "a*b"),
            ("**", "a"),
            (".*", ".."),
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
        for (glob, name) in
            [("*.rs", "a.c"), ("[ab].rs", "a.c"), ("a*b", "a"), ("a\\*?", "axb"), ("a*b*b", "ab")]
        {
            assert!(!fits(glob, name), "{glob} {name}");
        }
    }

    #[test]
    fn quoted_slashes_separate_names_too() {
        let glob = Glob::new("\\/a\\/b*");
        assert!(glob.is_absolute);
        assert_eq!(glob.parts.len(), 2);
        assert_eq!(glob.text(), "/a/b*");
    }
}
