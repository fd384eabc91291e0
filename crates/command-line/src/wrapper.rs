//! Programs that start another program. What they start is found here; whether it may run is left to others.

mod options;

use crate::{ShellWord, SimpleCommand};
use options::{WrapperOptions, after_options};

/// What a wrapper program starts.
#[derive(Default)]
pub(crate) struct WrappedCommands {
    pub(crate) commands: Vec<SimpleCommand>,
    /// Texts that a shell will read.
    pub(crate) scripts: Vec<String>,
    /// Why it could not be found out.
    pub(crate) unclear: Option<String>,
    /// Whether the wrapper adds nothing of its own, so that it may run whenever what it starts may.
    pub(crate) adds_nothing: bool,
    /// Whether what it starts runs in another directory.
    pub(crate) changes_directory: bool,
}

/// Looks one level into a command; nothing for programs that start no other.
pub(crate) fn wrapped_commands(command: &SimpleCommand) -> WrappedCommands {
    let Some(name) = command.program() else { return WrappedCommands::default() };
    let words = &command.argv[1..];
    let found = match name {
        "env" => env(words),
        "xargs" => xargs(words),
        "find" => find(words),
        "git" => git(words),
        "bash" | "rbash" => shell(words, |_| true),
        "sh" | "dash" | "ash" => shell(words, reads_like_bash),
        "zsh" | "ksh" | "fish" | "csh" | "tcsh" | "su" => other_shell(words),
        "command" if first_is(words, &["-v", "-V"]) => Some(WrappedCommands::default()),
        "exec" if words.is_empty() => Some(WrappedCommands::default()),
        _ => match options::wrapper_options(name) {
            Some(options) => plain_wrapper(name, words, &options),
            None => return WrappedCommands::default(),
        },
    };
    found.unwrap_or_else(|| WrappedCommands {
        unclear: Some(format!("which program `{name}` starts cannot be read")),
        ..WrappedCommands::default()
    })
}

/// Wrappers whose command simply follows their options.
fn plain_wrapper(name: &str, words: &[ShellWord], options: &WrapperOptions) -> Option<WrappedCommands> {
    let rest = after_options(words, options)?;
    let (operands, rest) = rest.split_at_checked(options.operands)?;
    let adds_nothing = options.adds_nothing && operands.iter().all(|word| word.literal().is_some());
    if rest.is_empty() {
        return (name != "timeout").then(WrappedCommands::default);
    }
    let (env, rest) = match name {
        "sudo" | "doas" => split_assignments(rest)?,
        _ => (Vec::new(), rest),
    };
    let moves = name == "sudo" && changes_directory(words, rest, 'D');
    let commands = vec![inner_command(env, rest.to_vec())?];
    Some(WrappedCommands { commands, adds_nothing, changes_directory: moves, ..WrappedCommands::default() })
}

/// Whether the options before the command choose the directory that it runs in: `--chdir`, or this letter.
fn changes_directory(words: &[ShellWord], command: &[ShellWord], letter: char) -> bool {
    let options = &words[..words.len() - command.len()];
    options.iter().filter_map(ShellWord::literal).any(|option| match option.strip_prefix("--") {
        Some(long) => long.starts_with("chdir"),
        None => option.starts_with('-') && option.contains(letter),
    })
}

fn env(words: &[ShellWord]) -> Option<WrappedCommands> {
    let options = options::wrapper_options("env")?;
    let rest = after_options(words, &options)?;
    let untouched = rest.len() == words.len();
    let (env, rest) = split_assignments(rest)?;
    if rest.is_empty() {
        return Some(WrappedCommands::default());
    }
    let (commands, moves) = (vec![inner_command(env, rest.to_vec())?], changes_directory(words, rest, 'C'));
    Some(WrappedCommands {
        commands,
        adds_nothing: untouched,
        changes_directory: moves,
        ..WrappedCommands::default()
    })
}

/// What comes in is added to the command, so its last words are never known.
fn xargs(words: &[ShellWord]) -> Option<WrappedCommands> {
    let rest = after_options(words, &options::wrapper_options("xargs")?)?;
    let own = &words[..words.len() - rest.len()];
    let replaced = options::replacement(own)?;
    let mut argv: Vec<ShellWord> = match rest {
        [] => vec![ShellWord::Literal("echo".to_owned())],
        rest => rest.iter().map(|word| with_replaced(word, replaced)).collect(),
    };
    argv.push(ShellWord::anything("…"));
    Some(WrappedCommands { commands: vec![inner_command(Vec::new(), argv)?], ..WrappedCommands::default() })
}

