//! The reading against a second parser: where a line is clear, both must find the same commands, with the same words,
//! variables, redirects and surroundings. Where they differ, bash is asked (by hand), and either ours is repaired or the line
//! is listed in `THEIRS`.
//!
//! `OSTLER_PARSER_LINES` and `OSTLER_PARSER_SEED` make it more lines, or others.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostler_command_line::{ParsedLine, Redirect, ShellWord, SimpleCommand, parse};

use crate::bash;
use crate::fuzz::FuzzRandom;
use crate::line_corpus::CLEAR;
use crate::shfmt::{Shfmt, ShfmtCommand, ShfmtWord};

/// The lines that the fuzzing of effects makes: real programs, and all that a line can be made of.
#[path = "../../../tools/tests/it/effects/generator.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "it belongs to other tests, which use more of it")]
mod generator;
#[path = "../../../tools/tests/it/effects/words.rs"]
mod words;

/// Lines of each kind that every run compares.
const LINES: usize = 400;

#[test]
fn both_parsers_read_the_same_in_generated_lines() {
    let mut random = FuzzRandom(seed());
    compare_all(&(0..lines()).map(|_| bash::list(&mut random, 3)).collect::<Vec<_>>(), 40);
}

#[test]
fn both_parsers_read_the_same_in_damaged_lines() {
    let mut random = FuzzRandom(seed() + 1);
    compare_all(&(0..lines()).map(|_| bash::damaged(&mut random)).collect::<Vec<_>>(), 10);
}

#[test]
fn both_parsers_read_the_same_in_lines_of_real_programs() {
    let (mut random, words) = (generator::Random(seed() + 2), generator::Words::new());
    let line = |_| generator::line(&mut random, &words, "/work").text;
    compare_all(&(0..lines()).map(line).collect::<Vec<_>>(), 40);
}

#[test]
fn both_parsers_read_the_same_in_the_lines_of_the_tables() {
    let table = CLEAR.iter().map(|(line, _)| (*line).to_owned());
    let corpus = words::CORPUS.iter().map(|line| (*line).to_owned());
    compare_all(&table.chain(corpus).collect::<Vec<_>>(), 40);
}

fn lines() -> usize {
    setting("OSTLER_PARSER_LINES").map_or(LINES, |lines| usize::try_from(lines).expect("not that many"))
}

