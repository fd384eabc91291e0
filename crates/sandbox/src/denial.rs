//! Tells a model what the sandbox denied, from what a command printed and how it ended. It guesses only
//! from words that denials produce; where a failure may well have another cause, it says nothing.

use std::path::Path;

use crate::profile::{SandboxProfile, WorkspaceAccess};
use crate::protected_paths::PROTECTED_NAMES;

/// How much of the end of an output is looked at.
const EXAMINED_BYTES: usize = 16 * 1024;
/// Lines above a refusal that may say what was tried.
const TRACE_LINES: usize = 4;
const SIGXFSZ: i32 = 25;
const SIGSYS: i32 = 31;

/// A sentence or two for the model, where a command that failed seems to have failed by the sandbox:
/// what was denied, why, and what it may do instead. `code` is the exit code, with 128 and a signal's
/// number for a signal; `output` is what was printed, both streams.
pub fn explain_denial(profile: &SandboxProfile, code: Option<i32>, output: &str) -> Option<String> {
    if code == Some(0) {
        return None;
    }
    let start = output.len().saturating_sub(EXAMINED_BYTES);
    let start = (start..=output.len()).find(|index| output.is_char_boundary(*index)).unwrap_or(0);
    let lines: Vec<String> = output[start..].lines().map(str::to_lowercase).collect();
    let by_signal = match code {
        Some(code) if code == 128 + SIGXFSZ => Some(file_size(profile)),
        Some(code) if code == 128 + SIGSYS => {
            Some("a system call that the sandbox does not allow".to_owned())
        }
        Some(_) | None => None,
    };
    let by_line = || lines.iter().rev().find_map(|line| explain_line(profile, line));
    match by_signal.or_else(by_line).or_else(|| traced_socket(profile, &lines)) {
        Some(denied) => Some(format!("[sandbox] denied: {denied}.")),
        None => own_loopback(profile, &lines),
    }
}

/// A socket that was refused, where the line says nothing of it and those above say where it was tried.
fn traced_socket(profile: &SandboxProfile, lines: &[String]) -> Option<String> {
    let refused = lines.iter().rposition(|line| line.contains("operation not permitted"))?;
    let traced = &lines[refused.saturating_sub(TRACE_LINES)..refused];
    traced.iter().any(|line| line.contains("socket")).then(|| socket(profile))
}

/// No denial, and yet the sandbox's doing: whoever looks for a server on this machine finds another machine.
fn own_loopback(profile: &SandboxProfile, lines: &[String]) -> Option<String> {
    let refused = ["connection refused", "couldn't connect to server", "econnrefused"];
    let found = lines.iter().any(|line| refused.iter().any(|word| line.contains(word)));
    (found && !profile.network).then(|| {
        "[sandbox] each command has its own loopback interface: it can only reach servers that it started \
         itself."
            .to_owned()
    })
}

fn explain_line(profile: &SandboxProfile, line: &str) -> Option<String> {
    let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let refused = says(&["permission denied", "operation not permitted"]);
    let refused_change = refused || says(&["read-only file system", "device or resource busy"]);
    if let Some(name) = protected_name(line).filter(|_| refused_change) {
        return Some(format!(
            "changing {name}. Settings and hooks that run code outside the sandbox are read-only, even \
             where they do not exist yet. Leave them unchanged, or ask the user to make this change"
        ));
    }
    if says(&["read-only file system"]) {
        return Some(match profile.access {
            WorkspaceAccess::ReadWrite => format!(
                "a write outside the workspace. Only {} and /tmp are writable, and /tmp is empty at the \
                 start of each command. Write there, or ask the user for access",
                profile.workspace.display()
            ),
            WorkspaceAccess::ReadOnly => "a write. This command has read-only access".to_owned(),
        });
    }
    if says(&["file size limit exceeded", "file too large"]) {
        return Some(file_size(profile));
    }
    if says(&["resource temporarily unavailable", "cannot fork", "retry: resource"]) {
        return Some(format!(
            "another process. A command can have at most {} processes and threads. Use less parallelism",
            profile.limits.processes
        ));
    }
    network(profile, line, refused).or_else(|| outside(profile, line, refused))
}

fn network(profile: &SandboxProfile, line: &str, refused: bool) -> Option<String> {
    let unreachable = [
        "network is unreachable",
        "could not resolve host",
        "temporary failure in name resolution",
        "name or service not known",
        "failed to lookup address",
        "dns error",
        "getaddrinfo",
        "enetunreach",
        "eai_again",
    ];
    if !profile.network && unreachable.iter().any(|word| line.contains(word)) {
        return Some(
            "network access. Commands run without it. Use what is installed, or ask the user to allow it"
                .to_owned(),
        );
    }
    (refused && line.contains("socket")).then(|| socket(profile))
}

