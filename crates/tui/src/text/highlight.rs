//! Colours code well enough to read it in a terminal: comments, strings, numbers, keywords. It knows families of
//! languages and not their grammars, so a line costs little and a broken one does no harm.

use ratatui::style::Style;

use crate::theme::{StyleRole, Theme};

/// What has to be remembered from one line of a block to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HighlightState {
    in_comment: bool,
}

/// A family of languages.
#[derive(Debug, Clone, Copy)]
pub struct HighlightLanguage {
    line_comment: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static [char],
    keywords: &'static [&'static str],
    /// Roles of whole lines by their first letter.
    line_roles: &'static [(char, StyleRole)],
}

const C_FAMILY: HighlightLanguage = HighlightLanguage {
    line_comment: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: &['"', '\'', '`'],
    keywords: &[
        "abstract",
        "as",
        "async",
        "await",
        "bool",
        "boolean",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "export",
        "extends",
        "extern",
        "false",
        "final",
        "float",
        "for",
        "from",
        "func",
        "function",
        "go",
        "goto",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "int",
        "interface",
        "let",
        "long",
        "map",
        "namespace",
        "new",
        "nil",
        "null",
        "package",
        "private",
        "protected",
        "public",
        "range",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "super",
        "switch",
        "this",
        "throw",
        "true",
        "try",
        "type",
        "typedef",
        "typeof",
        "undefined",
        "union",
        "unsigned",
        "using",
        "var",
        "virtual",
        "void",
        "volatile",
        "while",
        "yield",
    ],
    line_roles: &[],
};

const RUST: HighlightLanguage = HighlightLanguage {
    line_comment: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: &['"'],
    keywords: &[
        "Self", "as", "async", "await", "bool", "break", "const", "continue", "crate", "dyn", "else", "enum",
        "extern", "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut",
        "pub", "ref", "return", "self", "static", "str", "struct", "super", "trait", "true", "type", "u16",
        "u32", "u64", "u8", "unsafe", "use", "usize", "where", "while",
    ],
    line_roles: &[],
};

const HASH_FAMILY: HighlightLanguage = HighlightLanguage {
    line_comment: &["#"],
    block_comment: None,
    quotes: &['"', '\''],
    keywords: &[
        "False", "None", "True", "alias", "and", "as", "assert", "async", "await", "begin", "break", "case",
        "class", "continue", "def", "del", "do", "done", "elif", "else", "end", "ensure", "esac", "except",
        "export", "false", "fi", "finally", "for", "from", "function", "global", "if", "import", "in", "is",
        "lambda", "local", "module", "nil", "nonlocal", "not", "null", "or", "pass", "raise", "rescue",
        "return", "self", "set", "then", "true", "try", "unless", "until", "while", "with", "yield",
    ],
    line_roles: &[],
};

const SQL: HighlightLanguage = HighlightLanguage {
    line_comment: &["--"],
    block_comment: Some(("/*", "*/")),
    quotes: &['\''],
    keywords: &[
        "AND", "AS", "BY", "CREATE", "DELETE", "DROP", "FROM", "GROUP", "INDEX", "INSERT", "INTO", "JOIN",
        "LEFT", "LIMIT", "NOT", "NULL", "ON", "OR", "ORDER", "PRIMARY", "SELECT", "SET", "TABLE", "UPDATE",
        "VALUES", "WHERE", "and", "as", "by", "create", "delete", "drop", "from", "group", "insert", "into",
        "join", "limit", "not", "null", "on", "or", "order", "select", "set", "table", "update", "values",
        "where",
    ],
    line_roles: &[],
};

const DIFF: HighlightLanguage = HighlightLanguage {
    line_comment: &[],
    block_comment: None,
    quotes: &[],
    keywords: &[],
    line_roles: &[('+', StyleRole::Added), ('-', StyleRole::Removed), ('@', StyleRole::Dim)],
};

