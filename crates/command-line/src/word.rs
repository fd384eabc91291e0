//! Words: quotes, patterns, braces, assignments. What begins with `$` or a backtick is left to `expansion`.

use crate::grammar::is_meta;
use crate::parser::{ParseResult, Parser};
use crate::{ShellWord, WordExpansion};

/// Where bash puts the pipes of process substitutions.
const PIPE: &str = "/dev/fd/";

/// A word with what the grammar has to know about how it was written.
pub(crate) struct WordToken {
    pub(crate) word: ShellWord,
    /// Whether it has neither quotes nor anything unknown, as reserved words must.
    pub(crate) plain: bool,
    /// The word as an assignment, if it is written as one.
    pub(crate) assignment: Option<(String, ShellWord)>,
    /// Whether it begins with a name and a `[`. Where an assignment may stand, bash reads on to the `]` whatever comes
    /// before it, blanks and comments included.
    pub(crate) has_subscript: bool,
}

/// A word that is being put together.
#[derive(Default)]
pub(crate) struct WordBuilder {
    text: String,
    /// The text as a glob: with a backslash before what has no meaning.
    glob: String,
    /// Whether something else than the names of files decides what it becomes.
    is_expanded: bool,
    /// Whether the names of files decide what it becomes.
    is_glob: bool,
    /// How many parts are known only at run time, globs and braces aside.
    unknowns: usize,
    /// Whether it begins with a process substitution.
    begins_with_pipe: bool,
    quoted: bool,
    /// How much of the text stands before the first thing that is not known.
    known: Option<usize>,
    /// Whether it may become several words, so that the beginning of the first says nothing about the
    /// others.
    splits: bool,
    brace: Option<usize>,
    bracket: Option<usize>,
    has_subscript: bool,
    /// The last character, if it was not quoted.
    last: Option<char>,
    /// Where the value begins when the word is an assignment.
    value: Option<usize>,
}

impl WordBuilder {
    pub(crate) fn push_quoted(&mut self, character: char) {
        self.quoted = true;
        self.last = None;
        self.text.push(character);
        self.glob.extend(['\\', character]);
    }

    /// Something whose text is known only at run time.
    pub(crate) fn push_unknown(&mut self, splits: bool) {
        self.expanded_from(self.text.len());
        self.unknowns += 1;
        self.splits |= splits;
        self.last = None;
    }

    fn unknown_from(&mut self, position: usize) {
        self.known = Some(self.known.map_or(position, |known| known.min(position)));
    }

    fn glob_from(&mut self, position: usize) {
        self.unknown_from(position);
        self.is_glob = true;
    }

    fn expanded_from(&mut self, position: usize) {
        self.unknown_from(position);
        self.is_expanded = true;
    }

    /// A character without quotes, which may mean a pattern, a brace expansion, a home directory or an
    /// assignment.
    fn push(&mut self, character: char) {
        let here = self.text.len();
        match character {
            '*' | '?' => self.glob_from(here),
            '[' => {
                self.bracket.get_or_insert(here);
                self.has_subscript |= !self.quoted && self.known.is_none() && is_name(&self.text);
            }
            ']' => {
                if let Some(bracket) = self.bracket {
                    self.glob_from(bracket);
                }
            }
            '{' => {
                self.brace.get_or_insert(here);
            }
            ',' => {
                if let Some(brace) = self.brace {
                    self.expanded_from(brace);
                }
            }
            '.' if self.last == Some('.') => {
                if let Some(brace) = self.brace {
                    self.expanded_from(brace);
                }
            }
            '~' if (here == 0 && !self.quoted && self.known.is_none())
                || matches!(self.last, Some('=' | ':')) =>
            {
                self.expanded_from(here);
            }
            '=' if self.value.is_none() && !self.quoted && self.known.is_none() && is_target(&self.text) => {
                self.value = Some(here + 1);
            }
            _ => {}
        }
        self.text.push(character);
        self.glob.push(character);
        self.last = Some(character);
    }

    /// What is known beyond the beginning.
    fn becomes(&self) -> WordExpansion {
        if self.begins_with_pipe && self.unknowns == 1 && self.text == PIPE {
            return WordExpansion::Pipe;
        }
        match (self.is_expanded, self.is_glob) {
            (false, _) => WordExpansion::Files(self.glob.clone()),
            (true, true) => WordExpansion::Anything,
            (true, false) => WordExpansion::Text,
        }
    }

