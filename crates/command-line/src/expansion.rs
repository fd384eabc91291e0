//! What begins with `$` or a backtick. The commands inside are read; the text that they become is not known.
//! Forms that set variables or evaluate text a second time are noted as doubts.

use crate::parser::{ParseResult, Parser};
use crate::word::WordBuilder;

const UNKNOWN_CALCULATION: &str =
    "it calculates with a value that is only known when it runs, which can run commands";

impl Parser<'_, '_> {
    /// Reads on after a `$`. Heredocs count as quoted.
    pub(crate) fn dollar(&mut self, builder: &mut WordBuilder, quoted: bool) -> ParseResult<()> {
        match self.peek() {
            Some('(') => {
                let arithmetic = self.peek_second() == Some('(');
                self.bump();
                if arithmetic {
                    self.peek();
                    self.bump();
                    self.arithmetic()?;
                } else {
                    self.substitution()?;
                }
                builder.push_unknown(!quoted);
            }
            Some('{') => {
                self.bump();
                let simple = self.parameter(quoted)?;
                builder.push_unknown(!quoted || !simple);
            }
            Some('[') => return self.stop("`$[` calculates, which can run commands"),
            Some('\'') if !quoted => {
                self.bump();
                self.escaped_string(builder)?;
            }
            Some('"') if !quoted => return self.stop("`$\"` takes its text from a translation"),
            Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                self.skip_name();
                builder.push_unknown(!quoted);
            }
            Some(special) if special.is_ascii_digit() || "@*#?-$!".contains(special) => {
                self.bump();
                builder.push_unknown(!quoted || matches!(special, '@' | '*'));
            }
            _ => builder.push_quoted('$'),
        }
        Ok(())
    }

    /// Reads the commands up to the `)` of `$(`, `<(` or `>(`.
    pub(crate) fn substitution(&mut self) -> ParseResult<()> {
        self.enter()?;
        let pending = std::mem::take(&mut self.pending);
        let outside = self.pending_outside;
        self.pending_outside |= !pending.is_empty();
        self.nested += 1;
        let (heredocs, commands) = (self.heredocs, self.output.commands.len());
        self.list_until_closed()?;
        if !self.pending.is_empty() {
            return self.stop("a heredoc has no body");
        }
        // Bash 5.2 writes such commands out and reads them again, and loses the `;` between two after a
        // heredoc.
        if self.heredocs > heredocs && self.output.commands.len() > commands + 1 {
            return self.stop("a substitution with a heredoc has more than one command");
        }
        self.nested -= 1;
        self.pending = pending;
        self.pending_outside = outside;
        self.leave();
        Ok(())
    }

    /// Reads on after a backtick. Within, a backslash takes the meaning from a few characters, and only then
    /// is the text read.
    pub(crate) fn backtick(&mut self, builder: &mut WordBuilder, quoted: bool) -> ParseResult<()> {
        let mut text = String::new();
        loop {
            match self.bump() {
                Some('`') => break,
                Some('\\') => match self.bump() {
                    Some(escaped @ ('$' | '`' | '\\')) => text.push(escaped),
                    Some('"') if quoted => {
                        return self.stop("quotes inside backticks inside quotes cannot be read");
                    }
                    Some(other) => text.extend(['\\', other]),
                    None => return self.stop("a backtick is not closed"),
                },
                Some('\n') if self.pending_outside || !self.pending.is_empty() => {
                    return self.stop("a quoted line ends before the body of a heredoc");
                }
                Some(other) => text.push(other),
                None => return self.stop("a backtick is not closed"),
            }
        }
        self.inner_text(&text)?;
        builder.push_unknown(!quoted);
        Ok(())
    }

    /// Reads on after `$((`. Bash evaluates the *value* of a name as an expression too, subscripts and the
    /// substitutions in them included, and any command may have left that value in `$_`. So only numbers and
    /// operators are certain, and a few names whose values bash makes itself.
    fn arithmetic(&mut self) -> ParseResult<()> {
        self.enter()?;
        let mut open = 0_usize;
        let mut before = ' ';
        loop {
            if self.peek().is_some_and(|next| next.is_ascii_alphabetic() || next == '_') {
                self.calculated_name(before)?;
                before = 'a';
            }
            self.peek();
            let Some(character) = self.bump() else {
                return self.stop("a calculation is not closed");
            };
            match character {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' if self.take(')') => break,
                '$' => {
                    self.note_doubt(UNKNOWN_CALCULATION);
                    self.dollar(&mut WordBuilder::default(), true)?;
                }
                '=' if matches!(before, '=' | '!' | '<' | '>') => {}
                '=' if self.peek() == Some('=') => {}
                '=' | '[' | ']' => {
                    self.note_doubt("it calculates with an array or sets a variable, which can run commands")
                }
                '+' | '-' if before == character => self.note_doubt("it sets a variable while it calculates"),
                ' ' | '\t' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '!' | '&' | '|' | '^' | '~' | '?'
                | ':' | ',' => {}
                digit if digit.is_ascii_digit() => {}
                _ => return self.stop("a calculation cannot be read"),
            }
            before = character;
        }
        self.leave();
        Ok(())
    }

    /// A name in a calculation. After a digit the letters belong to a number, in a notation that need not be
    /// understood here.
    fn calculated_name(&mut self, before: char) -> ParseResult<()> {
        let mut name = String::new();
        while let Some(next) = self.peek().filter(|next| next.is_ascii_alphanumeric() || *next == '_') {
            self.bump();
            name.push(next);
        }
        if before.is_ascii_digit() {
            return self.stop("a calculation cannot be read");
        }
        if !matches!(name.as_str(), "RANDOM" | "SECONDS" | "LINENO") {
            self.note_doubt(UNKNOWN_CALCULATION);
        }
        Ok(())
    }

    /// Reads on after `${`; says whether it was no more than a name.
    fn parameter(&mut self, quoted: bool) -> ParseResult<bool> {
        self.enter()?;
        let length = self.peek() == Some('#') && self.peek_second() != Some('}');
        if length {
            self.bump();
        }
        let many = matches!(self.peek(), Some('@' | '*'));
        match self.peek() {
            Some(first) if first.is_ascii_alphanumeric() || first == '_' => self.skip_name(),
            Some(special) if "@*#?-$".contains(special) => {
                self.bump();
            }
            _ => return self.stop("a `${` cannot be read"),
        }
        self.peek();
        let simple = match self.bump() {
            Some('}') => !many,
            Some(_) if length => return self.stop("a `${` cannot be read"),
            Some(':') => self.after_colon(quoted)?,
            Some('=') => {
                self.note_doubt("it sets a variable inside `${`");
                self.parameter_text(quoted)?
            }
            Some('-' | '+' | '?' | '#' | '%' | '/' | '^' | ',') => self.parameter_text(quoted)?,
            _ => return self.stop("a `${` cannot be read"),
        };
        self.leave();
        Ok(simple)
    }

    fn after_colon(&mut self, quoted: bool) -> ParseResult<bool> {
        match self.peek() {
            Some('=') => {
                self.note_doubt("it sets a variable inside `${`");
                self.parameter_text(quoted)
            }
            Some('-' | '+' | '?') => {
                self.bump();
                self.parameter_text(quoted)
            }
            Some('}') => self.stop("a `${` cannot be read"),
            _ => loop {
                self.peek();
                match self.bump() {
                    Some('}') => return Ok(false),
                    Some(' ' | '-' | ':' | '0'..='9') => {}
                    _ => return self.stop("it calculates inside `${`, which can run commands"),
                }
            },
        }
    }

    /// The text after the operator, up to the `}`. How quotes nest here depends on the operator, so few are
    /// taken.
    fn parameter_text(&mut self, quoted: bool) -> ParseResult<bool> {
        let mut ignored = WordBuilder::default();
        loop {
            if !quoted && self.at_process_substitution() {
                self.process_substitution(&mut ignored)?;
                continue;
            }
            self.peek();
            match self.bump() {
                Some('}') => return Ok(false),
                Some('$') => self.dollar(&mut ignored, quoted)?,
                Some('`') => self.backtick(&mut ignored, quoted)?,
                Some('\'') if !quoted => self.single_quoted(&mut ignored)?,
                Some('"') if !quoted => self.double_quoted(&mut ignored)?,
                None | Some('\'' | '"' | '\\' | '{' | '\n') => {
                    return self.stop("the text inside `${` cannot be read");
                }
                Some(_) => {}
            }
        }
    }

    fn skip_name(&mut self) {
        let number = self.peek().is_some_and(|first| first.is_ascii_digit());
        while self.peek().is_some_and(|next| {
            next.is_ascii_digit() || (!number && (next.is_ascii_alphabetic() || next == '_'))
        }) {
            self.bump();
        }
    }

    /// Reads on after `$'`. What is not ASCII depends on the locale and is left unknown.
    fn escaped_string(&mut self, builder: &mut WordBuilder) -> ParseResult<()> {
        loop {
            let decoded = match self.bump() {
                None => return self.stop("a quote is not closed"),
                Some('\'') => return Ok(()),
                Some('\\') => self.escape()?,
                Some('\n') if self.pending_outside || !self.pending.is_empty() => {
                    return self.stop("a quoted line ends before the body of a heredoc");
                }
                Some(character) => Some(character),
            };
            match decoded {
                Some('\0') => return self.stop("a quoted text contains a NUL"),
                Some(character) => builder.push_quoted(character),
                None => builder.push_unknown(false),
            }
        }
    }

    fn escape(&mut self) -> ParseResult<Option<char>> {
        let decoded = match self.bump() {
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('e' | 'E') => '\x1b',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some(same @ ('\\' | '"' | '?')) => same,
            Some('\'') => return self.stop("shells differ in where a quoted text with `\\'` ends"),
            Some(first @ '0'..='7') => return Ok(self.code(first.to_digit(8), 8, 2).filter(char::is_ascii)),
            Some('x') => return Ok(self.code(None, 16, 2).filter(char::is_ascii)),
            Some('u') => return Ok(self.code(None, 16, 4).filter(char::is_ascii)),
            Some('U') => return Ok(self.code(None, 16, 8).filter(char::is_ascii)),
            _ => return self.stop("a quoted text has a `\\` that cannot be read"),
        };
        Ok(Some(decoded))
    }

    fn code(&mut self, first: Option<u32>, radix: u32, most: usize) -> Option<char> {
        let mut value = first;
        for _ in 0..most {
            let Some(digit) = self.peek_raw().and_then(|next| next.to_digit(radix)) else { break };
            self.bump();
            value = Some(value.unwrap_or(0).wrapping_mul(radix).wrapping_add(digit));
        }
        char::from_u32(value?)
    }
}
