//! Reads settings from a git configuration file, without running git. What it does not understand it leaves out;
//! nothing is opened because of what a file says, so includes are left to the callers.

use std::io::Read;
use std::path::Path;

use crate::regular_file::open_regular;

/// The settings of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GitConfig(Vec<Setting>);

#[derive(Debug, PartialEq, Eq)]
struct Setting {
    /// `section.key` in lower case.
    name: String,
    /// Whether a subsection holds it.
    is_in_subsection: bool,
    value: String,
}

impl GitConfig {
    /// The size of the largest file that is read.
    pub const MAX_BYTES: u64 = 1 << 20;

    /// Reads a file. One that is missing or too large has no settings.
    pub fn read(path: &Path) -> GitConfig {
        let mut text = Vec::new();
        let read =
            open_regular(path).and_then(|file| file.take(GitConfig::MAX_BYTES + 1).read_to_end(&mut text));
        if read.is_err() || text.len() as u64 > GitConfig::MAX_BYTES {
            return GitConfig::default();
        }
        GitConfig::parse(&String::from_utf8_lossy(&text))
    }

    /// All values of a setting, in whichever subsection, the last one being the one that counts.
    pub fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.iter().filter(move |setting| setting.name == name).map(|setting| setting.value.as_str())
    }

    /// The same without subsections, for a setting that git does not look for in one.
    pub fn values_outside_subsections<'a>(
        &'a self,
        name: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a str> {
        let is_named = move |setting: &&Setting| setting.name == name && !setting.is_in_subsection;
        self.0.iter().filter(is_named).map(|setting| setting.value.as_str())
    }

    /// What may be a path of a file in the values of these settings: a value as a whole, and the words of a command line,
    /// which may stand behind a variable (`"$PWD"/tools/x`).
    pub fn words(&self, of: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
        let is_between = |c: char| c.is_whitespace() || "'\"`;|&<>(){}$=".contains(c);
        let of_setting = move |setting: &Setting| {
            let whole = setting.value.trim_start_matches('!').to_owned();
            let words = setting.value.split(is_between).map(|word| word.trim_start_matches('!'));
            let words = words.filter(|word| !word.is_empty());
            let relative = words.clone().filter_map(|word| word.strip_prefix('/'));
            // Of `$PWD/tools/x` the part behind the variable, whose name ends where a letter cannot go on with it.
            let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
            let behind = setting.value.split('$').skip(1).filter_map(|text| {
                text.trim_start_matches(is_of_name).strip_prefix('/')?.split(is_between).next()
            });
            let all: Vec<String> =
                words.chain(relative).chain(behind).map(str::to_owned).chain([whole]).collect();
            all
        };
        self.0.iter().filter(move |setting| of(&setting.name)).flat_map(of_setting)
    }

    /// The names of settings that `is_suspect` names, and of all that is written in a way that this reading
    /// and git's could take differently: whoever hides a setting from it is found out by that.
    pub fn suspects(text: &str, is_suspect: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found: Vec<String> =
            GitConfig::parse(text).0.into_iter().map(|setting| setting.name).collect();
        found.retain(|name| is_suspect(name));
        if !text.lines().all(is_plain) {
            found.push("settings written in an unusual way".to_owned());
        }
        found
    }

    /// The text with comments in place of settings that `before` does not have and `is_suspect` names. None where it is
    /// written in a way that this reading and git's could take differently.
    pub fn without_new(text: &str, before: &GitConfig, is_suspect: impl Fn(&str) -> bool) -> Option<String> {
        if !text.lines().all(is_plain) {
            return None;
        }
        let (mut out, mut section) = (String::with_capacity(text.len()), "");
        for line in text.lines() {
            if line.trim_start().starts_with('[') {
                section = line;
            }
            let here = if section == line { line.to_owned() } else { format!("{section}\n{line}") };
            let is_new = |setting: &Setting| is_suspect(&setting.name) && !before.0.contains(setting);
            let is_removed = section != line && GitConfig::parse(&here).0.iter().any(is_new);
            if is_removed {
                out.push_str("# removed by ostler: ");
            }
            out.push_str(line);
            out.push('\n');
        }
        Some(out)
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> GitConfig {
        let (mut section, mut is_in_subsection) = (String::new(), false);
        let mut settings = Vec::new();
        let mut rest = text.trim_start_matches('\u{feff}');
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return GitConfig(settings);
            }
            if rest.starts_with(['#', ';']) {
                rest = rest.split_once('\n').map_or("", |(_, after)| after);
            } else if let Some(header) = rest.strip_prefix('[') {
                let (inside, after) = header_end(header);
                // The name of a subsection does not matter here: `includeIf` counts as much as `include`.
                let mut parts = inside.splitn(2, [' ', '\t', '"', '.']);
                section = parts.next().unwrap_or_default().to_lowercase();
                is_in_subsection = parts.next().is_some();
                rest = after;
            } else {
                let end = rest.find(['=', '\n', '#', ';']).unwrap_or(rest.len());
                let name = format!("{section}.{}", rest[..end].trim().to_lowercase());
                let (value, after) = match rest[end..].strip_prefix('=') {
                    Some(after) => value(after),
                    None => ("true".to_owned(), &rest[end..]),
                };
                settings.push(Setting { name, is_in_subsection, value });
                rest = after;
            }
        }
    }
}

/// What is in a header, and what follows it. A quoted name may hold the bracket that ends others.
fn header_end(header: &str) -> (&str, &str) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (place, character) in header.char_indices() {
        match character {
            '\n' => return (&header[..place], &header[place..]),
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return (&header[..place], &header[place + 1..]),
            _ => {}
        }
    }
    (header, "")
}

