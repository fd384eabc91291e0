//! Reads as much of a git configuration file as the sandbox has to know, without running git. What it
//! does not understand it leaves out; nothing is opened because of what a file says.

use std::path::Path;

/// How much of a file is looked at.
const MAXIMUM_BYTES: u64 = 1 << 20;

/// The settings of one file, as `section.key` in lower case and the value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GitConfig(Vec<(String, String)>);

impl GitConfig {
    /// Reads a file. One that is missing or too large has no settings.
    pub(crate) fn read(path: &Path) -> GitConfig {
        let small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAXIMUM_BYTES);
        let text = if small { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
        GitConfig::parse(&String::from_utf8_lossy(&text))
    }

    /// All values of a setting, the last one being the one that counts.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The names of settings that `is_suspect` names, and of all that is written in a way that this reading
    /// and git's could take differently: whoever hides a setting from it is found out by that.
    pub(crate) fn suspects(path: &Path, is_suspect: impl Fn(&str) -> bool) -> Vec<String> {
        let Ok(metadata) = std::fs::metadata(path) else { return Vec::new() };
        if !metadata.is_file() || metadata.len() > MAXIMUM_BYTES {
            return vec!["settings that cannot be read".to_owned()];
        }
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut found: Vec<String> = GitConfig::parse(&text).0.into_iter().map(|(name, _)| name).collect();
        found.retain(|name| is_suspect(name));
        if !text.lines().all(is_plain) {
            found.push("settings written in an unusual way".to_owned());
        }
        found
    }

    fn parse(text: &str) -> GitConfig {
        let mut section = String::new();
        let mut settings = Vec::new();
        for line in text.lines().map(str::trim) {
            let mut rest = line;
            if let Some((header, after)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                // The name of a subsection does not matter here: `includeIf` counts as much as `include`.
                section = header.split([' ', '\t', '"', '.']).next().unwrap_or_default().to_lowercase();
                rest = after.trim();
            }
            if rest.is_empty() || rest.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = rest.split_once('=').unwrap_or((rest, "true"));
            let key = format!("{section}.{}", key.trim().to_lowercase());
            settings.push((key, value.trim().trim_matches('"').to_owned()));
        }
        GitConfig(settings)
    }
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
        let place = tempfile::tempdir().unwrap();
        let suspects = |text: &str| {
            let path = place.path().join("config");
            std::fs::write(&path, text).unwrap();
            GitConfig::suspects(&path, |name| name == "core.fsmonitor")
        };
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
        std::fs::remove_file(place.path().join("config")).unwrap();
        assert!(GitConfig::suspects(&place.path().join("config"), |_| true).is_empty());
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
}
