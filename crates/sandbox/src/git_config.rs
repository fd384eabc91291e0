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

#[cfg(test)]
mod tests {
    use super::GitConfig;

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
