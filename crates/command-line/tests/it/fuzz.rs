//! Random input: it never panics, and what is too long or too deep is unclear.

use ostler_command_line::{MAX_LINE_BYTES, allowed, describe, parse, suggest};

/// A small generator of random numbers, so that a failure can be repeated.
pub(crate) struct FuzzRandom(pub(crate) u64);

impl FuzzRandom {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("it is below the bound")
    }

    pub(crate) fn pick<'choices, T>(&mut self, choices: &'choices [T]) -> &'choices T {
        &choices[self.below(choices.len())]
    }

    pub(crate) fn text(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.below(choices.len())]
    }
}

/// Everything that is said about a line must hold together.
fn check(line: &str) {
    let reading = parse(line);
    assert_eq!(describe(&reading).len(), reading.commands.len());
    if let Some(patterns) = suggest(&reading) {
        assert!(allowed(&reading, &patterns), "{line:?}");
    }
    assert!(!(allowed(&reading, &[]) && reading.unclear.is_some()), "{line:?}");
}

#[test]
fn random_bytes_are_read_without_panic() {
    let mut random = FuzzRandom(1);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.below(60))
            .map(|_| u8::try_from(random.below(256)).expect("it is below 256"))
            .collect();
        check(&String::from_utf8_lossy(&bytes));
    }
}

/// What shell is made of.
const PIECES: &[&str] = &[
    "ls",
    "rm",
    " ",
    "\n",
    "\t",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "(",
    ")",
    "{",
    "}",
    "$",
    "$(",
    "${",
    "$((",
    "))",
    "`",
    "'",
    "\"",
    "\\",
    "<",
    ">",
    "<<",
    "<<-",
    "<<<",
    "EOF",
    "2",
    "!",
    "#",
    "*",
    "?",
    "[",
    "]",
    "[[",
    "]]",
    "~",
    "=",
    "a=",
    "if",
    "then",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "case",
    "esac",
    ";;",
    "while",
    "time",
    "function",
    "-",
    ",",
    "..",
    "é",
    "\u{a0}",
    "bash -c ",
    "env ",
    "xargs ",
    "find . -exec ",
    "git -c ",
    "$'",
    "\\x72",
    ":-",
    "@",
    "/",
    "%",
    "^",
    "+",
    ":",
];

#[test]
fn random_pieces_of_shell_are_read_without_panic() {
    let mut random = FuzzRandom(2);
    for _ in 0..60_000 {
        let line: String = (0..random.below(24)).map(|_| *random.pick(PIECES)).collect();
        check(&line);
    }
}

#[test]
fn a_line_that_is_too_long_is_unclear() {
    let line = "a".repeat(MAX_LINE_BYTES);
    assert_eq!(parse(&line).unclear, None);
    let reading = parse(&format!("{line}a"));
    assert!(reading.unclear.is_some());
    assert!(reading.commands.is_empty());
}
