//! The reading against bash itself: whatever bash runs for a line must be among the commands that were read.
//!
//! Bash is started with a search path that leads nowhere, so each command ends in a handler that only writes down its words.

use std::fs;
use std::process::{Command, Stdio};

use ostler_command_line::{ShellWord, parse};

use crate::fuzz::FuzzRandom;
use crate::line_corpus::CLEAR;

/// Each call is kept as its number of words and the words, in one write, because parts of a pipeline write at once; bash
/// would make two of it at the end of a line. A command that begins with `f` fails, and a loop without end is left.
const PRELUDE: &str = r#"
PATH=/nonexistent
set -T
exec 9>&1 >/dev/null
unset BASH_ENV
trap '((++count > 100)) && exit' DEBUG
command_not_found_handle() { printf '%s\0' "$#" "${@//$'\n'/$'\x01'}" >&9; [ "${1:0:1}" != f ]; }
"#;

#[test]
fn bash_runs_nothing_that_was_not_read() {
    let bash = Bash::new();
    let mut random = FuzzRandom(3);
    let mut clear = 0;
    let mut ran = 0;
    for _ in 0..250 {
        let line = list(&mut random, 3);
        let calls = bash.calls(&line);
        clear += usize::from(assert_all_read(&line, &calls));
        ran += calls.len();
    }
    assert!(clear > 150, "only {clear} of the lines were clear");
    assert!(ran > 500, "only {ran} commands were run");
}

#[test]
fn bash_runs_nothing_that_was_not_read_in_damaged_lines() {
    let bash = Bash::new();
    let mut random = FuzzRandom(4);
    let mut clear = 0;
    for _ in 0..350 {
        let line = damaged(&mut random);
        clear += usize::from(assert_all_read(&line, &bash.calls(&line)));
    }
    assert!(clear > 60, "only {clear} of the lines were clear");
}

#[test]
fn bash_runs_exactly_what_was_read_where_nothing_is_conditional() {
    let bash = Bash::new();
    let lines = [
        "c1 a 'b c'; c2 \"d e\"",
        "c1 | c2 | c3",
        "c1 $(c2 $(c3))",
        "c1 `c2`",
        "c1 \"`c2 \\`c3\\``\"",
        "(c1; { c2; })",
        "c1 <(c2)",
        "c1 && c2 && ! c3",
        "if c1; then c2; fi",
        "case x in x) c1;; esac",
        "c1 ${nothing:-$(c2)}",
        "c1 <<E\n$(c2)\nE\nc3",
        "c1 <<'E'\n$(c2)\nE\nc3",
        "c1 #c2\nc3",
        "c1 \\\nc2",
        "$'c\\x31' 'a'\"b\"\\c",
        "c1 \"\\\"; c2; \\\"\"",
        "c1 {a,b} > o",
        "a=$(c1) c2",
        "for i in a; do c1; done",
        "until c1; do c2; done",
        "c1 $\\\n(c2)",
        "[[ -n $(c1) ]] || c2",
        "time c1",
        "! c1",
        "c1 '#' \\# a#b",
        "c1 2>&1 &>o <<< $(c2)",
        "{ c1; } 2>o",
        "c1;c2;\n\nc3",
        "c1 $((1+2)) \"$(c2 \"$(c3)\")\"",
    ];
    for line in lines {
        let calls = bash.calls(line);
        assert!(assert_all_read(line, &calls), "{line:?}");
        let named = |command: &&ostler_command_line::SimpleCommand| {
            command.argv.first().and_then(ShellWord::literal).is_some_and(|name| name.starts_with('c'))
        };
        let reading = parse(line);
        let unreached = reading.commands.iter().filter(named).filter(|command| {
            let skipped = line.starts_with("until") && command.argv[0].literal() == Some("c2");
            !skipped && !calls.iter().any(|call| fits(&command.argv, call))
        });
        assert_eq!(unreached.count(), 0, "{line:?}: {calls:?}");
    }
}

#[test]
fn bash_runs_nothing_that_was_not_read_in_the_lines_of_the_table() {
    let bash = Bash::new();
    let mut ran = 0;
    for (line, _) in CLEAR {
        let calls = bash.calls(line);
        assert!(assert_all_read(line, &calls), "{line:?}");
        ran += calls.len();
    }
    assert!(ran > 150, "only {ran} commands were run");
}

/// Says whether the line was clear; if so, all calls have to be among its commands.
fn assert_all_read(line: &str, calls: &[Vec<String>]) -> bool {
    let reading = parse(line);
    if reading.unclear.is_some() {
        return false;
    }
    for call in calls {
        let read = reading.commands.iter().any(|command| fits(&command.argv, call));
        assert!(read, "bash ran {call:?} for {line:?}, which was read as {:?}", reading.commands);
    }
    true
}

/// Whether the words may turn into those of the call: a word that is not known stands for any number of them.
fn fits(words: &[ShellWord], call: &[String]) -> bool {
    match words {
        [] => call.is_empty(),
        [ShellWord::Literal(text), rest @ ..] => call.first() == Some(text) && fits(rest, &call[1..]),
        [ShellWord::Unknown { prefix, .. }, rest @ ..] => (0..=call.len())
            .take_while(|taken| call[..*taken].iter().all(|word| word.starts_with(prefix.as_str())))
            .any(|taken| fits(rest, &call[taken..])),
    }
}

struct Bash {
    directory: tempfile::TempDir,
}

