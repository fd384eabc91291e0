//! The environment that child processes get: a few names that tools need, and nothing that may be
//! secret. It is built from nothing, so that a new secret in the daemon's environment stays there.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Names that pass. Whatever `LC_` begins passes too.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
];

/// Words that keep a name out even where the list would let it in: `LC_MY_TOKEN` is a known way to
/// carry a secret through ssh.
const SECRET_WORDS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// What children get whatever the daemon has: nobody is there to page or to type an answer.
const FIXED: &[(&str, &str)] =
    &[("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The path where the daemon has none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment for a child, out of the daemon's.
pub fn child_environment(
    daemon: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut child: Vec<(OsString, OsString)> = daemon.into_iter().filter(|(name, _)| passes(name)).collect();
    // What is found relative to where a command runs, the repository decides.
    child.retain_mut(|(name, value)| name != "PATH" || keep_absolute(value));
    if !child.iter().any(|(name, _)| name == "PATH") {
        child.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    child.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
    child
}

/// Drops the relative and empty entries of a search path; says whether any is left.
fn keep_absolute(path: &mut OsString) -> bool {
    let absolute: Vec<PathBuf> = std::env::split_paths(path).filter(|place| place.is_absolute()).collect();
    *path = std::env::join_paths(&absolute).unwrap_or_default();
    !path.is_empty()
}

/// The same for a child that sits at a terminal.
pub fn terminal_environment(
    daemon: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut child = child_environment(daemon);
    child.retain(|(name, _)| name != "TERM");
    child.push(("TERM".into(), "xterm-256color".into()));
    child
}

fn passes(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let upper = name.to_uppercase();
    let listed = ALLOWED.contains(&name) || name.starts_with("LC_");
    listed && !upper.starts_with("OSTLER_") && !SECRET_WORDS.iter().any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::child_environment;

    fn child_of(daemon: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        child_environment(daemon.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn only_listed_names_pass() {
        let child = child_of(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("LC_MY_TOKEN", "canary"),
            ("lc_all", "canary"),
            ("OPENAI_API_KEY", "canary"),
            ("OSTLER_TOKEN", "canary"),
            ("OSTLER_HOME", "canary"),
            ("AWS_PROFILE", "canary"),
            ("LD_PRELOAD", "canary"),
            ("BASH_ENV", "canary"),
            ("GIT_SSH_COMMAND", "canary"),
            ("HTTP_PROXY", "canary"),
            ("SSH_AUTH_SOCK", "canary"),
            ("TERM", "canary"),
        ]);
        assert!(child.iter().all(|(_, value)| value != "canary"), "{child:?}");
        assert!(child.contains(&("PATH".into(), "/bin".into())));
        assert!(child.contains(&("LC_ALL".into(), "C".into())));
        assert!(child.contains(&("TERM".into(), "dumb".into())));
    }

    #[test]
    fn a_path_has_only_absolute_entries() {
        let path = |value: &str| {
            let child = child_of(&[("PATH", value)]);
            let (_, path) = child.iter().find(|(name, _)| name == "PATH").unwrap();
            path.to_str().unwrap().to_owned()
        };
        assert_eq!(path("./node_modules/.bin:/usr/bin::bin:/bin:"), "/usr/bin:/bin");
        assert_eq!(path("."), super::DEFAULT_PATH);
        assert_eq!(path(""), super::DEFAULT_PATH);
    }

    #[test]
    fn there_is_always_a_path() {
        assert!(child_of(&[]).iter().any(|(name, value)| name == "PATH" && !value.is_empty()));
    }
}