/// A value as git reads it, and what follows it: quotes may begin and end anywhere, a comment ends it, and a
/// backslash at the end of a line continues it.
fn value(text: &str) -> (String, &str) {
    let (mut found, mut is_quoted) = (String::new(), false);
    // How much of it counts: blanks at the end do not, unless they are quoted.
    let mut length = 0;
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '\n' => {
                found.truncate(length);
                return (found, &text[place..]);
            }
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => {
                found.truncate(length);
                return (found, text[place..].find('\n').map_or("", |end| &text[place + end..]));
            }
            '\\' => match characters.next() {
                Some((_, '\n')) | None => continue,
                Some((_, 'n')) => found.push('\n'),
                Some((_, 't')) => found.push('\t'),
                Some((_, 'b')) => found.push('\u{8}'),
                Some((_, other)) => found.push(other),
            },
            blank if blank.is_whitespace() && !is_quoted => {
                if !found.is_empty() {
                    found.push(blank);
                }
                continue;
            }
            other => found.push(other),
        }
        length = found.len();
    }
    found.truncate(length);
    (found, "")
}

/// Whether a line is an empty one, a comment, a whole header, or a whole setting.
fn is_plain(line: &str) -> bool {
    let line = line.trim();
    let is_name = |text: &str| {
        !text.is_empty()
            && text.chars().all(|character| character.is_ascii_alphanumeric() || "-.".contains(character))
    };
    if line.is_empty() || line.starts_with(['#', ';']) {
        return true;
    }
    if line.ends_with('\\') {
        return false;
    }
    if let Some(header) = line.strip_prefix('[') {
        let Some(inside) = header.strip_suffix(']') else { return false };
        let (section, rest) = inside.split_once(' ').unwrap_or((inside, "\"\""));
        let subsection = rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        return is_name(section) && subsection.is_some_and(|name| !name.contains(['"', '\\', '[', ']']));
    }
    let (key, _) = line.split_once('=').unwrap_or((line, ""));
    is_name(key.trim())
}

#[cfg(test)]
mod tests {
    use super::GitConfig;

    #[test]
    fn what_could_hide_a_setting_is_suspect() {
        let suspects = |text: &str| GitConfig::suspects(text, |name| name == "core.fsmonitor");
        let usual =
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/[y].git\n# a\n[a \"b/c\"]\nx\n";
        assert!(suspects(usual).is_empty());
        assert_eq!(suspects("[core]\n\tfsmonitor = x\n"), ["core.fsmonitor"]);
        for hidden in [
            "[a][core]fsmonitor=x",
            "[core]\n a = b\\\n[c]\n fsmonitor = x",
            "[a \"]\"][core]\nfsmonitor=x",
            "\u{feff}[core]\nfsmonitor=x",
            "[a \"\\\"]\"]\nfsmonitor=x",
        ] {
            assert!(!suspects(hidden).is_empty(), "{hidden:?}");
        }
    }

    #[test]
    fn settings_are_found_however_they_are_written() {
        let config = GitConfig::parse(
            "[Core]\n\thooksPath = .husky/_\n; no\n[includeIf \"gitdir:x\"] path=\"../a b\"\n[extensions]\nworktreeConfig\n",
        );
        assert_eq!(config.values("core.hookspath").collect::<Vec<_>>(), [".husky/_"]);
        assert_eq!(config.values("includeif.path").collect::<Vec<_>>(), ["../a b"]);
        assert_eq!(config.values("extensions.worktreeconfig").next_back(), Some("true"));
    }

    #[test]
    fn values_are_what_git_makes_of_them() {
        let value = |text: &str| {
            let config = GitConfig::parse(&format!("[a \"]\"]\n[include]\n\tpath {text}\n[b]\n\tc = d\n"));
            assert_eq!(config.values("b.c").collect::<Vec<_>>(), ["d"], "{text}");
            config.values("include.path").next_back().map(str::to_owned)
        };
        for (text, expected) in [
            ("= ../x # a comment", "../x"),
            ("=../x;y", "../x"),
            ("= \"../a ; b\"  ", "../a ; b"),
            ("= ../a\" b \"c", "../a b c"),
            ("= one\\\n\ttwo", "one\ttwo"),
            ("= \\\"x\\\\", "\"x\\"),
            ("", "true"),
            ("=", ""),
        ] {
            assert_eq!(value(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_new_and_suspect_is_taken_out() {
        let before = GitConfig::parse("[core]\n\tbare = false\n\teditor = vi\n");
        let without = |text: &str| {
            GitConfig::without_new(text, &before, |name| !["core.bare", "branch.remote"].contains(&name))
        };
        let text = "[core]\n\tbare = false\n\teditor = vi\n\tfsmonitor = evil\n[branch \"main\"]\n\tremote = origin\n\teditor = x\n";
        let expected = text
            .replace("\tfsmonitor", "# removed by ostler: \tfsmonitor")
            .replace("\teditor = x", "# removed by ostler: \teditor = x");
        assert_eq!(without(text), Some(expected));
        assert_eq!(
            without("[core]\n\teditor = other\n").unwrap(),
            "[core]\n# removed by ostler: \teditor = other\n"
        );
        assert_eq!(without("[core] fsmonitor = evil\n"), None);
        assert_eq!(without("[core]\n\tbare = \\\nfsmonitor = evil\n"), None);
    }
}
