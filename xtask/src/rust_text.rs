//! Reads Rust source as far as the tidy checks need it: where the code is, how long its functions
//! are, what an enum's variants are called. It knows strings and comments; it does not know the grammar.

/// A source file with everything that is not code made blank, line for line.
pub(crate) struct RustText {
    /// The code; strings, characters and comments are spaces.
    pub(crate) code: String,
    /// How many lines hold a comment and nothing else.
    pub(crate) comment_lines: usize,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RustFunction {
    pub(crate) name: String,
    /// The line of its `fn`, from 1.
    pub(crate) line: usize,
    /// From its `fn` to its closing brace.
    pub(crate) lines: usize,
}

/// Tells code from everything else.
pub(crate) fn scan(text: &str) -> RustText {
    let chars: Vec<char> = text.chars().collect();
    let mut blanked = chars.clone();
    let mut commented = vec![false; chars.len()];
    let mut at = 0;
    while at < chars.len() {
        let end = literal_or_comment(&chars, at);
        let comment = chars[at] == '/';
        for index in at..end {
            commented[index] = comment;
            if chars[index] != '\n' {
                blanked[index] = ' ';
            }
        }
        at = end.max(at + 1);
    }
    RustText { code: blanked.iter().collect(), comment_lines: comment_lines(&chars, &commented) }
}

/// Every function that has a body, nested ones too, in the order in which they begin.
pub(crate) fn functions(code: &str) -> Vec<RustFunction> {
    let tokens = tokens(code);
    let begins =
        |at: &usize| tokens[*at].0 == "fn" && tokens.get(at + 1).is_some_and(|(name, _)| is_name(name));
    (0..tokens.len())
        .filter(begins)
        .filter_map(|at| {
            let (line, name) = (tokens[at].1, tokens[at + 1].0.clone());
            let last = body_end(&tokens[at..])?;
            Some(RustFunction { name, line, lines: last + 1 - line })
        })
        .collect()
}

/// How many lines of a function are a `match` that tells very many things apart, from its line on: one that is complete
/// is as long as it must be.
pub(crate) fn lines_of_large_matches(code: &str, function: &RustFunction) -> usize {
    let last = function.line + function.lines;
    let tokens: Vec<(String, usize)> =
        tokens(code).into_iter().filter(|(_, line)| (function.line..last).contains(line)).collect();
    let mut lines = 0;
    for begin in (0..tokens.len()).filter(|at| tokens[*at].0 == "match") {
        let Some(end) = body_end(&tokens[begin..]) else { continue };
        let (mut depth, mut arms) = (0, 0);
        for pair in tokens[begin..].windows(2).take_while(|pair| pair[0].1 <= end) {
            match (pair[0].0.as_str(), pair[1].0.as_str()) {
                ("{" | "(" | "[", _) => depth += 1,
                ("}" | ")" | "]", _) => depth -= 1,
                ("=", ">") if depth == 1 => arms += 1,
                _ => {}
            }
        }
        if arms >= LARGE_MATCH {
            lines += end - tokens[begin].1;
        }
    }
    lines
}

/// So many arms has a `match` that may be long.
const LARGE_MATCH: usize = 12;

/// The variants of an enum, or nothing when the code has no such enum.
pub(crate) fn variants(code: &str, enum_name: &str) -> Vec<String> {
    let tokens = tokens(code);
    let named = |pair: &[(String, usize)]| pair[0].0 == "enum" && pair[1].0 == enum_name;
    let Some(begin) = tokens.windows(2).position(named) else { return Vec::new() };
    let (mut depth, mut expected, mut variants) = (0, true, Vec::new());
    for (token, _) in &tokens[begin + 2..] {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            "," if depth == 1 => expected = true,
            name if depth == 1 && expected && is_name(name) => {
                variants.push(name.to_owned());
                expected = false;
            }
            _ => {}
        }
        if depth == 0 && token == "}" {
            break;
        }
    }
    variants
}

/// `StepFinished` as `step_finished`: the way that serde and the documents write a variant.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Where the literal or comment that begins here ends; `at` itself when code is here.
fn literal_or_comment(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => {
            chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| at + n)
        }
        '/' if next == Some('*') => block_comment_end(chars, at),
        '"' => quoted_end(chars, at + 1, '"'),
        '\'' if next == Some('\\') => quoted_end(chars, at + 1, '\''),
        '\'' if chars.get(at + 2) == Some(&'\'') => at + 3,
        'r' => raw_string_end(chars, at).unwrap_or(at),
        _ => at,
    }
}

fn block_comment_end(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// `r"…"`, `r#"…"#` and so on; not a name that ends in r, and not `r#name`.
fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let prefixed = at > 0 && matches!(chars[at - 1], 'b' | 'c');
    let before = at.checked_sub(if prefixed { 2 } else { 1 }).map(|index| chars[index]);
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let begin = at + 1 + hashes;
    if chars.get(begin) != Some(&'"') {
        return None;
    }
    let closes = |index: &usize| {
        chars[*index] == '"'
            && chars[index + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    Some((begin + 1..chars.len()).find(closes).map_or(chars.len(), |index| index + 1 + hashes))
}

fn comment_lines(chars: &[char], commented: &[bool]) -> usize {
    let mut begin = 0;
    let mut count = 0;
    for line in chars.split(|c| *c == '\n') {
        let mut visible =
            (begin..begin + line.len()).filter(|index| !chars[*index].is_whitespace()).peekable();
        count += usize::from(visible.peek().is_some() && visible.all(|index| commented[index]));
        begin += line.len() + 1;
    }
    count
}

/// Names, and every other visible character by itself, each with its line.
pub(crate) fn tokens(code: &str) -> Vec<(String, usize)> {
    let mut tokens: Vec<(String, usize)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut joins = false;
        for c in line.chars() {
            let part_of_name = c.is_alphanumeric() || c == '_';
            match tokens.last_mut() {
                Some((name, _)) if part_of_name && joins => name.push(c),
                _ if c.is_whitespace() => {}
                _ => tokens.push((c.to_string(), number + 1)),
            }
            joins = part_of_name;
        }
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The line of the brace that closes the function that begins here; none when it has no body.
fn body_end(tokens: &[(String, usize)]) -> Option<usize> {
    let (mut brackets, mut braces) = (0, 0);
    for (token, line) in tokens {
        match token.as_str() {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets -= 1,
            ";" if brackets == 0 && braces == 0 => return None,
            "{" => braces += 1,
            "}" => {
                braces -= 1;
                if braces == 0 {
                    return Some(*line);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
