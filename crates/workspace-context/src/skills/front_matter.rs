//! The head of a SKILL.md: the small part of YAML in which names and descriptions are written. It is strict:
//! what it does not understand is said to be wrong rather than guessed at.

/// How long a name and a description may be, in characters.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1_024;

/// What the head of a skill says that matters here. Other keys are for others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) description: String,
}

impl FrontMatter {
    /// Reads the head of a text, and gives it with the rest. An error says what is wrong.
    pub(super) fn parse(text: &str) -> Result<(FrontMatter, &str), String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (head, body) = split(text).ok_or("it does not begin with a head between two lines of ---")?;
        let lines: Vec<&str> = head.lines().map(str::trim_end).collect();
        let (mut name, mut description) = (None, None);
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            at += 1;
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with([' ', '\t']) {
                return Err(format!("`{}` in its head belongs to no key", line.trim()));
            }
            let (key, value) =
                line.split_once(':').ok_or_else(|| format!("`{line}` in its head is no `key: value`"))?;
            let deeper =
                lines[at..].iter().take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
            let deeper: Vec<&str> = deeper.copied().collect();
            at += deeper.len();
            let slot = match key.trim() {
                "name" => &mut name,
                "description" => &mut description,
                _ => continue,
            };
            if slot.is_some() {
                return Err(format!("its head has two keys `{}`", key.trim()));
            }
            *slot = Some(scalar(value.trim(), &deeper)?);
        }
        let front_matter = FrontMatter {
            name: checked_name(name.ok_or("its head has no `name`")?)?,
            description: checked_description(&description.ok_or("its head has no `description`")?)?,
        };
        Ok((front_matter, body))
    }
}

/// The head and the rest.
fn split(text: &str) -> Option<(&str, &str)> {
    let is_mark = |line: &str| line.trim_end() == "---";
    let first = text.split_inclusive('\n').next().filter(|line| is_mark(line))?;
    let mut at = first.len();
    for line in text[at..].split_inclusive('\n') {
        if is_mark(line) {
            return Some((&text[first.len()..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// The value of a key, with the deeper lines beneath it.
fn scalar(value: &str, deeper: &[&str]) -> Result<String, String> {
    let lines = || deeper.iter().map(|line| line.trim());
    match value.trim_end_matches(['-', '+']) {
        "|" => Ok(lines().collect::<Vec<_>>().join("\n").trim().to_owned()),
        "" | ">" => Ok(folded(lines())),
        _ if value.starts_with('"') => double_quoted(&folded(std::iter::once(value).chain(lines()))),
        _ if value.starts_with('\'') => single_quoted(&folded(std::iter::once(value).chain(lines()))),
        _ if value.starts_with(['[', '{', '&', '*', '!', '%', '@', '`']) => {
            Err(format!("`{value}` in its head is not plain text; put it in quotes"))
        }
        _ => {
            let plain = value.split(" #").next().unwrap_or(value);
            Ok(folded(std::iter::once(plain.trim()).chain(lines())))
        }
    }
}

fn folded<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn double_quoted(value: &str) -> Result<String, String> {
    let inner =
        value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).ok_or("a quote is not closed")?;
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(known @ ('"' | '\\' | '/' | ' ')) => known,
                other => return Err(format!("`\\{}` in its head is not understood", other.unwrap_or(' '))),
            }),
            '"' => return Err("there is text after a closing quote".to_owned()),
            other => text.push(other),
        }
    }
    Ok(text)
}

fn single_quoted(value: &str) -> Result<String, String> {
    let inner =
        value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).ok_or("a quote is not closed")?;
    let text = inner.replace("''", "\u{0}");
    if text.contains('\'') {
        return Err("there is text after a closing quote".to_owned());
    }
    Ok(text.replace('\u{0}', "'"))
}

fn checked_name(name: String) -> Result<String, String> {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_good = (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(is_known)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if is_good {
        return Ok(name);
    }
    Err(format!("its name must be 1 to {MAX_NAME} small letters, digits and hyphens"))
}

/// A description on one line: it becomes a line of a list.
fn checked_description(description: &str) -> Result<String, String> {
    let words = description.split(|character: char| character.is_whitespace() || character.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.is_empty() || line.chars().count() > MAX_DESCRIPTION {
        return Err(format!("its description must have 1 to {MAX_DESCRIPTION} characters"));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::FrontMatter;

    #[test]
    fn heads_are_read() {
        for (text, name, description, body) in [
            ("---\nname: a\ndescription: b c\n---\nbody\n", "a", "b c", "body\n"),
            ("---\r\nname: a\r\ndescription: b\r\n---\r\nx", "a", "b", "x"),
            ("---\nname: 'a-1'\ndescription: \"it's \\\"so\\\": yes\"\n---\n", "a-1", "it's \"so\": yes", ""),
            ("---\nname: a\ndescription: >-\n  one\n  two\nlicense: MIT\n---\nx", "a", "one two", "x"),
            ("---\nname: a\ndescription: |\n  one\n\n  two\n---\nx", "a", "one two", "x"),
            ("---\nname: a # why\nmetadata:\n  x: y\ndescription: 'don''t'\n---\nx", "a", "don't", "x"),
            ("---\nname: a\ndescription: use when: always\n---\nx", "a", "use when: always", "x"),
        ] {
            let (head, rest) = FrontMatter::parse(text).unwrap();
            assert_eq!(
                (head.name.as_str(), head.description.as_str(), rest),
                (name, description, body),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("name: a\ndescription: b\n", "does not begin with a head"),
            ("---\nname: a\n", "does not begin with a head"),
            ("---\nname: a\n---\n", "no `description`"),
            ("---\ndescription: a\n---\n", "no `name`"),
            ("---\nname: A b\ndescription: c\n---\n", "its name must be"),
            ("---\nname: ../x\ndescription: c\n---\n", "its name must be"),
            ("---\nname: a\nname: b\ndescription: c\n---\n", "two keys `name`"),
            ("---\nname: a\ndescription:\n---\n", "1 to 1024"),
            ("---\nname: a\ndescription: \"b\n---\n", "not closed"),
            ("---\nname: a\ndescription: [b]\n---\n", "not plain text"),
            ("---\njust words\n---\n", "no `key: value`"),
            ("---\n  name: a\n---\n", "belongs to no key"),
        ] {
            let error = FrontMatter::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
