//! The few settings of a repository that change what git says of it and can make git run nothing: names are kept
//! by a list, everything else is left out. What is written in an unusual way is left out too, which costs a
//! little of what is said and nothing else.

use std::path::{Path, PathBuf};

/// How much of a file is read.
const MAX_BYTES: u64 = 1 << 20;
/// How many settings are kept.
const MAX_SETTINGS: usize = 2_000;

/// The settings that are kept, in sections without a name and with one.
const KEPT_SETTINGS: &[(&str, &[&str])] = &[
    ("core", &["filemode", "ignorecase", "autocrlf", "eol", "symlinks", "precomposeunicode"]),
    ("branch", &["remote", "merge"]),
    ("remote", &["fetch"]),
];

/// What git is told whatever the repository says.
const FIXED_SETTINGS: &str = "\
[core]
\tbare = false
\tfsmonitor = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tuntrackedCache = false
\tpager = cat
\teditor = false
\taskPass = false
\tsshCommand = false
[commit]
\tgpgSign = false
[log]
\tshowSignature = false
[protocol]
\tallow = never
[submodule]
\trecurse = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[index]
\tsparse = false
";

/// The harmless settings of a repository.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SafeConfig {
    /// Section, its name, key, value.
    kept: Vec<(String, Option<String>, String, String)>,
    is_sha256: bool,
    has_reftable: bool,
    worktree: Option<String>,
}

impl SafeConfig {
    /// Reads a file, and nothing that it includes. One that is missing or too large has no settings.
    pub(crate) fn read(path: &Path) -> SafeConfig {
        let bytes = ostler_workspace_fs::read_unlinked(path, MAX_BYTES).unwrap_or_default();
        let mut config = SafeConfig::default();
        let mut section: Option<(String, Option<String>)> = None;
        for line in bytes.split(|byte| *byte == b'\n') {
            // A line that is not UTF-8 has nothing that is kept.
            let Ok(line) = std::str::from_utf8(line).map(str::trim) else { continue };
            if line.starts_with('[') {
                section = header(line);
            } else if let (Some((section, name)), Some((key, value))) = (&section, setting(line)) {
                config.keep(section, name.as_deref(), &key, value);
            }
        }
        config
    }

    /// Whether objects are named by SHA-256.
    pub(crate) fn is_sha256(&self) -> bool {
        self.is_sha256
    }

    /// Whether references are kept in another way than in files of their own.
    pub(crate) fn has_reftable(&self) -> bool {
        self.has_reftable
    }

    /// Where a submodule says that its work tree is.
    pub(crate) fn worktree(&self) -> Option<PathBuf> {
        self.worktree.as_ref().map(PathBuf::from)
    }

    /// As a file for git.
    pub(crate) fn text(&self) -> String {
        let (mut text, version) = (FIXED_SETTINGS.to_owned(), u8::from(self.is_sha256 || self.has_reftable));
        text.push_str(&format!("[core]\n\trepositoryformatversion = {version}\n"));
        if self.is_sha256 {
            text.push_str("[extensions]\n\tobjectFormat = sha256\n");
        }
        if self.has_reftable {
            text.push_str("[extensions]\n\trefStorage = reftable\n");
        }
        for (section, name, key, value) in &self.kept {
            let name = name.as_ref().map(|name| format!(" \"{}\"", escaped(name))).unwrap_or_default();
            text.push_str(&format!("[{section}{name}]\n\t{key} = \"{}\"\n", escaped(value)));
        }
        text
    }

    fn keep(&mut self, section: &str, name: Option<&str>, key: &str, value: String) {
        match (section, key) {
            ("extensions", "objectformat") => self.is_sha256 = value == "sha256",
            ("extensions", "refstorage") => self.has_reftable = value == "reftable",
            ("core", "worktree") => self.worktree = Some(value),
            _ if self.kept.len() < MAX_SETTINGS
                && KEPT_SETTINGS.iter().any(|(known, keys)| *known == section && keys.contains(&key)) =>
            {
                self.kept.push((section.to_owned(), name.map(str::to_owned), key.to_owned(), value));
            }
            _ => {}
        }
    }
}

/// The section that a header begins, and its name. None for one that is written in an unusual way.
fn header(line: &str) -> Option<(String, Option<String>)> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let Some((section, rest)) = inside.split_once(' ') else {
        return is_word(inside).then(|| (inside.to_ascii_lowercase(), None));
    };
    let name = rest.trim_start().strip_prefix('"')?.strip_suffix('"')?;
    let is_plain = !name.contains(['"', '\\']) && !name.contains(char::is_control);
    (is_word(section) && is_plain).then(|| (section.to_ascii_lowercase(), Some(name.to_owned())))
}

/// A key in lower case and its value. None for anything but one whole plain setting.
fn setting(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let is_plain = !value.contains(['"', '\\', '#', ';']) && !value.contains(char::is_control);
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_plain && is_key).then(|| (key.to_ascii_lowercase(), value.to_owned()))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::SafeConfig;

    fn text_of(config: &[u8]) -> String {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        std::fs::write(&path, config).unwrap();
        SafeConfig::read(&path).text()
    }

    #[test]
    fn only_harmless_settings_are_kept() {
        let text = text_of(
            b"[core]\n\tfilemode = true\n\tfsmonitor = ./evil\n\tsshCommand=evil\n[filter \"\xff\"]\n\tclean = evil\n\
              [include]\n\tpath = evil\n[includeIf \"gitdir:/\"]\n\tpath = evil\n[branch \"ma\\\\in\"]\n\tremote = evil\n\
              [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[diff \"x\"] textconv = evil\n\
              [alias]\n\tstatus = !evil\n[core] hooksPath = evil\n[extensions]\n\tobjectFormat = sha256\n\
              [remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\tuploadpack = evil\n\tvcs = evil\n\
              [branch \"a\"]\n\tmerge = x\\\n\tevil\n",
        );
        assert!(!text.contains("evil"), "{text}");
        for kept in
            ["filemode = \"true\"", "[branch \"main\"]\n\tremote = \"origin\"", "objectFormat = sha256"]
        {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }
}
