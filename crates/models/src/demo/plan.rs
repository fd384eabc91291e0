//! From what a person wrote to a list of wishes: cuts a message into clauses, in order.
//!
//! A message is cut only where what follows is understood too, so that `search for salt and pepper`
//! stays one wish. Single clauses are understood in `clause`.

use super::clause::{DemoIntent, parse_clause};

/// Phrases that ask for one batch.
const PARALLEL: [&str; 4] = ["in parallel", "at the same time", "simultaneously", "concurrently"];

/// What may stand between two clauses, the longer first; true where it cannot be part of free text.
const SEPARATORS: [(&str, bool); 10] = [
    (", and then ", true),
    (" and then ", true),
    (". then ", true),
    (", then ", true),
    (" then ", true),
    (", and ", false),
    (" and ", false),
    (". ", false),
    (", ", false),
    ("\n", false),
];

/// How many places of a message are looked at; the rest belongs to the last clause.
const MAX_CUTS: usize = 64;

/// What a message asks for; never empty.
pub(super) fn plan(text: &str) -> Vec<DemoIntent> {
    let (text, parallel) = without_parallel(text);
    let mut wishes: Vec<DemoIntent> = clauses(&text).into_iter().filter_map(parse_clause).flatten().collect();
    if wishes.is_empty() {
        wishes.push(DemoIntent::Explain { greeting: greets(&text) });
    }
    for wish in &mut wishes {
        if let DemoIntent::Call(call) = wish {
            call.parallel = parallel;
        }
    }
    wishes
}

fn without_parallel(text: &str) -> (String, bool) {
    let (lower, quoted) = (text.to_ascii_lowercase(), quoted(text));
    let found = PARALLEL.iter().find_map(|phrase| {
        let at = lower.match_indices(phrase).map(|(at, _)| at).find(|&at| !quoted[at])?;
        Some((at, at + phrase.len()))
    });
    match found {
        Some((start, end)) => (format!("{} {}", text[..start].trim_end(), &text[end..]), true),
        None => (text.to_owned(), false),
    }
}

fn clauses(text: &str) -> Vec<&str> {
    let (lower, quoted) = (text.to_ascii_lowercase(), quoted(text));
    let (mut clauses, mut start, mut looked_at) = (Vec::new(), 0, 0);
    for (at, byte) in text.bytes().enumerate() {
        if !matches!(byte, b' ' | b',' | b'.' | b'\n') {
            continue;
        }
        if at < start || quoted[at] || looked_at == MAX_CUTS {
            continue;
        }
        let Some((separator, strong)) = SEPARATORS.iter().find(|(word, _)| lower[at..].starts_with(word))
        else {
            continue;
        };
        looked_at += 1;
        let (left, right) = (&text[start..at], &text[at + separator.len()..]);
        // In a shell, `; then` is no end of a command.
        let cut = !left.trim().is_empty()
            && !left.ends_with(';')
            && parse_clause(right).is_some()
            && (*strong || !is_free_text(left));
        if cut {
            clauses.push(left);
            start = at + separator.len();
        }
    }
    clauses.push(&text[start..]);
    clauses
}

/// Whether anything may follow the words: what is to be said, thought about or written.
fn is_free_text(left: &str) -> bool {
    parse_clause(left).is_some_and(|wishes| {
        wishes.iter().any(|wish| match wish {
            DemoIntent::Say { .. } | DemoIntent::Think { .. } => true,
            DemoIntent::Call(call) => call.tool == "write_file",
            DemoIntent::TellName | DemoIntent::FixCode | DemoIntent::Explain { .. } | DemoIntent::Stop => {
                false
            }
        })
    })
}

/// For each byte, whether it stands between quotes. An apostrophe is no quote.
fn quoted(text: &str) -> Vec<bool> {
    let bytes = text.as_bytes();
    let mut marks = vec![false; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let opens =
            matches!(bytes[at], b'"' | b'`' | b'\'') && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric());
        let close = if opens { closing(bytes, at) } else { None };
        if let Some(close) = close {
            marks[at..=close].fill(true);
            at = close;
        }
        at += 1;
    }
    marks
}

fn closing(bytes: &[u8], open: usize) -> Option<usize> {
    let rest = memchr::memchr_iter(bytes[open], &bytes[open + 1..]).map(|offset| open + 1 + offset);
    let ends = |&close: &usize| bytes.get(close + 1).is_none_or(|next| !next.is_ascii_alphanumeric());
    rest.take(MAX_CUTS).find(ends)
}

fn greets(text: &str) -> bool {
    let first: String = text.trim_start().chars().take_while(|c| c.is_alphabetic()).collect();
    ["hello", "hi", "hey", "hallo", "greetings"].contains(&first.to_lowercase().as_str())
}
