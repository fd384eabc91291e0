//! The words of prompts, files and names: identifiers taken apart, endings taken off, so that `retrying` finds
//! `retry_with_backoff`. Words are known by a hash, since a large tree has millions.

/// Longer words are data.
const MAX_WORD: usize = 40;
const MIN_WORD: usize = 2;
/// As how many words of code a word of a comment counts.
const COMMENT_WEIGHT: u16 = 2;
/// How many different words of a prompt count.
const MAX_TERMS: usize = 64;

/// Words that say nothing about what is looked for.
const STOP_WORDS: &str = "
    a about above after again all also although always am an and any anybody are as at be because been
    before being below between both but by can cannot code could did do does doing done each else every
    exactly few file files find for from function get gets give given go goes going had has have having
    he her here him his how i if implemented in instance into is it its just know knows let like long
    look made make makes many may me mine more most much must my never no nobody nor not nothing now of
    off on once one only or other our out over own please same see shall she should show so some
    somebody something such take tell than that the their them then there these they this those through
    to too two under until up us use used uses using very want was we were what when where whether which
    while who whoever whom whose why will with without would yet you your";

/// The words that a prompt looks for, each once.
pub(super) fn terms(prompt: &str) -> Vec<u32> {
    let mut terms = Vec::new();
    each_word(prompt.as_bytes(), |word| {
        let is_stop = STOP_WORDS.split_whitespace().any(|stop| stop.as_bytes() == word);
        let hash = hash(stem(word));
        if !is_stop && terms.len() < MAX_TERMS && !terms.contains(&hash) {
            terms.push(hash);
        }
    });
    terms
}

/// The hash of every word in a text, in order; an identifier of several words is one more word.
pub(super) fn hashes(text: &[u8], mut take: impl FnMut(u32)) {
    each_word(text, |word| take(hash(stem(word))));
}

/// The same for source code, with how much each word counts: comments are written for people, as prompts are.
pub(super) fn weighted_hashes(text: &[u8], mut take: impl FnMut(u32, u16)) {
    for line in text.split(|byte| *byte == b'\n') {
        let weight = if is_comment(line) { COMMENT_WEIGHT } else { 1 };
        hashes(line, |word| take(word, weight));
    }
}

/// Whether a line is a comment, in any of the languages that most code is in.
pub(super) fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    [&b"//"[..], b"#", b"/*", b"*", b"\"\"\"", b"--"].iter().any(|mark| line.starts_with(mark))
}

/// Calls `take` with each word in small letters.
fn each_word(text: &[u8], mut take: impl FnMut(&[u8])) {
    let mut word: Vec<u8> = Vec::with_capacity(MAX_WORD);
    let mut whole: Vec<u8> = Vec::with_capacity(MAX_WORD);
    for identifier in text.split(|byte| !is_word_byte(*byte)) {
        if identifier.len() < MIN_WORD || identifier.len() > 2 * MAX_WORD {
            continue;
        }
        whole.clear();
        let mut pieces = 0;
        for (start, end) in identifier_words(identifier) {
            word.clear();
            word.extend(identifier[start..end].iter().map(u8::to_ascii_lowercase));
            whole.extend_from_slice(&word);
            pieces += 1;
            if (MIN_WORD..=MAX_WORD).contains(&word.len()) && !word.iter().all(u8::is_ascii_digit) {
                take(&word);
            }
        }
        if pieces > 1 {
            take(&whole);
        }
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Where the words of an identifier begin and end: at `_`, at a change to capitals, at the last of several
/// capitals, and between letters and digits.
fn identifier_words(identifier: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while identifier.get(at) == Some(&b'_') {
            at += 1;
        }
        let start = at;
        let first = *identifier.get(start)?;
        at += 1;
        while let Some(byte) = identifier.get(at) {
            let before = identifier[at - 1];
            let ends_capitals = before.is_ascii_uppercase()
                && byte.is_ascii_uppercase()
                && identifier.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let is_break = *byte == b'_'
                || before.is_ascii_lowercase() && byte.is_ascii_uppercase()
                || ends_capitals
                || first.is_ascii_digit() != byte.is_ascii_digit();
            if is_break {
                break;
            }
            at += 1;
        }
        Some((start, at))
    })
}

/// A word without the endings by which its forms differ. Crude, and the same for prompts and files.
fn stem(word: &[u8]) -> &[u8] {
    let mut stem = word;
    let mut strip = |endings: &[&str], least: usize| {
        for ending in endings {
            if let Some(rest) = stem.strip_suffix(ending.as_bytes())
                && rest.len() >= least
            {
                stem = rest;
                return true;
            }
        }
        false
    };
    if !word.ends_with(b"ss") && !word.ends_with(b"us") && !word.ends_with(b"is") {
        strip(&["ies", "s"], 3);
    }
    strip(
        &[
            "ations", "ation", "ings", "ing", "ied", "edly", "ed", "ers", "er", "or", "ions", "ion", "ment",
            "ably",
        ],
        3,
    );
    strip(&["ate", "able", "ible", "ally", "ly", "al", "e", "y", "i"], 3);
    // What was doubled before an ending is single without it: `cancelled`, `running`.
    if let [.., one, other] = stem
        && one == other
        && stem.len() > 3
        && !matches!(other, b's' | b'z' | b'o' | b'e')
    {
        stem = &stem[..stem.len() - 1];
    }
    stem
}

fn hash(word: &[u8]) -> u32 {
    word.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::{each_word, stem, terms};

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text.as_bytes(), |word| words.push(String::from_utf8_lossy(word).into_owned()));
        words
    }

    #[test]
    fn identifiers_are_taken_apart_and_kept_whole() {
        for (text, expected) in [
            ("retry_with_backoff", vec!["retry", "with", "backoff", "retrywithbackoff"]),
            ("HttpServer2", vec!["http", "server", "httpserver2"]),
            ("parseJSONValue", vec!["parse", "json", "value", "parsejsonvalue"]),
            ("a.b, plain x", vec!["plain"]),
            ("größe", vec!["größe"]),
            ("__init__", vec!["init"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["retry", "retries", "retried", "retrying"][..],
            &["cancel", "cancelled", "canceled", "cancellation", "cancels"],
            &["resolve", "resolver", "resolving", "resolved"],
            &["parse", "parser", "parsing", "parses"],
            &["configure", "configuration", "configured"],
            &["dependency", "dependencies"],
            &["block", "blocking", "blocked"],
            &["limit", "limits", "limited"],
            &["run", "running", "runs"],
        ] {
            let stems: Vec<&[u8]> = forms.iter().map(|form| stem(form.as_bytes())).collect();
            assert!(
                stems.windows(2).all(|pair| pair[0] == pair[1]),
                "{forms:?} {:?}",
                stems.iter().map(|stem| String::from_utf8_lossy(stem)).collect::<Vec<_>>()
            );
        }
        assert_eq!(stem(b"status"), b"status");
        assert_eq!(stem(b"as"), b"as");
    }

    #[test]
    fn prompts_are_looked_for_by_what_they_say() {
        assert!(terms("How is it that the, of and?").is_empty());
        assert_eq!(terms("Retry the retries").len(), 1);
        assert_eq!(terms("retry_policy").len(), 3);
    }
}
