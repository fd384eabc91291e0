//! Simple commands and redirects. What a program does with its words is left to `builtin`, `wrapper` and
//! `safe`.

use crate::grammar::{is_meta, is_reserved};
use crate::heredoc::Heredoc;
use crate::parser::{ParseResult, Parser};
use crate::word::WordToken;
use crate::{Redirect, RedirectKind, ShellWord, SimpleCommand, builtin, wrapper};

impl Parser<'_, '_> {
    /// Assignments, words and redirects up to the end of the command.
    pub(crate) fn simple_command(&mut self) -> ParseResult<()> {
        let place = self.output.commands.len();
        let mut command = SimpleCommand::default();
        let mut named_plainly = false;
        let mut both = false;
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')' | '#') => break,
                Some('&') if self.peek_second() != Some('>') => break,
                Some('(') => {
                    let only_a_name = named_plainly && command.argv.len() == 1;
                    if !only_a_name || !command.env.is_empty() || !command.redirects.is_empty() {
                        return self.stop("a `(` stands where the shell's grammar has none");
                    }
                    return self.function_definition();
                }
                Some(first) if self.at_redirect() => {
                    both |= first == '&';
                    command.redirects.push(self.redirect()?);
                }
                Some(_) if both => return self.stop("shells differ in whether a command goes on after `&>`"),
                Some(_) => {
                    let token = self.word()?;
                    if self.is_descriptor(&token)? {
                        command.redirects.push(self.redirect()?);
                        continue;
                    }
                    named_plainly = command.argv.is_empty() && token.plain;
                    self.add_word(&mut command, token)?;
                }
            }
        }
        if command.argv.is_empty() && command.env.is_empty() && command.redirects.is_empty() {
            return self.stop("a command is missing");
        }
        self.add(place, command)
    }

    fn add_word(&mut self, command: &mut SimpleCommand, token: WordToken) -> ParseResult<()> {
        if !command.argv.is_empty() {
            command.argv.push(token.word);
            return Ok(());
        }
        if token.has_subscript {
            return self
                .stop("it sets an element of an array, whose number ends at a `]` and not with the word");
        }
        if let Some((name, value)) = token.assignment {
            if self.peek() == Some('(') {
                return self.stop("it sets an array");
            }
            command.env.push((name, value));
            return Ok(());
        }
        if token.plain && token.word.literal().is_some_and(is_reserved) {
            return self.stop("a word that the shell keeps for itself stands in an odd place");
        }
        command.argv.push(token.word);
        Ok(())
    }

    fn function_definition(&mut self) -> ParseResult<()> {
        self.bump();
        self.skip_blanks();
        if !self.take(')') {
            return self.stop("a `(` stands where the shell's grammar has none");
        }
        self.function_body()
    }

    /// Keeps a command, and what it runs in turn.
    fn add(&mut self, place: usize, mut command: SimpleCommand) -> ParseResult<()> {
        command.repeated = self.output.loops > 0;
        if let Some(why) = builtin::unclear_reason(&command) {
            self.note_doubt(&why);
        }
        let inside = wrapper::wrapped_commands(&command);
        self.output.commands.insert(place, command);
        if let Some(why) = inside.unclear {
            self.note_doubt(&why);
        }
        self.enter()?;
        for inner in inside.commands {
            self.add(self.output.commands.len(), inner)?;
        }
        for script in inside.scripts {
            self.inner_text(&script)?;
        }
        self.leave();
        Ok(())
    }

    /// The redirects of a group or a loop stand in a command without words.
    pub(crate) fn compound_redirects(&mut self) -> ParseResult<()> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            if self.peek().is_some_and(|character| character.is_ascii_digit()) {
                let token = self.word()?;
                if !self.is_descriptor(&token)? {
                    return self.stop("the line does not follow the shell's grammar");
                }
            }
            if !self.at_redirect() {
                break;
            }
            redirects.push(self.redirect()?);
        }
        if !redirects.is_empty() {
            self.output.commands.push(SimpleCommand { redirects, ..SimpleCommand::default() });
        }
        Ok(())
    }

    /// Whether the word just read is the number before a redirect.
    fn is_descriptor(&mut self, token: &WordToken) -> ParseResult<bool> {
        if !token.plain || !matches!(self.peek_raw(), Some('<' | '>')) {
            return Ok(false);
        }
        let text = token.word.literal().unwrap_or_default();
        if text.starts_with('{') && text.ends_with('}') {
            return self.stop("a redirect sets a variable");
        }
        let number = text.bytes().all(|byte| byte.is_ascii_digit());
        if number && text.len() > 3 {
            return self.stop("a redirect has a number that may be too large");
        }
        Ok(number)
    }

    fn at_redirect(&mut self) -> bool {
        match self.peek() {
            Some('<' | '>') => self.peek_second() != Some('('),
            Some('&') => self.peek_second() == Some('>'),
            _ => false,
        }
    }

    fn redirect(&mut self) -> ParseResult<Redirect> {
        let mut operator = String::new();
        while let Some(character) =
            self.peek().filter(|character| matches!(character, '<' | '>' | '&' | '|' | '-'))
        {
            let longer = format!("{operator}{character}");
            if !OPERATORS.iter().any(|(known, _)| *known == longer) && longer != "&" {
                break;
            }
            operator = longer;
            self.bump();
        }
        let Some((_, kind)) = OPERATORS.iter().find(|(known, _)| *known == operator) else {
            return self.stop("a redirect cannot be read");
        };
        self.skip_blanks();
        match self.peek() {
            // A comment may begin here too.
            Some('#') => return self.stop("a redirect has no target"),
            Some(character) if !is_meta(character) || self.at_process_substitution() => {}
            _ => return self.stop("a redirect has no target"),
        }
        if *kind == RedirectKind::Heredoc {
            return self.heredoc_operator(operator == "<<-");
        }
        let token = self.word()?;
        let kind = match *kind {
            RedirectKind::Dup if !is_descriptor_target(&token.word) => {
                if operator == "<&" {
                    return self.stop("a redirect takes a descriptor that is only known when it runs");
                }
                RedirectKind::Write
            }
            kind => kind,
        };
        Ok(Redirect { kind, target: token.word })
    }

    fn heredoc_operator(&mut self, tabs: bool) -> ParseResult<Redirect> {
        let from = self.position;
        let token = self.word()?;
        let source = &self.text[from..self.position];
        let ShellWord::Literal(delimiter) = token.word else {
            return self.stop("the delimiter of a heredoc cannot be read");
        };
        if source.contains(['$', '`', '\n']) || delimiter.is_empty() {
            return self.stop("the delimiter of a heredoc cannot be read");
        }
        let quoted = source.contains(['\'', '"', '\\']);
        self.heredocs += 1;
        self.pending.push(Heredoc {
            delimiter: delimiter.clone(),
            quoted,
            tabs,
            number: self.heredocs,
            background: false,
            piped: false,
            loops: self.output.loops,
        });
        Ok(Redirect { kind: RedirectKind::Heredoc, target: ShellWord::Literal(delimiter) })
    }
}

const OPERATORS: &[(&str, RedirectKind)] = &[
    ("<", RedirectKind::Read),
    (">", RedirectKind::Write),
    (">|", RedirectKind::Write),
    ("&>", RedirectKind::Write),
    (">>", RedirectKind::Append),
    ("&>>", RedirectKind::Append),
    ("<>", RedirectKind::ReadWrite),
    ("<&", RedirectKind::Dup),
    (">&", RedirectKind::Dup),
    ("<<", RedirectKind::Heredoc),
    ("<<-", RedirectKind::Heredoc),
    ("<<<", RedirectKind::HereString),
];

/// `1`, `1-` or `-`: anything else after `>&` is a file.
fn is_descriptor_target(word: &ShellWord) -> bool {
    word.literal().is_some_and(|text| {
        let digits = text.strip_suffix('-').unwrap_or(text);
        !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}
