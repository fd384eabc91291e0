//! What stands between `[[` and `]]`. The words are left to `word`; here they are put together to an expression as bash does
//! it, because a line that bash cannot parse is not clear.

use crate::parser::{ParseResult, Parser};
use crate::{ShellWord, SimpleCommand};

/// How deep parentheses and negations may be nested.
const MAX_NESTING: usize = 24;

/// One part of an expression.
enum TestPart {
    Operator(&'static str),
    /// A word, with its text when it has no quotes and nothing unknown: only then can it be an operator too.
    Word(Option<String>),
}

impl Parser<'_, '_> {
    /// Reads on after `[[`, whose words are neither split nor matched against files.
    pub(crate) fn test_body(&mut self) -> ParseResult<()> {
        let place = self.output.commands.len();
        let mut argv = vec![ShellWord::Literal("[[".to_owned())];
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            if self.plain_word() == "]]" {
                self.position += 2;
                break;
            }
            let operator = match (self.peek(), self.peek_second()) {
                (Some('&'), Some('&')) => "&&",
                (Some('|'), Some('|')) => "||",
                (Some('<'), second) if second != Some('(') => "<",
                (Some('>'), second) if second != Some('(') => ">",
                (Some('('), _) => "(",
                (Some(')'), _) => ")",
                (None | Some('\n' | ';' | '&' | '|' | '#'), _) => return self.stop("a `[[` cannot be read"),
                (Some(_), _) => {
                    let token = self.word()?;
                    if token.word.literal().is_some_and(|text| EVALUATING.contains(&text)) {
                        self.note_doubt("a `[[` calculates with its words, which can run commands");
                    }
                    parts.push(TestPart::Word(
                        token.word.literal().filter(|_| token.plain).map(str::to_owned),
                    ));
                    argv.push(token.word);
                    continue;
                }
            };
            for _ in operator.chars() {
                self.peek();
                self.bump();
            }
            parts.push(TestPart::Operator(operator));
            argv.push(ShellWord::Literal(operator.to_owned()));
        }
        if !alternatives(&parts, 0).is_some_and(<[TestPart]>::is_empty) {
            return self.stop("a `[[` cannot be read");
        }
        argv.push(ShellWord::Literal("]]".to_owned()));
        self.output.commands.insert(place, SimpleCommand { argv, ..SimpleCommand::default() });
        Ok(())
    }
}

/// Operators that read their words as calculations or variables, with all that these can contain.
const EVALUATING: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
/// Letters of operators that take one word.
const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";
/// Operators between two words. The regular expression after `=~` has rules of its own and is not read.
const BINARY: &[&str] = &["=", "==", "!=", "-ef", "-nt", "-ot", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// What is left after the terms between `||` and `&&`; nothing where the parts are no expression.
fn alternatives(parts: &[TestPart], depth: usize) -> Option<&[TestPart]> {
    let mut rest = term(parts, depth)?;
    while let [TestPart::Operator("&&" | "||"), after @ ..] = rest {
        rest = term(after, depth)?;
    }
    Some(rest)
}

fn term(parts: &[TestPart], depth: usize) -> Option<&[TestPart]> {
    if depth > MAX_NESTING {
        return None;
    }
    match parts {
        [TestPart::Operator("("), rest @ ..] => match alternatives(rest, depth + 1)? {
            [TestPart::Operator(")"), rest @ ..] => Some(rest),
            _ => None,
        },
        [TestPart::Word(Some(text)), rest @ ..] if text == "!" => term(rest, depth + 1),
        [TestPart::Word(Some(text)), rest @ ..] if is_unary(text) => match rest {
            [TestPart::Word(_), rest @ ..] => Some(rest),
            _ => None,
        },
        [TestPart::Word(_), TestPart::Operator("<" | ">"), TestPart::Word(_), rest @ ..] => Some(rest),
        [TestPart::Word(_), TestPart::Word(Some(text)), TestPart::Word(_), rest @ ..]
            if BINARY.contains(&text.as_str()) =>
        {
            Some(rest)
        }
        [TestPart::Word(_), rest @ ..] => Some(rest),
        [] | [TestPart::Operator(_), ..] => None,
    }
}

fn is_unary(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && UNARY.contains(letter))
}