fn seed() -> u64 {
    setting("OSTLER_PARSER_SEED").unwrap_or(5)
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Compares the readings of lines, of which at least so many in a hundred are clear.
fn compare_all(lines: &[String], least: usize) {
    let shfmt = Shfmt::installed();
    let (next, clear) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let differences = Mutex::new(Vec::new());
    let work = || {
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let reading = parse(line);
            if reading.unclear.is_some() || THEIRS.iter().any(|(_, has)| has(line)) {
                continue;
            }
            clear.fetch_add(1, Ordering::Relaxed);
            let compared = match shfmt.read(line) {
                Ok(seen) => compare(&reading, &seen),
                Err(error) if is_calculation(line, &error) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(why) = compared {
                differences.lock().expect("no thread has panicked").push(format!("{line:?}: {why}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let differences = differences.into_inner().expect("no thread has panicked");
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
    let clear = clear.into_inner();
    assert!(clear * 100 >= lines.len() * least, "only {clear} of {} lines were clear", lines.len());
}

/// Whether a line has something in it.
type Has = fn(&str) -> bool;

/// Where the other parser differs from bash 5.2, as running both has shown, and which lines are left out for it.
const THEIRS: &[(&str, Has)] = &[
    ("a backslash goes on with a comment in the next line", |line| {
        let begins = |part: &str| {
            part.starts_with('#')
                || [" #", "\t#", ";#", "|#", "&#", "(#"].iter().any(|begin| part.contains(begin))
        };
        line.lines().any(|part| part.ends_with('\\') && begins(part))
    }),
    ("an operator does not go on after a backslash at the end of a line", |line| {
        ["$\\\n", "&\\\n", "|\\\n", "<\\\n", ">\\\n", ";\\\n"].iter().any(|cut| line.contains(cut))
    }),
    ("of three backslashes at the end of a line, the last does not go on with it", |line| {
        line.contains("\\\\\\\n")
    }),
    ("a `#` after a quote or an expansion begins a comment", |line| {
        line.match_indices('#').any(|(at, _)| {
            let before =
                line[..at].trim_end_matches(|part: char| part.is_ascii_alphanumeric() || part == '_');
            before.ends_with('$') || before.len() == at && before.ends_with(['\'', '"', ')', '}', '`'])
        })
    }),
    ("a process substitution inside `${` is text", has_process_inside_parameter),
    ("`! !` is an error", |line| line.contains("! !")),
    ("the body of a heredoc is expanded though a part of its delimiter is quoted", |line| {
        line.contains("<<E\"O\"F")
    }),
];

/// Whether a `<(` or `>(` stands in a `${`, and in nothing else inside of that.
fn has_process_inside_parameter(line: &str) -> bool {
    let mut open = Vec::new();
    for at in 0..line.len() {
        match (line.as_bytes()[at], line.as_bytes().get(at + 1)) {
            (b'<' | b'>', Some(b'(')) if open.last() == Some(&b'}') => return true,
            (b'$', Some(b'{')) => open.push(b'}'),
            (b'$' | b'<' | b'>', Some(b'(')) => open.push(b')'),
            (closing, _) if open.last() == Some(&closing) => drop(open.pop()),
            _ => {}
        }
    }
    false
}

/// Whether the other parser refuses a calculation that bash looks at only when it runs.
fn is_calculation(line: &str, error: &str) -> bool {
    let told = ["an expression", "arithmetic", "ternary"];
    line.contains("$((") && told.iter().any(|part| error.contains(part))
}

fn compare(reading: &ParsedLine, seen: &[ShfmtCommand]) -> Result<(), String> {
    let mut ours: Vec<&SimpleCommand> = reading.commands.iter().collect();
    if !are_all_found(seen, &mut ours) {
        return Err(format!("the other has {seen:?}, ours are {:?}", reading.commands));
    }
    let has_wrapper = seen.iter().any(|command| command.argv.first().is_some_and(starts_others));
    match ours.first() {
        Some(extra) if !has_wrapper => Err(format!("only ours has {extra:?}")),
        _ => Ok(()),
    }
}

/// Finds a command of ours for each of theirs, and leaves the others. The orders differ: a body of a heredoc is read at the
/// end of its line.
fn are_all_found(seen: &[ShfmtCommand], ours: &mut Vec<&SimpleCommand>) -> bool {
    let Some((first, rest)) = seen.split_first() else { return true };
    (0..ours.len()).any(|at| {
        if !is_same(ours[at], first) {
            return false;
        }
        let taken = ours.remove(at);
        let found = are_all_found(rest, ours);
        if !found {
            ours.insert(at, taken);
        }
        found
    })
}

/// Programs whose words are commands of their own, which only our reading looks for.
fn starts_others(program: &ShfmtWord) -> bool {
    const WRAPPERS: &[&str] = &[
        "env", "xargs", "find", "git", "bash", "rbash", "sh", "dash", "ash", "nice", "timeout", "stdbuf",
        "command", "builtin", "exec", "nohup", "time", "setsid", "ionice", "chronic", "sudo", "doas",
    ];
    let name = program.known.rsplit('/').next().unwrap_or_default();
    program.is_whole && WRAPPERS.contains(&name)
}

fn is_same(ours: &SimpleCommand, seen: &ShfmtCommand) -> bool {
    if ours.background != seen.background || ours.piped != seen.piped {
        return false;
    }
    let is_test = ours.argv.first().and_then(ShellWord::literal) == Some("[[");
    if is_test {
        // Ours has the operators too.
        let mut words = ours.argv.iter();
        let is_their_test = seen.argv.first().is_some_and(|first| first.known == "[[");
        return is_their_test && seen.argv.iter().all(|text| words.any(|word| fits(word, text)));
    }
    ours.argv.len() == seen.argv.len()
        && (ours.argv.is_empty() || ours.repeated == seen.repeated)
        && ours.argv.iter().zip(&seen.argv).all(|(word, text)| fits(word, text))
        && ours.env.len() == seen.env.len()
        && ours
            .env
            .iter()
            .zip(&seen.env)
            .all(|((name, word), (their_name, text))| name == their_name && fits(word, text))
        && ours.redirects.len() == seen.redirects.len()
        && ours
            .redirects
            .iter()
            .zip(&seen.redirects)
            .all(|(Redirect { kind, target }, (their_kind, text))| kind == their_kind && fits(target, text))
}

/// Whether a word of ours says nothing that is not so. It may know less.
fn fits(ours: &ShellWord, text: &ShfmtWord) -> bool {
    match ours {
        ShellWord::Literal(literal) => text.is_whole && *literal == text.known,
        // The pipe of a process substitution is a file in there.
        ShellWord::Unknown { prefix, .. } => text.known.starts_with(prefix.as_str()) || prefix == "/dev/fd/",
    }
}
