//! The bodies of heredocs. Which commands they belong to is left to `simple`.

use crate::parser::{ParseResult, Parser};
use crate::word::WordBuilder;

/// A heredoc whose body has not been reached.
pub(crate) struct Heredoc {
    pub(crate) delimiter: String,
    /// Whether the body is taken as it stands.
    pub(crate) quoted: bool,
    /// Whether tabs at the beginning of lines are dropped.
    pub(crate) tabs: bool,
    /// Its number among those of the text.
    pub(crate) number: usize,
    /// What holds for the command that it belongs to: the substitutions in its body run where that command does.
    pub(crate) background: bool,
    pub(crate) piped: bool,
    pub(crate) loops: usize,
}

impl Parser<'_, '_> {
    /// Reads the bodies that begin here, at the start of a line.
    pub(crate) fn heredoc_bodies(&mut self) -> ParseResult<()> {
        if self.pending_outside {
            return self.stop("a line ends inside a substitution before the body of a heredoc");
        }
        for heredoc in std::mem::take(&mut self.pending) {
            let body = self.heredoc_lines(&heredoc)?;
            if !heredoc.quoted {
                self.enter()?;
                let (first, loops) = (self.output.commands.len(), self.output.loops);
                self.output.loops = heredoc.loops;
                Parser::new(&body, self.output).heredoc_text()?;
                self.output.loops = loops;
                for command in &mut self.output.commands[first..] {
                    command.background |= heredoc.background;
                    command.piped |= heredoc.piped;
                }
                self.leave();
            }
        }
        Ok(())
    }

    fn heredoc_lines(&mut self, heredoc: &Heredoc) -> ParseResult<String> {
        let mut body = String::new();
        loop {
            if self.peek_raw().is_none() {
                return self.stop("a heredoc is not closed");
            }
            let from = self.position;
            self.comment();
            let mut line = &self.text[from..self.position];
            let last = self.bump().is_none();
            if heredoc.tabs {
                line = line.trim_start_matches('\t');
            }
            if line == heredoc.delimiter {
                return Ok(body);
            }
            let almost = self.nested > 0 && line.starts_with(heredoc.delimiter.as_str());
            if last || almost {
                return self.stop("a heredoc is not closed");
            }
            if !heredoc.quoted && line.ends_with('\\') {
                return self.stop("a heredoc has a line that goes on in the next");
            }
            body.push_str(line);
            body.push('\n');
        }
    }

    /// Looks for substitutions in a body; quotes mean nothing here.
    fn heredoc_text(&mut self) -> ParseResult<()> {
        let mut ignored = WordBuilder::default();
        while let Some(character) = self.peek_raw() {
            self.bump();
            match character {
                '\\' => {
                    self.bump();
                }
                '$' => self.dollar(&mut ignored, true)?,
                '`' => self.backtick(&mut ignored, true)?,
                _ => {}
            }
        }
        Ok(())
    }
}