impl Bash {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory for the test");
        fs::write(directory.path().join("prelude"), PRELUDE).expect("the prelude is written");
        fs::create_dir(directory.path().join("in")).expect("a directory for the test");
        let bash = Self { directory };
        assert_eq!(bash.calls("c1 a; f2"), [vec!["c1", "a"], vec!["f2"]], "bash is needed for this test");
        bash
    }

    /// What bash runs for a line. The end of its output is the end of all that it started.
    fn calls(&self, line: &str) -> Vec<Vec<String>> {
        let output = Command::new("bash")
            .args(["--norc", "--noprofile", "-c", line])
            .env_clear()
            .env("BASH_ENV", self.directory.path().join("prelude"))
            // What a line writes, be it to its home, stays in this directory.
            .env("HOME", self.directory.path().join("in"))
            .current_dir(self.directory.path().join("in"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .output()
            .expect("bash is needed for this test");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split_terminator('\0');
        let mut calls = Vec::new();
        while let Some(count) = words.next() {
            let count = count.parse().expect("a number of words");
            calls.push(words.by_ref().take(count).map(|word| word.replace('\x01', "\n")).collect());
        }
        calls
    }
}

const DAMAGE: [char; 34] = [
    '\'', '"', '`', '$', '(', ')', '{', '}', '[', ']', ';', '&', '|', '<', '>', '!', '#', '~', '*', '?', '=',
    '\\', '\n', '\t', ' ', '-', ',', '@', '+', '^', '%', ':', 'c', 'E',
];

/// A line with up to three characters lost, added or replaced.
pub(crate) fn damaged(random: &mut FuzzRandom) -> String {
    let mut line: Vec<char> = list(random, 2).chars().collect();
    for _ in 0..=random.below(3) {
        let place = random.below(line.len());
        match random.below(3) {
            0 => drop(line.remove(place)),
            1 => line.insert(place, *random.pick(&DAMAGE)),
            _ => line[place] = *random.pick(&DAMAGE),
        }
        if line.is_empty() {
            line.push('c');
        }
    }
    line.into_iter().collect()
}

pub(crate) fn list(random: &mut FuzzRandom, depth: usize) -> String {
    let mut line = item(random, depth);
    for _ in 0..random.below(3) {
        line.push_str(random.text(&[
            "; ",
            " && ",
            " || ",
            " | ",
            "\n",
            "&& ",
            ";",
            " |& ",
            "|\n",
            " # c9 x\n",
            " ;\n",
        ]));
        line.push_str(&item(random, depth));
    }
    line
}

fn item(random: &mut FuzzRandom, depth: usize) -> String {
    if depth == 0 {
        return simple(random, 0);
    }
    let inner = depth - 1;
    match random.below(14) {
        0 => format!("({})", list(random, inner)),
        1 => format!("{{ {}; }}", simple(random, inner)),
        2 => format!(
            "if {}; then {}; else {}; fi",
            simple(random, inner),
            simple(random, inner),
            simple(random, inner)
        ),
        3 => format!("while f{}; do {}; done", random.below(9), simple(random, inner)),
        4 => format!(
            "for v in {} {}; do {}; done",
            word(random, inner),
            word(random, inner),
            simple(random, inner)
        ),
        5 => format!(
            "case {} in ({}) {};; *) {};; esac",
            word(random, inner),
            word(random, 0),
            simple(random, inner),
            simple(random, inner)
        ),
        6 => format!("! {}", simple(random, inner)),
        7 => format!(
            "{} <<E\n{}\nE\n{}",
            simple(random, inner),
            word(random, inner).replace(['\'', '\n'], ""),
            simple(random, inner)
        ),
        8 => format!("{} <<'E'\n{}\nE\n{}", simple(random, inner), word(random, 0), simple(random, inner)),
        9 => format!("[[ -n {} ]] && {}", word(random, inner), simple(random, inner)),
        _ => simple(random, depth),
    }
}

fn simple(random: &mut FuzzRandom, depth: usize) -> String {
    let name = random.below(9);
    let mut line = match random.below(8) {
        0 => format!("f{name}"),
        1 => format!("'c'{name}"),
        2 => format!("c\\\n{name}"),
        3 => format!("v=1 c{name}"),
        _ => format!("c{name}"),
    };
    for _ in 0..random.below(4) {
        line.push_str(random.text(&[" ", "  ", "\t", " \\\n "]));
        line.push_str(&word(random, depth));
    }
    if random.below(4) == 0 {
        line.push_str(random.text(&[
            " >o1",
            " 2>&1",
            " <<< x",
            " &>o2",
            " >>o1",
            " 3>&1 4>o3",
            ">o2",
            " < /dev/null",
            " <>o4",
        ]));
    }
    line
}

fn word(random: &mut FuzzRandom, depth: usize) -> String {
    if depth > 0 {
        let inner = depth - 1;
        match random.below(10) {
            0 => return format!("$({})", list(random, inner)),
            1 => return format!("\"a$({}) b\"", list(random, inner)),
            2 => return format!("`{}`", simple(random, 0)),
            3 => return format!("${{v:-$({})}}", simple(random, inner)),
            4 => return format!("<({})", simple(random, inner)),
            5 => return format!("x\"${{v#$({})}}\"", simple(random, inner)),
            _ => {}
        }
    }
    let words = [
        "a",
        "b.c",
        "-d",
        "'e f'",
        "\"g h\"",
        "\\;",
        "i\\ j",
        "''",
        "$v",
        "\"$v\"",
        "k$v",
        "$'l\\tm'",
        "{n,o}",
        "*",
        "'*'",
        "p=q",
        "\"\\$\\`\"",
        "a#b",
        "\"'\"",
        "'\"'",
        "$((1+2))",
        "~",
        "\\\\",
        "$",
        "{",
        "}",
        "{}",
        "[x]",
        "é",
        "c1",
        "if",
        "${v}",
        "\"${v:-w x}\"",
        "o?",
        "a,b",
        "!",
    ];
    (*random.pick(&words)).to_owned()
}