fn socket(profile: &SandboxProfile) -> String {
    if profile.unix_sockets {
        "a socket of a type that is not allowed".to_owned()
    } else {
        "a socket. Unix sockets are not allowed, and Internet sockets only with network access. Use pipes \
         or files, or ask the user"
            .to_owned()
    }
}

/// A path outside the workspace that could not be touched: under Landlock that is what denial looks like.
fn outside(profile: &SandboxProfile, line: &str, refused: bool) -> Option<String> {
    let workspace = profile.workspace.to_str()?.to_lowercase();
    let separators = [' ', '\'', '"', '`', ':', '(', ')', ',', '\u{2018}', '\u{2019}'];
    let mut paths = line.split(separators).filter(|word| word.starts_with('/') && word.len() > 1);
    let path = paths.find(|path| !Path::new(path).starts_with(&workspace))?;
    refused.then(|| {
        format!(
            "access to {path}. Nothing outside the workspace is writable, and locations of secrets are not \
             readable. Use a path in the workspace, or ask the user"
        )
    })
}

fn protected_name(line: &str) -> Option<&'static str> {
    const GIT: &[&str] = &[".git/hooks", ".git/config", ".git/commondir", ".git/modules", ".git/worktrees"];
    let is_whole = |name: &&str| {
        line.match_indices(*name).any(|(index, _)| {
            let after = line[index + name.len()..].chars().next();
            after.is_none_or(|next| !next.is_alphanumeric() && next != '-' && next != '_')
        })
    };
    let names = GIT.iter().chain(PROTECTED_NAMES).chain(&[".git"]).copied();
    let named = names.filter(|name| is_whole(name) && (*name != ".git" || !line.contains(".gitignore")));
    // Of two that begin alike the longer one is meant.
    named.max_by_key(|name| name.len())
}

fn file_size(profile: &SandboxProfile) -> String {
    format!("a file larger than {} MiB. Write smaller files", profile.limits.file_bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::explain_denial;
    use crate::profile::SandboxProfile;

    fn explained(code: i32, output: &str) -> String {
        explain_denial(&SandboxProfile::new("/home/me/project"), Some(code), output).unwrap_or_default()
    }

    #[test]
    fn what_was_denied_is_told() {
        assert!(
            explained(1, "touch: cannot touch '/etc/x': Read-only file system")
                .contains("outside the workspace")
        );
        assert!(explained(1, "sh: .git/hooks/pre-commit: Read-only file system").contains(".git/hooks"));
        assert!(
            explained(255, "error: could not write config file .git/config: Device or resource busy")
                .contains(".git/config")
        );
        assert!(explained(6, "curl: (6) Could not resolve host: crates.io").contains("network"));
        assert!(explained(153, "").contains("4096 MiB"));
        assert!(explained(1, "cat: /home/me/.ssh/id: Permission denied").contains("/home/me/.ssh/id"));
        assert!(
            explained(1, "PermissionError: [Errno 1] Operation not permitted: socket").contains("socket")
        );
    }

    #[test]
    fn what_stands_above_a_refusal_says_what_was_tried() {
        let trace = "  File \"x.py\", line 2\n  File \"/usr/lib/python3/socket.py\", line 232, in __init__\n    \
                     _socket.socket.__init__(self)\nPermissionError: [Errno 1] Operation not permitted";
        assert!(explained(1, trace).contains("denied: a socket"));
    }

    #[test]
    fn a_server_outside_cannot_be_found() {
        let told = "its own loopback interface";
        let curl = "curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server";
        assert!(explained(7, curl).contains(told));
        assert!(explained(1, "Error: connect ECONNREFUSED 127.0.0.1:3000").contains(told));
        let mut open = SandboxProfile::new("/home/me/project");
        open.network = true;
        assert_eq!(explain_denial(&open, Some(7), curl), None, "the network may be had");
    }

    #[test]
    fn failures_of_other_kinds_are_left_alone() {
        assert_eq!(explained(0, "Read-only file system"), "");
        assert_eq!(explained(101, "error[E0308]: mismatched types"), "");
        assert_eq!(explained(1, "cat: ./x: Permission denied"), "");
        assert_eq!(explained(1, "sh: /home/me/project/x.sh: Permission denied"), "");
    }
}