    fn finish(self, source: &str) -> WordToken {
        let plain = !self.quoted && self.known.is_none();
        let part = |from: usize, source: &str| match self.known {
            None => ShellWord::Literal(self.text[from..].to_owned()),
            Some(_) if self.splits => ShellWord::anything(source),
            Some(known) => ShellWord::Unknown {
                source: source.to_owned(),
                prefix: self.text[from..known.max(from)].to_owned(),
                becomes: if from == 0 { self.becomes() } else { WordExpansion::Text },
            },
        };
        let assignment = self.value.map(|value| {
            let name = self.text[..value - 1].trim_end_matches('+').to_owned();
            let source = source.split_once('=').map_or("", |(_, value)| value);
            (name, part(value, source))
        });
        WordToken { word: part(0, source), plain, assignment, has_subscript: self.has_subscript }
    }
}

impl Parser<'_, '_> {
    /// Reads one word. The caller has made sure that one begins here.
    pub(crate) fn word(&mut self) -> ParseResult<WordToken> {
        let from = self.position;
        let mut builder = WordBuilder::default();
        while let Some(character) = self.peek() {
            if is_meta(character) {
                if !self.at_process_substitution() {
                    break;
                }
                self.process_substitution(&mut builder)?;
                continue;
            }
            self.bump();
            match character {
                '\'' => self.single_quoted(&mut builder)?,
                '"' => self.double_quoted(&mut builder)?,
                '\\' => match self.bump() {
                    Some(escaped) => builder.push_quoted(escaped),
                    None => return self.stop("the line ends with a backslash"),
                },
                '$' => self.dollar(&mut builder, false)?,
                '`' => self.backtick(&mut builder, false)?,
                '!' => {
                    self.history(builder.last);
                    builder.push('!');
                }
                _ => builder.push(character),
            }
        }
        Ok(builder.finish(&self.text[from..self.position]))
    }

    pub(crate) fn at_process_substitution(&mut self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.peek_second() == Some('(')
    }

    pub(crate) fn process_substitution(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        self.take_two();
        self.substitution()?;
        if builder.text.is_empty() && builder.known.is_none() && !builder.quoted {
            builder.text.push_str(PIPE);
            builder.begins_with_pipe = true;
        }
        builder.push_unknown(false);
        Ok(())
    }

    pub(crate) fn single_quoted(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        builder.quoted = true;
        builder.last = None;
        loop {
            match self.bump() {
                Some('\'') => return Ok(()),
                Some(character) => self.quoted_character(builder, character)?,
                None => return self.stop("a quote is not closed"),
            }
        }
    }

    pub(crate) fn double_quoted(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        builder.quoted = true;
        builder.last = None;
        loop {
            self.peek();
            match self.bump() {
                Some('"') => return Ok(()),
                Some('\\') => match self.peek_raw() {
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                        self.bump();
                        builder.push_quoted(escaped);
                    }
                    _ => builder.push_quoted('\\'),
                },
                Some('$') => self.dollar(builder, true)?,
                Some('`') => self.backtick(builder, true)?,
                Some(character) => self.quoted_character(builder, character)?,
                None => return self.stop("a quote is not closed"),
            }
        }
    }

    fn quoted_character(&mut self, builder: &mut WordBuilder, character: char) -> ParseResult<()> {
        if character == '\n' && (self.pending_outside || !self.pending.is_empty()) {
            return self.stop("a quoted line ends before the body of a heredoc");
        }
        builder.push_quoted(character);
        Ok(())
    }

    /// A shell for people replaces `!word` before it reads the line. Ours does not, but who reads the line
    /// may think so.
    fn history(&mut self, before: Option<char>) {
        let means_nothing = match self.peek() {
            None | Some('=' | '"' | '\'') => true,
            Some(character) => is_meta(character),
        };
        if !means_nothing && before != Some('[') {
            self.note_doubt("it may take a command from the shell's history by `!`");
        }
    }
}

/// Whether this can stand before the `=` of an assignment.
fn is_target(text: &str) -> bool {
    is_name(text.strip_suffix('+').unwrap_or(text))
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
}
