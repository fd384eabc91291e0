//! The state of reading one text, and the steps over its characters. What the characters mean is left to
//! `grammar`, `word` and the others; a text within the text (backticks, the script of `sh -c`) gets a parser
//! of its own over the same output.

use crate::heredoc::Heredoc;
use crate::{ParsedLine, SimpleCommand};

/// The longest command line that is read.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
/// How deep substitutions, bodies and wrapper programs may be nested. People cannot read that deep either.
const MAX_NESTING: usize = 24;
/// Each level of text within a text is gone over once more, so this is met only by lines made to be slow.
const STEPS_PER_BYTE: usize = 2 * MAX_NESTING;

/// Reads a command line the way that bash does when it is given one by `-c`.
pub fn parse(line: &str) -> ParsedLine {
    parse_to_output(line).into_reading()
}

fn parse_to_output(line: &str) -> ParserOutput {
    let mut output = ParserOutput { limit: STEPS_PER_BYTE * (line.len() + 64), ..ParserOutput::default() };
    if line.len() > MAX_LINE_BYTES {
        output.note_doubt("the command line is longer than 64 KiB; split it, or put it into a file");
        return output;
    }
    if let Some(hidden) = line.chars().find(|character| is_hidden(*character)) {
        output.note_doubt(&format!(
            "it contains the character U+{:04X}, which does not show for what it is",
            u32::from(hidden)
        ));
    }
    Parser::new(line, &mut output).read_all();
    output
}

/// What has been found so far, over all nested texts.
#[derive(Default)]
pub(crate) struct ParserOutput {
    pub(crate) commands: Vec<SimpleCommand>,
    unclear: Option<String>,
    /// How many loops the text that is being read stands in.
    pub(crate) loops: usize,
    depth: usize,
    steps: usize,
    limit: usize,
}

impl ParserOutput {
    /// The first doubt is kept: later ones often follow from it.
    pub(crate) fn note_doubt(&mut self, why: &str) {
        self.unclear.get_or_insert_with(|| why.to_owned());
    }

    fn into_reading(self) -> ParsedLine {
        ParsedLine { commands: self.commands, unclear: self.unclear }
    }
}

/// The rest of the text cannot be read. The reason is in the output already.
#[derive(Debug)]
pub(crate) struct ParseStopped;

pub(crate) type ParseResult<T> = Result<T, ParseStopped>;

pub(crate) struct Parser<'text, 'output> {
    pub(crate) text: &'text str,
    pub(crate) position: usize,
    /// Heredocs whose bodies begin at the next line.
    pub(crate) pending: Vec<Heredoc>,
    /// Whether a heredoc of a surrounding command still waits for its body: bash versions differ in where
    /// that begins.
    pub(crate) pending_outside: bool,
    /// How many heredocs there were.
    pub(crate) heredocs: usize,
    /// How many `$(` or `<(` are open in this text.
    pub(crate) nested: usize,
    pub(crate) output: &'output mut ParserOutput,
}

impl<'text, 'output> Parser<'text, 'output> {
    pub(crate) fn new(text: &'text str, output: &'output mut ParserOutput) -> Self {
        Self {
            text,
            position: 0,
            pending: Vec::new(),
            pending_outside: false,
            heredocs: 0,
            nested: 0,
            output,
        }
    }

    /// Notes a doubt and goes on.
    pub(crate) fn note_doubt(&mut self, why: &str) {
        self.output.note_doubt(why);
    }

    /// Notes a doubt after which nothing more can be said about the text.
    pub(crate) fn stop<T>(&mut self, why: &str) -> ParseResult<T> {
        self.note_doubt(why);
        Err(ParseStopped)
    }

    /// Goes one level deeper. `leave` comes back; after `ParseStopped` the level no longer matters.
    pub(crate) fn enter(&mut self) -> ParseResult<()> {
        self.output.depth += 1;
        if self.output.depth > MAX_NESTING {
            return self.stop("commands are nested too deep to be read");
        }
        if self.output.steps > self.output.limit {
            return self.stop("the command line takes too long to be read");
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.output.depth -= 1;
    }

    /// Reads a text within this one. Whatever makes it stop does not make this one stop.
    pub(crate) fn inner_text(&mut self, text: &str) -> ParseResult<()> {
        self.enter()?;
        let depth = self.output.depth;
        Parser::new(text, self.output).read_all();
        self.output.depth = depth;
        self.leave();
        Ok(())
    }

    /// The next character. A backslash before the end of a line takes both away, wherever quotes do not
    /// forbid it.
    pub(crate) fn peek(&mut self) -> Option<char> {
        while self.text[self.position..].starts_with("\\\n") {
            self.position += 2;
            self.output.steps += 1;
        }
        self.peek_raw()
    }

    /// The character after the next one, with the same rule.
    pub(crate) fn peek_second(&mut self) -> Option<char> {
        let first = self.peek()?;
        let mut rest = &self.text[self.position + first.len_utf8()..];
        while let Some(after) = rest.strip_prefix("\\\n") {
            rest = after;
            self.output.steps += 1;
        }
        rest.chars().next()
    }

    /// The next character as it stands, for places where a backslash means nothing.
    pub(crate) fn peek_raw(&self) -> Option<char> {
        self.text[self.position..].chars().next()
    }

    /// Takes the next character as it stands.
    pub(crate) fn bump(&mut self) -> Option<char> {
        let character = self.peek_raw()?;
        self.position += character.len_utf8();
        self.output.steps += 1;
        Some(character)
    }

    /// Takes the next character when it is this one.
    pub(crate) fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.bump();
        }
        found
    }
}

/// Control characters, spaces that are not ASCII, and what changes the direction or the look of text without
/// being seen.
pub(crate) fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}'
        | '\u{ffa0}' => true,
        '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' => true,
        '\u{2800}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control() || (other.is_whitespace() && other != ' '),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many steps a line takes for each of its bytes.
    fn effort(line: &str) -> usize {
        parse_to_output(line).steps / line.len()
    }

    #[test]
    fn effort_grows_with_the_line_and_no_faster() {
        let pieces = [
            "ls;",
            "$(",
            "`",
            "\"$(",
            "${a:-",
            "((",
            "$((",
            "<<a\n",
            "<(",
            "{ ",
            "(",
            "if a; then ",
            "case a in a) ",
            "env ",
            "nohup ",
            "xargs ",
            "bash -c '",
            "find -exec ",
            "\\\n",
            "\\",
            "'",
            "\"",
            "$\\\n",
            "a\\\nb",
            "{a,",
            "!",
            "a=b ",
            ">a ",
            "f() { ",
            "[[ a ",
            "# a\n",
            "a|",
            "a&",
            "$'\\x41'",
            "for a in b; do ",
            "trap '",
            "git -c alias.a=!",
            "\t",
        ];
        for piece in pieces {
            let line = piece.repeat(MAX_LINE_BYTES / piece.len());
            let steps = effort(&line);
            assert!(steps <= 4, "{piece:?} takes {steps} steps for each byte");
        }
        for pair in
            pieces.iter().flat_map(|first| pieces.iter().map(move |second| format!("{first}{second}")))
        {
            let line = pair.repeat(4096 / pair.len());
            let steps = effort(&line);
            assert!(steps <= STEPS_PER_BYTE / 2, "{pair:?} takes {steps} steps for each byte");
        }
    }

    #[test]
    fn a_text_within_a_text_many_times_over_is_bounded() {
        let mut script = "ls".to_owned();
        while script.len() < 20_000 {
            script = format!("bash -c {script:?}");
        }
        assert!(effort(&script) <= STEPS_PER_BYTE);
    }
}
