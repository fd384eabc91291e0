//! SPDX licence expressions: `OR`, `AND`, `WITH`, parentheses, and the old `/` for `OR`. Which licences
//! are allowed is the caller's business.

/// Whether one may choose licences by this expression and end up with allowed ones only.
pub(super) fn satisfied(expression: &str, allowed: &[&str]) -> Result<bool, String> {
    let mut parser = ExpressionParser { tokens: tokens(expression), next: 0, allowed };
    let satisfied = parser.any()?;
    match parser.take() {
        None => Ok(satisfied),
        Some(extra) => Err(format!("`{extra}` was not expected there")),
    }
}

/// Reads and judges in one pass: each method returns whether what it read is allowed.
struct ExpressionParser<'a> {
    tokens: Vec<String>,
    next: usize,
    allowed: &'a [&'a str],
}

impl ExpressionParser<'_> {
    /// Alternatives; one that is allowed is enough. All are read, so that errors show.
    fn any(&mut self) -> Result<bool, String> {
        let mut satisfied = self.all()?;
        while self.accept("OR") || self.accept("/") {
            satisfied |= self.all()?;
        }
        Ok(satisfied)
    }

    /// Terms that hold together.
    fn all(&mut self) -> Result<bool, String> {
        let mut satisfied = self.term()?;
        while self.accept("AND") {
            satisfied &= self.term()?;
        }
        Ok(satisfied)
    }

    fn term(&mut self) -> Result<bool, String> {
        if self.accept("(") {
            let satisfied = self.any()?;
            return if self.accept(")") { Ok(satisfied) } else { Err("a `)` is missing".to_owned()) };
        }
        let mut licence = self.name()?;
        if self.accept("WITH") {
            licence = format!("{licence} WITH {}", self.name()?);
        }
        Ok(self.allowed.contains(&licence.as_str()))
    }

    fn name(&mut self) -> Result<String, String> {
        match self.take() {
            Some(token) if !["OR", "AND", "WITH", "(", ")", "/"].contains(&token.as_str()) => Ok(token),
            Some(token) => Err(format!("a licence was expected where `{token}` stands")),
            None => Err("it ends where a licence was expected".to_owned()),
        }
    }

    fn accept(&mut self, wanted: &str) -> bool {
        let there = self.tokens.get(self.next).is_some_and(|token| token == wanted);
        self.next += usize::from(there);
        there
    }

    fn take(&mut self) -> Option<String> {
        let token = self.tokens.get(self.next).cloned();
        self.next += 1;
        token
    }
}

fn tokens(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " / ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    const ALLOWED: &[&str] = &["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];

    #[test]
    fn expressions_are_judged() {
        for (expression, wanted) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("GPL-3.0-only OR MIT", true),
            ("MIT/GPL-3.0-only", true),
            ("GPL-2.0 / GPL-3.0", false),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND OpenSSL", false),
            ("MIT OR Apache-2.0 AND OpenSSL", true),
            ("OpenSSL AND MIT OR OpenSSL", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0-only", true),
            ("((MIT))", true),
        ] {
            assert_eq!(satisfied(expression, ALLOWED), Ok(wanted), "{expression}");
        }
    }

    #[test]
    fn what_is_not_an_expression_is_an_error() {
        for expression in
            ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "()", "MIT AND (", "/"]
        {
            assert!(satisfied(expression, ALLOWED).is_err(), "{expression}");
        }
    }
}
