//! The options of wrapper programs, so that the command after them is found. What comes after is left to
//! `wrapper`.

use crate::ShellWord;

/// How the options of a program are written. Only what is listed is understood.
pub(super) struct WrapperOptions {
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
    /// Whether the program changes nothing about the command but its priority, its time or its buffers.
    pub(super) adds_nothing: bool,
}

const NONE: WrapperOptions =
    WrapperOptions { flags: "", valued: "", long: &[], long_valued: &[], operands: 0, adds_nothing: false };

/// The options of a wrapper program, if it is one that is known.
pub(super) fn wrapper_options(name: &str) -> Option<WrapperOptions> {
    Some(match name {
        "nice" => WrapperOptions {
            flags: "0123456789",
            valued: "n",
            long_valued: &["adjustment"],
            adds_nothing: true,
            ..NONE
        },
        "timeout" => WrapperOptions {
            flags: "v",
            valued: "ks",
            long: &["foreground", "preserve-status", "verbose"],
            long_valued: &["kill-after", "signal"],
            operands: 1,
            adds_nothing: true,
        },
        "stdbuf" => WrapperOptions {
            valued: "ioe",
            long_valued: &["input", "output", "error"],
            adds_nothing: true,
            ..NONE
        },
        "command" => WrapperOptions { flags: "p", adds_nothing: true, ..NONE },
        "builtin" => WrapperOptions { adds_nothing: true, ..NONE },
        "exec" => WrapperOptions { flags: "cl", valued: "a", ..NONE },
        "nohup" => NONE,
        "time" => WrapperOptions {
            flags: "apvq",
            valued: "fo",
            long: &["append", "portability", "verbose", "quiet"],
            long_valued: &["format", "output"],
            ..NONE
        },
        "setsid" => WrapperOptions { flags: "cfw", long: &["ctty", "fork", "wait"], ..NONE },
        "ionice" => WrapperOptions { flags: "t", valued: "cn", long_valued: &["class", "classdata"], ..NONE },
        "chronic" => NONE,
        "sudo" => WrapperOptions {
            flags: "AbEHknPSN",
            valued: "ugCDprtTU",
            long: &["preserve-env", "set-home", "non-interactive", "stdin", "background", "askpass"],
            long_valued: &["user", "group", "chdir", "prompt"],
            ..NONE
        },
        "doas" => WrapperOptions { flags: "n", valued: "u", ..NONE },
        "env" => WrapperOptions {
            flags: "iv0",
            valued: "uC",
            long: &["ignore-environment", "null", "debug"],
            long_valued: &["unset", "chdir"],
            ..NONE
        },
        "xargs" => WrapperOptions {
            flags: "0rtxpo",
            valued: "nPLIdEsa",
            long: &["null", "no-run-if-empty", "verbose", "exit", "interactive", "open-tty"],
            long_valued: &["max-args", "max-procs", "max-lines", "delimiter", "max-chars", "arg-file"],
            ..NONE
        },
        _ => return None,
    })
}

/// The words after the options, or nothing when an option is not understood.
pub(super) fn after_options<'words>(
    words: &'words [ShellWord],
    options: &WrapperOptions,
) -> Option<&'words [ShellWord]> {
    let mut rest = words;
    while let [first, after @ ..] = rest {
        let Some(text) = first.literal() else {
            return (!first.could_be_option()).then_some(rest);
        };
        if text == "--" {
            return Some(after);
        }
        let Some(option) = text.strip_prefix('-') else { return Some(rest) };
        if option.is_empty() {
            return None;
        }
        let takes_next = match option.strip_prefix('-') {
            Some(long) => long_takes_next(long, options)?,
            None => short_takes_next(option, options)?,
        };
        rest = if takes_next {
            after.first()?.literal()?;
            &after[1..]
        } else {
            after
        };
    }
    Some(rest)
}

fn long_takes_next(long: &str, options: &WrapperOptions) -> Option<bool> {
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    if options.long_valued.contains(&name) {
        return Some(value.is_none());
    }
    options.long.contains(&name).then_some(false)
}

fn short_takes_next(letters: &str, options: &WrapperOptions) -> Option<bool> {
    for (position, letter) in letters.char_indices() {
        if options.valued.contains(letter) {
            return Some(position + letter.len_utf8() == letters.len());
        }
        if !options.flags.contains(letter) {
            return None;
        }
    }
    Some(false)
}

/// The text that `xargs` replaces, if its own options name one. Fails when that cannot be told for certain.
pub(super) fn replacement(own: &[ShellWord]) -> Option<Option<&str>> {
    let mut found = None;
    let mut words = own.iter().filter_map(ShellWord::literal);
    while let Some(word) = words.next() {
        if let Some(value) = word.strip_prefix("-I") {
            let value = if value.is_empty() { words.next()? } else { value };
            if value.is_empty() || found.replace(value).is_some() {
                return None;
            }
        } else if word.starts_with('-') && !word.starts_with("--") && word.contains('I') {
            return None;
        }
    }
    Some(found)
}
