//! Lists, pipelines and compound commands. Simple commands are left to `simple`, words to `word`.

use crate::heredoc::Heredoc;
use crate::parser::{ParseResult, Parser};
use crate::{ShellWord, SimpleCommand};

/// Commands that were read, and what ended them. It has been taken.
struct CommandList {
    is_empty: bool,
    stop: ListEnd,
}

#[derive(Debug, PartialEq, Eq)]
enum ListEnd {
    End,
    /// `)`
    Closed,
    /// `;;`, `;&` or `;;&`
    CaseBreak,
    Keyword(&'static str),
}

/// Words that end a list when they stand where a command would begin.
const CLOSING_WORDS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];
/// All words that bash keeps for itself.
const RESERVED_WORDS: &[&str] = &[
    "then", "elif", "else", "fi", "do", "done", "esac", "}", "{", "if", "while", "until", "for", "select",
    "case", "function", "coproc", "time", "!", "[[", "]]",
];
const LONGEST_RESERVED: usize = 8;

pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED_WORDS.contains(&word)
}

/// Characters that end a word.
pub(crate) fn is_meta(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

impl<'text> Parser<'text, '_> {
    /// Reads the text to its end.
    pub(crate) fn read_all(&mut self) {
        match self.list().map(|list| list.stop) {
            Ok(ListEnd::End) if self.pending.is_empty() => {}
            Ok(ListEnd::End) => self.note_doubt("a heredoc has no body"),
            Ok(ListEnd::Closed | ListEnd::CaseBreak | ListEnd::Keyword(_)) => {
                self.note_doubt("something is closed that was never opened")
            }
            Err(_) => {}
        }
    }

    /// Commands until something ends them.
    fn list(&mut self) -> ParseResult<CommandList> {
        let mut is_empty = true;
        loop {
            self.skip_lines()?;
            if let Some(stop) = self.list_end() {
                return Ok(CommandList { is_empty, stop });
            }
            is_empty = false;
            let (first, heredocs) = (self.output.commands.len(), self.heredocs);
            self.and_or()?;
            self.skip_blanks();
            match self.peek() {
                None | Some(')' | '\n' | '#') => {}
                Some(';') if matches!(self.peek_second(), Some(';' | '&')) => {}
                Some(';') => {
                    self.bump();
                }
                Some('&') => {
                    self.bump();
                    self.output.commands[first..].iter_mut().for_each(|command| command.background = true);
                    self.pending_since(heredocs).for_each(|heredoc| heredoc.background = true);
                }
                Some(_) if self.closing_keyword().is_some() => {}
                Some(_) => return self.stop("the line does not follow the shell's grammar"),
            }
        }
    }

    fn list_end(&mut self) -> Option<ListEnd> {
        match self.peek() {
            None => return Some(ListEnd::End),
            Some(')') => {
                self.bump();
                return Some(ListEnd::Closed);
            }
            Some(';') if self.case_break() => return Some(ListEnd::CaseBreak),
            Some(_) => {}
        }
        let keyword = self.closing_keyword()?;
        self.position += keyword.len();
        Some(ListEnd::Keyword(keyword))
    }

    /// Commands until the `)` that ends a substitution, which may have none.
    pub(crate) fn list_until_closed(&mut self) -> ParseResult<()> {
        self.closed_list().map(|_| ())
    }

    fn subshell(&mut self) -> ParseResult<()> {
        if self.closed_list()?.is_empty {
            return self.stop("a command is missing");
        }
        Ok(())
    }

    fn closed_list(&mut self) -> ParseResult<CommandList> {
        let list = self.list()?;
        match list.stop {
            ListEnd::Closed => Ok(list),
            ListEnd::End | ListEnd::CaseBreak | ListEnd::Keyword(_) => self.stop("a `(` is not closed"),
        }
    }

    fn list_until(&mut self, wanted: &[&str]) -> ParseResult<&'static str> {
        let list = self.list()?;
        match list.stop {
            ListEnd::Keyword(_) if list.is_empty => self.stop("a command is missing"),
            ListEnd::Keyword(keyword) if wanted.contains(&keyword) => Ok(keyword),
            ListEnd::End | ListEnd::Closed | ListEnd::CaseBreak | ListEnd::Keyword(_) => {
                self.stop(&format!("`{}` is missing", wanted.join("` or `")))
            }
        }
    }

    fn and_or(&mut self) -> ParseResult<()> {
        loop {
            self.pipeline()?;
            self.skip_blanks();
            match (self.peek(), self.peek_second()) {
                (Some('&'), Some('&')) | (Some('|'), Some('|')) => {
                    self.take_two();
                    self.skip_lines()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn pipeline(&mut self) -> ParseResult<()> {
        let mut is_piped = false;
        self.pipeline_prefix()?;
        loop {
            let (first, heredocs) = (self.output.commands.len(), self.heredocs);
            self.command()?;
            self.output.commands[first..].iter_mut().for_each(|command| command.piped |= is_piped);
            self.pending_since(heredocs).for_each(|heredoc| heredoc.piped |= is_piped);
            is_piped = true;
            self.skip_blanks();
            match (self.peek(), self.peek_second()) {
                (Some('|'), Some('|')) => return Ok(()),
                (Some('|'), Some('&')) => self.take_two(),
                (Some('|'), _) => {
                    self.bump();
                }
                _ => return Ok(()),
            }
            self.skip_lines()?;
        }
    }

    /// The heredocs after the first so many whose bodies are still to come.
    fn pending_since(&mut self, number: usize) -> impl Iterator<Item = &mut Heredoc> {
        self.pending.iter_mut().filter(move |heredoc| heredoc.number > number)
    }

    /// `!` and `time` change how a pipeline is reported, not what it runs. They do so before its first command only:
    /// after a `|` bash has no `!`, and starts a program for `time`.
    fn pipeline_prefix(&mut self) -> ParseResult<()> {
        loop {
            self.skip_blanks();
            let word = self.plain_word();
            if word == "!" {
                self.position += 1;
                if self.peek() == Some('(') {
                    return self.stop("`!(` is a pattern in some shells and a command in others");
                }
            } else if word == "time" {
                self.position += 4;
                self.skip_blanks();
                if self.plain_word() == "-p" {
                    self.position += 2;
                } else if self.peek() == Some('-') {
                    return self.stop("`time` has an option that cannot be read");
                }
            } else {
                return Ok(());
            }
        }
    }

    fn command(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        if self.peek() == Some('(') {
            if self.peek_second() == Some('(') {
                return self.stop("`((` calculates, which can run commands");
            }
            self.bump();
            return self.compound(Self::subshell);
        }
        let word = self.plain_word();
        let body: fn(&mut Self) -> ParseResult<()> = match word {
            "{" => |parser| parser.list_until(&["}"]).map(|_| ()),
            "if" => Self::if_body,
            "while" | "until" => {
                |parser| parser.list_until(&["do"]).and_then(|_| parser.list_until(&["done"])).map(|_| ())
            }
            "for" | "select" => Self::for_body,
            "case" => Self::case_body,
            "[[" => Self::test_body,
            "function" => {
                self.position += word.len();
                return self.function_keyword();
            }
            "coproc" => return self.stop("`coproc` starts a command beside the shell"),
            _ => return self.simple_command(),
        };
        self.position += word.len();
        let is_loop = matches!(word, "while" | "until" | "for" | "select");
        self.output.loops += usize::from(is_loop);
        self.compound(body)?;
        self.output.loops -= usize::from(is_loop);
        Ok(())
    }

    fn compound(&mut self, body: fn(&mut Self) -> ParseResult<()>) -> ParseResult<()> {
        self.enter()?;
        body(self)?;
        self.leave();
        self.compound_redirects()
    }

    fn if_body(&mut self) -> ParseResult<()> {
        self.list_until(&["then"])?;
        loop {
            match self.list_until(&["elif", "else", "fi"])? {
                "elif" => self.list_until(&["then"])?,
                "else" => return self.list_until(&["fi"]).map(|_| ()),
                _ => return Ok(()),
            };
        }
    }

    fn for_body(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        if self.peek() == Some('(') {
            return self.stop("`for ((` calculates, which can run commands");
        }
        let name = self.name();
        if name.is_empty() {
            return self.stop("the variable of a loop cannot be read");
        }
        let place = self.output.commands.len();
        self.skip_lines()?;
        let from = self.position;
        if self.plain_word() == "in" {
            self.position += 2;
            self.loop_words()?;
        } else {
            self.take(';');
        }
        let value = ShellWord::anything(self.text[from..self.position].trim());
        self.output
            .commands
            .insert(place, SimpleCommand { env: vec![(name, value)], ..SimpleCommand::default() });
        self.skip_lines()?;
        match self.plain_word() {
            "do" => {
                self.position += 2;
                self.list_until(&["done"]).map(|_| ())
            }
            "{" => {
                self.position += 1;
                self.list_until(&["}"]).map(|_| ())
            }
            _ => self.stop("`do` is missing"),
        }
    }

    fn loop_words(&mut self) -> ParseResult<()> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('\n' | '#') => return Ok(()),
                Some(';') => {
                    self.bump();
                    return Ok(());
                }
                Some(character) if !is_meta(character) || self.at_process_substitution() => self.word()?,
                _ => return self.stop("the words of a loop cannot be read"),
            };
        }
    }

    fn case_body(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        self.operand()?;
        self.skip_lines()?;
        if self.plain_word() != "in" {
            return self.stop("`in` is missing");
        }
        self.position += 2;
        loop {
            self.skip_lines()?;
            if self.plain_word() == "esac" {
                self.position += 4;
                return Ok(());
            }
            self.take('(');
            self.case_patterns()?;
            match self.list()?.stop {
                ListEnd::CaseBreak => {}
                ListEnd::Keyword("esac") => return Ok(()),
                ListEnd::End | ListEnd::Closed | ListEnd::Keyword(_) => {
                    return self.stop("`esac` is missing");
                }
            }
        }
    }

    fn case_patterns(&mut self) -> ParseResult<()> {
        loop {
            self.skip_blanks();
            self.operand()?;
            self.skip_blanks();
            match self.bump() {
                Some('|') => {}
                Some(')') => return Ok(()),
                _ => return self.stop("a pattern of `case` cannot be read"),
            }
        }
    }

    /// Functions are read, so that people see what they do, but never certain: they can take the place of
    /// any program and call themselves.
    pub(crate) fn function_body(&mut self) -> ParseResult<()> {
        self.note_doubt("it defines a function, which can take the place of any program");
        self.skip_lines()?;
        let compound = self.peek() == Some('(')
            || matches!(self.plain_word(), "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[");
        if compound { self.command() } else { self.stop("the body of a function cannot be read") }
    }

    fn function_keyword(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        self.operand()?;
        self.skip_blanks();
        if self.take('(') {
            self.skip_blanks();
            if !self.take(')') {
                return self.stop("a function cannot be read");
            }
        }
        self.function_body()
    }

    /// A word where there has to be one.
    fn operand(&mut self) -> ParseResult<()> {
        match self.peek() {
            Some(character) if !is_meta(character) && character != '#' => self.word().map(|_| ()),
            _ => self.stop("a word is missing"),
        }
    }

    /// The name of a variable, or nothing.
    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(character) =
            self.peek().filter(|character| character.is_ascii_alphanumeric() || *character == '_')
        {
            if name.is_empty() && character.is_ascii_digit() {
                break;
            }
            name.push(character);
            self.bump();
        }
        name
    }

    /// The next word when it has no quotes and is short enough to be reserved; else nothing. It is not
    /// taken. A process substitution is part of the word before it.
    pub(crate) fn plain_word(&mut self) -> &'text str {
        self.peek();
        let rest = &self.text[self.position..];
        let end = rest.char_indices().take(LONGEST_RESERVED + 1).find(|(_, character)| is_meta(*character));
        match end {
            Some((end, '<' | '>')) if rest[end + 1..].trim_start_matches("\\\n").starts_with('(') => "",
            Some((end, _)) => &rest[..end],
            None if rest.len() <= LONGEST_RESERVED => rest,
            None => "",
        }
    }

    fn closing_keyword(&mut self) -> Option<&'static str> {
        let word = self.plain_word();
        CLOSING_WORDS.iter().find(|keyword| **keyword == word).copied()
    }

    fn case_break(&mut self) -> bool {
        let found = matches!(self.peek_second(), Some(';' | '&'));
        if found {
            self.take_two();
            self.take('&');
        }
        found
    }

    pub(crate) fn take_two(&mut self) {
        for _ in 0..2 {
            self.peek();
            self.bump();
        }
    }

    pub(crate) fn skip_blanks(&mut self) {
        while let Some(' ' | '\t') = self.peek() {
            self.bump();
        }
    }

    /// Blanks, ends of lines and comments. The bodies of heredocs are read where their line ends.
    pub(crate) fn skip_lines(&mut self) -> ParseResult<()> {
        loop {
            match self.peek() {
                Some(' ' | '\t') => {
                    self.bump();
                }
                Some('\n') => {
                    self.bump();
                    self.heredoc_bodies()?;
                }
                Some('#') => self.comment(),
                _ => return Ok(()),
            }
        }
    }

    /// A backslash at the end of a comment does not make it longer.
    pub(crate) fn comment(&mut self) {
        while self.peek_raw().is_some_and(|character| character != '\n') {
            self.bump();
        }
    }
}
