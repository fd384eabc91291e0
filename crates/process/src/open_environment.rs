//! The environment of programs that run with more rights than a sandboxed command: commands that print keys, agents in
//! the open, editors, browsers. They get what their owner has set, but for variables that name code to load, and for
//! those that lead into a place that a sandboxed command can write.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::finder::{ProgramFinder, is_within};
use crate::loader_variables::is_loader_variable;

/// What a workspace must not set and its owner may: each holds a place or a program, which is judged by where it leads.
const JUDGED_BY_VALUE: &[&str] = &[
    "HOME",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "GOROOT",
    "JAVA_HOME",
    "TERMINFO",
    "TERMINFO_DIRS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "BROWSER",
];

/// What stands between the paths of a value, beside the colon.
const SEPARATORS: &[u8] = b":;,= \t\n'\"";

impl ProgramFinder {
    /// What a program with more rights than a sandboxed command gets of these variables, and the PATH that it is to have.
    pub fn environment(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let named = variables.into_iter().filter(|(name, _)| name != "PATH" && !names_code(name));
        let mut kept = self.without_writable_values(named);
        kept.push(("PATH".into(), self.path()));
        kept
    }

    /// These variables without those that lead into a place that a sandboxed command can write.
    pub fn without_writable_values(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let places = self.writable_places();
        variables.into_iter().filter(|(_, value)| !leads_into(value, &places)).collect()
    }
}

fn names_code(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    is_loader_variable(&name) && !JUDGED_BY_VALUE.contains(&&*name)
}

/// Whether a value holds a path that is in one of these places, goes through one, or depends on where the program starts.
fn leads_into(value: &OsStr, places: &[PathBuf]) -> bool {
    let bytes = value.as_bytes();
    let listed = bytes.split(|byte| *byte == b':');
    let pieces = bytes.split(|byte| SEPARATORS.contains(byte));
    places.iter().any(|place| holds_path(bytes, place.as_os_str().as_bytes()))
        || [bytes].into_iter().chain(listed).chain(pieces).any(|piece| piece_leads_into(piece, places))
}

/// Whether bytes hold a path or one below it, whatever stands around it.
fn holds_path(bytes: &[u8], path: &[u8]) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.+@~".contains(byte) || !byte.is_ascii();
    let found = |window: &[u8], next: Option<&u8>| window == path && !next.is_some_and(goes_on);
    bytes.windows(path.len()).enumerate().any(|(at, window)| found(window, bytes.get(at + path.len())))
}

fn piece_leads_into(piece: &[u8], places: &[PathBuf]) -> bool {
    if piece == b"." || piece == b".." || piece.starts_with(b"./") || piece.starts_with(b"../") {
        return true;
    }
    let Some(slash) = piece.iter().position(|byte| *byte == b'/') else { return false };
    // An option may stand before a path (`-I/lib`). What is relative counts from the root, where such programs start.
    let from_root = [b"/", piece].concat();
    [&piece[slash..], &from_root].into_iter().any(|path| {
        // Each step counts: a link in such a place leads out of it again.
        let steps = Path::new(OsStr::from_bytes(path)).ancestors();
        steps.into_iter().any(|step| step.canonicalize().is_ok_and(|real| is_within(&real, places)))
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::symlink;

    use crate::finder::ProgramFinder;

    #[test]
    fn neither_code_nor_writable_places_reach_an_open_program() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let (workspace, outside) = (root.join("my work"), root.join("outside"));
        fs::create_dir_all(workspace.join("lib")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        symlink(&workspace, outside.join("link")).unwrap();
        symlink("/usr", workspace.join("lib/out")).unwrap();
        let (inside, out) = (workspace.to_str().unwrap(), outside.to_str().unwrap());
        let places = vec![workspace.clone()];
        let finder = ProgramFinder::new(Some("/usr/bin".as_ref()), move || places.clone());
        let is_kept = |name: &str, value: &str| {
            let given = finder.environment([(name.into(), value.into())]);
            given.iter().any(|(kept, _)| kept == name)
        };

        for (name, value) in [
            ("PYTHONPATH", "/opt/lib"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
            ("NODE_PATH", "lib"),
            ("PERL5LIB", ""),
            ("RUBYLIB", "/opt"),
            ("GIT_SSH_COMMAND", "ssh"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("VENV", inside),
            ("VENV", &format!("{inside}/lib/missing")),
            ("VENV", &format!("{inside}/lib/out/bin")),
            ("CLASSES", &format!("/usr/share:{out}/link/lib")),
            ("CLASSES", &format!("-Xa -cp={out}/link/lib;x")),
            ("CLASSES", &format!("-I{out}/link")),
            ("CLASSES", &format!("file://{out}/link")),
            ("CLASSES", &format!("'{out}/../outside/link/x'")),
            ("CLASSES", &format!("{}/link", &out[1..])),
            ("CLASSES", "/usr/lib:./lib"),
            ("CLASSES", "../lib"),
            ("HOME", inside),
            ("BROWSER", &format!("{inside}/lib/browser %s")),
        ] {
            assert!(!is_kept(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("HOME", out),
            ("VENV", &format!("{inside}er")),
            ("CLASSES", &format!("/usr/share:{out}")),
            ("BROWSER", "firefox"),
            ("EDITOR", "code -w"),
            ("SSL_CERT_FILE", "/etc/ssl/certs/ca.pem"),
            ("AWS_PROFILE", "work"),
            ("PROXY", "http://proxy.example:3128/"),
        ] {
            assert!(is_kept(name, value), "{name}={value}");
        }
        let bytes = OsString::from_vec([outside.as_os_str().as_encoded_bytes(), b"/\xff"].concat());
        assert_eq!(finder.environment([("BYTES".into(), bytes)]).len(), 2);
        let path = finder.environment([("PATH".into(), "/ignored".into())]);
        assert_eq!(path, [("PATH".into(), "/usr/bin".into())]);
    }
}
