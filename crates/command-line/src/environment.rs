//! Variables that may be set and redirects that may be made without changing what a command does. Everything
//! else about a command is left to `safe` and `pattern`.

use crate::{Redirect, RedirectKind, ShellWord, SimpleCommand, WordExpansion};

/// Whether all variables that are set for a command are harmless. Most are not: a variable can name a
/// library to load, a program to start or a place to look for programs.
pub(crate) fn assignments_are_harmless(command: &SimpleCommand) -> bool {
    command.env.iter().all(|(name, value)| value.literal().is_some_and(|value| is_harmless(name, value)))
}

fn is_harmless(name: &str, value: &str) -> bool {
    let simple =
        value.chars().all(|character| character.is_ascii_alphanumeric() || "_-.".contains(character));
    match name {
        // In some encodings a byte of a letter is a backslash, so the shell would read the next line
        // differently.
        "LANG" | "LANGUAGE" => simple && is_plain_locale(value),
        _ if name.starts_with("LC_") => simple && is_plain_locale(value),
        "NO_COLOR" | "CLICOLOR" | "FORCE_COLOR" | "COLUMNS" | "LINES" | "TERM" | "TZ" | "RUST_BACKTRACE" => {
            simple
        }
        "PAGER" | "GIT_PAGER" => value == "cat",
        "GIT_OPTIONAL_LOCKS" => matches!(value, "0" | "1"),
        _ => false,
    }
}

fn is_plain_locale(value: &str) -> bool {
    matches!(value, "" | "C" | "POSIX") || value.ends_with(".UTF-8") || value.ends_with(".utf8")
}

/// Whether the redirects of a command write nothing but to the null device.
pub(crate) fn redirects_only_read(command: &SimpleCommand) -> bool {
    command.redirects.iter().all(|redirect| match redirect.kind {
        RedirectKind::Read => reads_a_file(redirect),
        RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => is_null_device(redirect),
        RedirectKind::Dup | RedirectKind::Heredoc | RedirectKind::HereString => true,
    })
}

/// Whether the redirects of a command neither write nor feed it: what comes in may be a program, and a rule
/// would not see it.
pub(crate) fn redirects_do_nothing(command: &SimpleCommand) -> bool {
    command.redirects.iter().all(|redirect| match redirect.kind {
        RedirectKind::Read | RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => {
            is_null_device(redirect)
        }
        RedirectKind::Dup => true,
        RedirectKind::Heredoc | RedirectKind::HereString => false,
    })
}

fn is_null_device(redirect: &Redirect) -> bool {
    redirect.target.literal() == Some("/dev/null")
}

/// Bash makes connections when it is told to open files of certain names.
fn reads_a_file(redirect: &Redirect) -> bool {
    let start = match &redirect.target {
        ShellWord::Literal(text) => text,
        ShellWord::Unknown { becomes: WordExpansion::Pipe, .. } => return true,
        ShellWord::Unknown { prefix, .. } => {
            return !prefix.is_empty() && !prefix.starts_with('/');
        }
    };
    !start.starts_with("/dev/tcp/") && !start.starts_with("/dev/udp/")
}
