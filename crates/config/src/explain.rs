//! Errors of the configuration, in words for the person who wrote it: where, which key, what was
//! expected, and which name was probably meant.

use std::cmp::Reverse;

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {}{message}", key.as_ref().map(|key| format!("`{key}`: ")).unwrap_or_default())]
pub struct ConfigError {
    /// A file and line, an environment variable or a flag.
    pub origin: String,
    /// The key, if the trouble is with one.
    pub key: Option<String>,
    /// What is wrong, what was expected, and what to do.
    pub message: String,
}

impl ConfigError {
    /// An error of this origin.
    pub fn new(origin: impl Into<String>, key: Option<String>, message: impl Into<String>) -> ConfigError {
        ConfigError { origin: origin.into(), key, message: message.into() }
    }
}

/// Turns the parser's words into ours. It never quotes the line of the file, which may hold a secret.
pub(crate) fn explain(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    let names = quoted(&message);
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let Some((wrong, known)) = names.split_first().filter(|_| unknown) else {
        return in_plain_words(&message);
    };
    let what =
        if message.starts_with("unknown field") { "there is no such key" } else { "there is no such value" };
    let expected = match known {
        [] => String::new(),
        [one] => format!(", expected `{one}`"),
        many => format!(
            ", expected one of {}",
            many.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    let meant = closest(wrong, known.iter().copied())
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default();
    format!("{what} as `{wrong}`{expected}{meant}")
}

/// The candidate that a typing mistake away from `wrong` would be, if there is one.
pub(crate) fn closest<'a>(wrong: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = 1 + wrong.chars().count() / 4;
    candidates
        .map(|candidate| (distance(&wrong.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed || extends(wrong, candidate))
        .min_by_key(|(distance, candidate)| (*distance, Reverse(common_prefix_length(wrong, candidate))))
        .map(|(_, candidate)| candidate)
}

/// How many letters two words begin with together: people rarely mistype the first ones.
fn common_prefix_length(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count()
}

/// `api_key` for `api_key_env`, `model` for `models`.
fn extends(wrong: &str, candidate: &str) -> bool {
    let shorter = wrong.len().min(candidate.len());
    shorter >= 4 && (candidate.starts_with(wrong) || wrong.starts_with(candidate))
}

/// The words between backticks.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// The parser names Rust's types; people know TOML's.
fn in_plain_words(message: &str) -> String {
    let words = [
        ("expected u32", "expected a whole number that is not negative"),
        ("expected u64", "expected a whole number that is not negative"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list in brackets"),
        ("expected a string", "expected a text in quotes"),
        ("expected a boolean", "expected true or false"),
        ("expected a map", "expected a table"),
        ("invalid type: sequence", "this is a list"),
        ("invalid type: map", "this is a table"),
        ("invalid type: string", "this is the text"),
        ("invalid type: integer", "this is the number"),
        ("invalid type: floating point", "this is the number"),
        ("invalid type: boolean", "this is"),
        ("invalid value: integer", "this is the number"),
        ("missing field", "this section needs the key"),
    ];
    let mut text = message.to_owned();
    for (theirs, ours) in words {
        text = text.replacen(theirs, ours, 1);
    }
    match text.find("expected struct ") {
        Some(at) => format!("{}expected a table", &text[..at]),
        None => text,
    }
}

/// How many letters have to be added, left out, replaced or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::{closest, distance, explain};

    #[test]
    fn distances_count_swaps_as_one() {
        assert_eq!(distance("listen", "listen"), 0);
        assert_eq!(distance("lisetn", "listen"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        let names = ["listen", "auth", "api_key_env"];
        assert_eq!(closest("lisen", names.into_iter()), Some("listen"));
        assert_eq!(closest("api_key", names.into_iter()), Some("api_key_env"));
        assert_eq!(closest("colour", names.into_iter()), None);
    }

    #[test]
    fn the_parsers_words_become_plain() {
        assert_eq!(
            explain("unknown field `lisen`, expected `listen` or `auth`"),
            "there is no such key as `lisen`, expected one of `listen`, `auth`; did you mean `listen`?"
        );
        assert_eq!(
            explain("unknown variant `exce`, expected one of `read`, `write`, `exec`"),
            "there is no such value as `exce`, expected one of `read`, `write`, `exec`; did you mean `exec`?"
        );
        assert_eq!(
            explain("invalid type: integer `5`, expected a string"),
            "this is the number `5`, expected a text in quotes"
        );
        assert_eq!(
            explain("invalid type: boolean `true`, expected struct Server"),
            "this is `true`, expected a table"
        );
    }
}