fn find(words: &[ShellWord]) -> Option<WrappedCommands> {
    let mut inside = WrappedCommands::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !matches!(word.literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            continue;
        }
        inside.changes_directory |= matches!(word.literal(), Some("-execdir" | "-okdir"));
        let mut argv = Vec::new();
        loop {
            let word = words.next()?;
            match word.literal() {
                Some(";") => break,
                Some("+")
                    if argv.last()
                        == Some(&with_replaced(&ShellWord::Literal("{}".to_owned()), Some("{}"))) =>
                {
                    break;
                }
                _ => argv.push(with_replaced(word, Some("{}"))),
            }
        }
        inside.commands.push(inner_command(Vec::new(), argv)?);
    }
    Some(inside)
}

/// An alias that is defined on the spot is a command like any other.
fn git(words: &[ShellWord]) -> Option<WrappedCommands> {
    let mut inside = WrappedCommands::default();
    for pair in words.windows(2) {
        if pair[0].literal() != Some("-c") {
            continue;
        }
        let setting = pair[1].literal()?;
        let Some((key, value)) = setting.split_once('=') else { continue };
        if key.to_ascii_lowercase().starts_with("alias.") {
            inside
                .scripts
                .push(value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned));
            // Git runs it at the top of the work tree, wherever that is, or where `-C` says.
            inside.changes_directory = true;
        }
    }
    Some(inside)
}

/// Shells whose grammar is that of bash. Without `-c` the first operand is a file, which nobody has read.
///
/// Words after the script are its parameters, whose values it may evaluate; a login shell first runs files
/// that can give any meaning to any name. Neither is plain.
fn shell(words: &[ShellWord], is_read_like_bash: fn(&str) -> bool) -> Option<WrappedCommands> {
    let (mut takes_script, mut is_login) = (false, false);
    let mut words = words.iter();
    loop {
        let Some(word) = words.next() else { return (!takes_script).then(WrappedCommands::default) };
        let text = word.literal()?;
        match text.strip_prefix('-') {
            Some("-login") => is_login = true,
            Some("-norc" | "-noprofile") => {}
            Some("-version" | "-help") => return Some(WrappedCommands::default()),
            Some("o") => {
                matches!(words.next()?.literal()?, "pipefail" | "errexit" | "nounset" | "xtrace")
                    .then_some(())?;
            }
            Some(letters)
                if !letters.is_empty() && letters.chars().all(|letter| "celux".contains(letter)) =>
            {
                takes_script |= letters.contains('c');
                is_login |= letters.contains('l');
            }
            Some(_) => return None,
            None if text.starts_with('+') => return None,
            None if takes_script => {
                let plain = !is_login && words.next().is_none() && is_read_like_bash(text);
                return Some(WrappedCommands {
                    scripts: vec![text.to_owned()],
                    adds_nothing: plain,
                    ..WrappedCommands::default()
                });
            }
            None => return Some(WrappedCommands::default()),
        }
    }
}

/// Whether a POSIX shell (dash, ash) parses a script exactly as bash does. What is a word of the language for one is a
/// program or a file for the other: `time`, `[[`, `{a,b}`.
fn reads_like_bash(script: &str) -> bool {
    const OF_BASH: &[&str] = &[
        "[[", "{", "$'", "$\"", "&>", "|&", "<(", ">(", "<<", "((", "=~", "time", "function", "select",
        "coproc",
    ];
    !OF_BASH.iter().any(|words| script.contains(words))
}

/// Shells that read differently from bash: a script in the line is not certain.
fn other_shell(words: &[ShellWord]) -> Option<WrappedCommands> {
    words
        .iter()
        .all(|word| !word.could_be_option() || word.literal() == Some("--version"))
        .then(WrappedCommands::default)
}

type Assignments = Vec<(String, ShellWord)>;

/// `NAME=value` words before a command, as `env` takes them.
fn split_assignments(words: &[ShellWord]) -> Option<(Assignments, &[ShellWord])> {
    let mut env = Vec::new();
    let mut rest = words;
    while let [first, after @ ..] = rest {
        let (text, unknown) = match first {
            ShellWord::Literal(text) => (text, None),
            ShellWord::Unknown { prefix, source, .. } => (prefix, Some(source)),
        };
        let Some((name, value)) = text.split_once('=') else {
            first.literal()?;
            break;
        };
        let value = unknown
            .map_or_else(|| ShellWord::Literal(value.to_owned()), |source| ShellWord::anything(source));
        env.push((name.to_owned(), value));
        rest = after;
    }
    Some((env, rest))
}

fn inner_command(env: Assignments, argv: Vec<ShellWord>) -> Option<SimpleCommand> {
    argv.first()?.literal()?;
    Some(SimpleCommand { argv, env, ..SimpleCommand::default() })
}

fn with_replaced(word: &ShellWord, placeholder: Option<&str>) -> ShellWord {
    match (word, placeholder) {
        (ShellWord::Literal(text), Some(placeholder)) if text.contains(placeholder) => {
            ShellWord::anything(text)
        }
        _ => word.clone(),
    }
}

fn first_is(words: &[ShellWord], wanted: &[&str]) -> bool {
    words.first().and_then(ShellWord::literal).is_some_and(|first| wanted.contains(&first))
}
