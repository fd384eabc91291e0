//! The nouns: what was read from a command line. How it is read is left to the parser, what follows from it
//! to `safe` and `decision`.

/// All that a command line could do, as far as it can be known before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedLine {
    /// Every simple command that the line could run, also those inside substitutions, bodies and wrapper
    /// programs. A command stands before the ones it starts.
    pub commands: Vec<SimpleCommand>,
    /// Why the commands may not be all there is, in words for people. Nothing may be allowed by rule while
    /// this is set.
    pub unclear: Option<String>,
}

/// One simple command. Without words it stands for assignments or redirects that come alone, as those of a
/// loop or a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program and its arguments.
    pub argv: Vec<ShellWord>,
    /// The variables that are set for it, by name. A loop sets its variable in a command of its own.
    pub env: Vec<(String, ShellWord)>,
    /// Where its files are opened.
    pub redirects: Vec<Redirect>,
    /// Whether the shell goes on without waiting for it.
    pub background: bool,
    /// Whether it stands in a loop, so that it may run more than once.
    pub repeated: bool,
    /// Whether its standard input is a pipe from another command.
    pub piped: bool,
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWord {
    /// The very text that the program gets.
    Literal(String),
    /// Not known before run time; it may also turn into several words, or none.
    Unknown {
        /// What stands in the command line.
        source: String,
        /// What each word that it becomes begins with; empty when nothing can be said. A program takes a
        /// word for an option by its beginning, so this decides whether the word could be one.
        prefix: String,
        /// What else is known of the words that it becomes.
        becomes: WordExpansion,
    },
}

/// What a word becomes whose text is only known at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordExpansion {
    /// Any text, and any number of words. The shell may take them for globs, and so list any directory.
    Anything,
    /// Any text, which the shell does not take for a glob. Braces make several words of it.
    Text,
    /// The names of the files that this glob matches, or the glob itself where none does. A backslash takes
    /// the meaning from the next character.
    Files(String),
    /// One pipe, as for `<(…)`.
    Pipe,
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// What is done.
    pub kind: RedirectKind,
    /// What stands after the operator: a file, a descriptor, the text of a here-string or the delimiter of a
    /// heredoc.
    pub target: ShellWord,
}

/// What a redirect does with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`, `>& file`
    Write,
    /// `>>`, `&>>`
    Append,
    /// `<>`, which makes the file where there is none.
    ReadWrite,
    /// `2>&1`, `<&3`, `>&-`
    Dup,
    /// `<<`, `<<-`
    Heredoc,
    /// `<<<`
    HereString,
}

impl SimpleCommand {
    /// The name of the program when it is found by name or in a system directory. A program of the same name
    /// elsewhere is another program.
    pub(crate) fn program(&self) -> Option<&str> {
        let first = self.argv.first()?.literal()?;
        let name = first.strip_prefix("/usr/bin/").or_else(|| first.strip_prefix("/bin/")).unwrap_or(first);
        (!name.is_empty() && !name.contains('/')).then_some(name)
    }
}

impl ShellWord {
    /// The text, when it is known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            ShellWord::Literal(text) => Some(text),
            ShellWord::Unknown { .. } => None,
        }
    }

    /// Whether a program could take this word, or one that it becomes, for an option.
    pub(crate) fn could_be_option(&self) -> bool {
        match self {
            ShellWord::Literal(text) => text.len() > 1 && text.starts_with('-'),
            ShellWord::Unknown { prefix, .. } => prefix.is_empty() || prefix.starts_with(['-', '+']),
        }
    }

    /// A word of which nothing is known.
    pub(crate) fn anything(source: &str) -> Self {
        ShellWord::Unknown {
            source: source.to_owned(),
            prefix: String::new(),
            becomes: WordExpansion::Anything,
        }
    }
}