/// The language of a code block or of a file by its ending; none when it is not known.
pub fn language(name: &str) -> Option<HighlightLanguage> {
    let name = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    match name.as_str() {
        "rust" | "rs" => Some(RUST),
        "c" | "h" | "cc" | "cpp" | "hpp" | "c++" | "cs" | "csharp" | "java" | "js" | "javascript" | "jsx"
        | "mjs" | "ts" | "tsx" | "typescript" | "go" | "kotlin" | "kt" | "swift" | "scala" | "dart"
        | "php" | "zig" | "json" | "jsonc" | "css" | "scss" | "svelte" | "proto" => Some(C_FAMILY),
        "py" | "python" | "rb" | "ruby" | "sh" | "bash" | "zsh" | "shell" | "console" | "fish" | "toml"
        | "yaml" | "yml" | "make" | "makefile" | "dockerfile" | "ini" | "conf" | "perl" | "pl" | "r"
        | "elixir" | "ex" | "exs" => Some(HASH_FAMILY),
        "sql" => Some(SQL),
        "diff" | "patch" | "udiff" => Some(DIFF),
        _ => None,
    }
}

/// Colours one line of code.
pub fn highlight(
    line: &str,
    language: Option<HighlightLanguage>,
    carried: &mut HighlightState,
    theme: &Theme,
) -> Vec<(String, Style)> {
    let Some(language) = language else { return vec![(line.to_owned(), theme.style(StyleRole::Code))] };
    let first = line.chars().next();
    if let Some((_, role)) = language.line_roles.iter().find(|(letter, _)| Some(*letter) == first) {
        return vec![(line.to_owned(), theme.style(*role))];
    }
    let mut spans: Vec<(String, Style)> = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (taken, role) = token(rest, &language, carried);
        let style = theme.style(role);
        match spans.last_mut() {
            Some((text, last)) if *last == style => text.push_str(&rest[..taken]),
            _ => spans.push((rest[..taken].to_owned(), style)),
        }
        rest = &rest[taken..];
    }
    spans
}

/// The length of the next token, which is never zero, and what it is.
fn token(rest: &str, language: &HighlightLanguage, carried: &mut HighlightState) -> (usize, StyleRole) {
    if let Some((open, close)) = language.block_comment
        && (carried.in_comment || rest.starts_with(open))
    {
        let from = if carried.in_comment { 0 } else { open.len() };
        let end = rest[from..].find(close).map(|at| from + at + close.len());
        carried.in_comment = end.is_none();
        return (end.unwrap_or(rest.len()).max(1), StyleRole::Comment);
    }
    if language.line_comment.iter().any(|mark| rest.starts_with(mark)) {
        return (rest.len(), StyleRole::Comment);
    }
    let first = rest.chars().next().unwrap_or(' ');
    if language.quotes.contains(&first) {
        return (string_end(rest, first), StyleRole::Str);
    }
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    if in_word(first) {
        let end = rest.find(|c: char| !in_word(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        let role = if first.is_ascii_digit() {
            StyleRole::Number
        } else if language.keywords.contains(&word) {
            StyleRole::Keyword
        } else {
            StyleRole::Code
        };
        return (end, role);
    }
    (first.len_utf8(), StyleRole::Code)
}

/// Where a string ends that begins here; at the end of the line if nothing ends it before.
fn string_end(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{HighlightState, highlight, language};
    use crate::theme::{ColorDepth, StyleRole, Theme};

    #[test]
    fn a_line_keeps_its_text_and_its_parts_their_roles() {
        let theme = Theme::new("night", ColorDepth::True);
        let mut carried = HighlightState::default();
        let line = "fn a() { \"x\\\"y\"; 42 } // end";
        let spans = highlight(line, language("rs"), &mut carried, &theme);
        assert_eq!(spans.iter().map(|(text, _)| text.as_str()).collect::<String>(), line);
        let role_of = |text: &str| spans.iter().find(|(span, _)| span == text).map(|(_, style)| *style);
        assert_eq!(role_of("fn"), Some(theme.style(StyleRole::Keyword)));
        assert_eq!(role_of("\"x\\\"y\""), Some(theme.style(StyleRole::Str)));
        assert_eq!(role_of("42"), Some(theme.style(StyleRole::Number)));
        assert_eq!(role_of("// end"), Some(theme.style(StyleRole::Comment)));
    }

    #[test]
    fn a_comment_goes_on_until_it_is_closed() {
        let theme = Theme::new("night", ColorDepth::True);
        let mut carried = HighlightState::default();
        highlight("/* a", language("c"), &mut carried, &theme);
        assert_eq!(highlight("b", language("c"), &mut carried, &theme)[0].1, theme.style(StyleRole::Comment));
        highlight("*/ int", language("c"), &mut carried, &theme);
        assert_eq!(highlight("b", language("c"), &mut carried, &theme)[0].1, theme.style(StyleRole::Code));
    }
}
