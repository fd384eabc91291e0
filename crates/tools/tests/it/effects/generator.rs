//! Makes command lines from a grammar: mostly such that may be allowed, with something hostile here and there.

use std::collections::BTreeSet;

use super::words::{CALCULATED, CORPUS, HOSTILE, OPERANDS, OPERATORS, PROGRAMS};

/// A small generator of random numbers, so that a failure can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn pick<'choices, T: ?Sized>(&mut self, choices: &[&'choices T]) -> &'choices T {
        choices[self.below(choices.len())]
    }

    /// True once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A line, and the constructs that it was made with.
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) constructs: BTreeSet<&'static str>,
}

/// Constructs that can be part of an allowed line. Each must occur in some.
pub(crate) const ALLOWABLE: &[&str] = &[
    "single quotes",
    "double quotes",
    "escape",
    "ansi quotes",
    "parameter",
    "substitution",
    "backtick",
    "process substitution",
    "calculation",
    "heredoc",
    "quoted heredoc",
    "here-string",
    "redirect",
    "null redirect",
    "duplicate",
    "pipeline",
    "and/or",
    "sequence",
    "background",
    "group",
    "subshell",
    "if",
    "while",
    "until",
    "case",
    "[[",
    "test",
    "env",
    "timeout",
    "nice",
    "stdbuf",
    "bash -c",
    "command",
    "assignment",
    "glob",
    "cd",
    "negation",
    "time",
    "comment",
    "continuation",
    "set",
    "changed",
];

/// The lists of words, taken apart.
pub(crate) struct Words {
    programs: Vec<Program>,
    operands: Vec<&'static str>,
    hostile: Vec<&'static str>,
    calculated: Vec<&'static str>,
    operators: Vec<&'static str>,
}

struct Program {
    name: &'static str,
    options: Vec<&'static str>,
    hostile: Vec<&'static str>,
}

impl Words {
    pub(crate) fn new() -> Words {
        let split =
            |list: &'static str| list.split(" | ").map(str::trim).filter(|word| !word.is_empty()).collect();
        let all = |lines: &'static str| {
            lines.lines().flat_map(|line| line.split(" | ")).filter(|word| !word.is_empty()).collect()
        };
        let program = |line: &'static str| {
            let (taken, hostile) = line.split_once(" !! ").unwrap_or((line, ""));
            let (name, options) = taken.split_once(" | ").unwrap_or((taken, ""));
            Program { name, options: split(options), hostile: split(hostile) }
        };
        Words {
            programs: PROGRAMS.lines().filter(|line| !line.is_empty()).map(program).collect(),
            operands: all(OPERANDS),
            hostile: all(HOSTILE),
            calculated: CALCULATED.split(' ').collect(),
            operators: OPERATORS.split(' ').collect(),
        }
    }
}

/// Makes one line. One of three has little in them that is hostile, so that enough of them are allowed.
pub(crate) fn line(random: &mut Random, words: &Words, root: &str) -> Line {
    let mildness = if random.once_in(3) { 60 } else { 4 };
    let mut maker = Maker { random, words, mildness, constructs: BTreeSet::new() };
    let mut text = match maker.random.below(16) {
        0 => maker.known_line(),
        1 => {
            let (first, second) = (maker.known_line(), maker.list(1));
            format!("{second}; {first}")
        }
        _ => maker.list(2),
    };
    if maker.random.once_in(6) {
        text = maker.change(&text);
    }
    let constructs = maker.constructs;
    Line { text: text.replace("@/", &format!("{root}/")), constructs }
}

struct Maker<'random> {
    random: &'random mut Random,
    words: &'random Words,
    /// Once in so many times something hostile is chosen.
    mildness: usize,
    constructs: BTreeSet<&'static str>,
}

impl Maker<'_> {
    fn mark(&mut self, construct: &'static str) {
        self.constructs.insert(construct);
    }

    fn is_hostile(&mut self) -> bool {
        self.random.once_in(self.mildness)
    }

    /// One of the first where nothing hostile is wanted.
    fn choose(&mut self, mild: &[&'static str], hostile: &[&'static str]) -> &'static str {
        let choices = if self.is_hostile() { hostile } else { mild };
        self.random.pick(choices)
    }

    fn list(&mut self, depth: usize) -> String {
        let mut line = self.item(depth);
        for _ in 0..self.random.below(1 + depth) {
            let (construct, separator) = match self.random.below(8) {
                0 | 1 => ("sequence", "; "),
                2 => ("and/or", " && "),
                3 => ("and/or", " || "),
                4 | 5 => ("pipeline", " | "),
                6 => ("background", " & "),
                _ => ("comment", " # touch P-comment\n"),
            };
            // The body of a heredoc ends its line.
            let separator = if line.ends_with("\nE") { "\n" } else { separator };
            self.mark(construct);
            line = format!("{line}{separator}{}", self.item(depth));
        }
        line
    }

    fn item(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.below(3) > 0 {
            return self.simple(depth);
        }
        let inner = depth - 1;
        match self.random.below(16) {
            0 => self.made("subshell", |maker| format!("({}\n)", maker.list(inner))),
            1 => self.made("group", |maker| format!("{{ {}\n}}", maker.list(inner))),
            2 => self.made("if", |maker| {
                let (test, yes, no) = (maker.simple(inner), maker.item(inner), maker.item(inner));
                format!("if {test}\nthen {yes}\nelse {no}\nfi")
            }),
            3 => self.made("while", |maker| maker.loop_of("while", inner)),
            4 => self.made("until", |maker| maker.loop_of("until", inner)),
            5 => self.made("case", |maker| {
                let (word, pattern, list) = (maker.operand(inner), maker.operand(0), maker.item(inner));
                format!("case {word} in {pattern}) {list}\n;; *) {}\n;; esac", maker.simple(inner))
            }),
            6 => self.made("[[", |maker| {
                let operator = maker
                    .choose(&["-f", "-n", "-d", "-z", "! -e", "a =", "-L", "-t"], &["-v", "1 -eq", "x =~"]);
                format!("[[ {operator} {} ]]", maker.operand(inner))
            }),
            7 => self.made("negation", |maker| format!("! {}", maker.simple(inner))),
            8 => self.made("time", |maker| format!("time {}", maker.simple(inner))),
            9 => self.made("cd", |maker| {
                let to = maker.choose(&["src", ".", "d1", "/usr/lib", "link-in", "-- src"], MOVES);
                format!("cd {to}{}{}", maker.random.pick(&[" && ", "; "]), maker.item(inner))
            }),
            10 => self.made("set", |maker| {
                let letters = maker.choose(&["e", "u", "x", "eu"], &["k", "a", "f", "T"]);
                format!("set -{letters}; {}", maker.item(inner))
            }),
            11 => self.made("quoted heredoc", |maker| {
                format!("{} <<'E'\n{}\nE", maker.simple(0), maker.operand(0))
            }),
            12 => self.made("heredoc", |maker| {
                format!("{} <<E\n{}\nE", maker.simple(0), maker.operand(inner).replace('\'', ""))
            }),
            13 if self.is_hostile() => self.made("for", |maker| {
                format!("for x in {}\ndo {}\ndone", maker.operand(inner), maker.simple(inner))
            }),
            14 if self.is_hostile() => {
                self.made("function", |maker| format!("f() {{ {}\n}}; f", maker.simple(inner)))
            }
            _ => self.wrapped(inner),
        }
    }

    fn made(&mut self, construct: &'static str, make: impl FnOnce(&mut Self) -> String) -> String {
        self.mark(construct);
        make(self)
    }

    /// A loop that ends.
    fn loop_of(&mut self, keyword: &str, depth: usize) -> String {
        format!("{keyword} {}\ndo {}\nbreak; done", self.simple(depth), self.item(depth))
    }

    /// A command behind one that starts it.
    fn wrapped(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 => self.made("env", |maker| format!("env {}", maker.command(depth))),
            1 => self.made("env", |maker| format!("env LC_ALL=C {}", maker.command(depth))),
            2 => self.made("timeout", |maker| format!("timeout 5 {}", maker.command(depth))),
            3 => self.made("nice", |maker| format!("nice -n 1 {}", maker.command(depth))),
            4 => self.made("stdbuf", |maker| format!("stdbuf -oL {}", maker.command(depth))),
            5 => self.made("command", |maker| format!("command {}", maker.command(depth))),
            _ => self.made("bash -c", |maker| {
                let script = maker.item(depth).replace('\'', r"'\''");
                let after =
                    maker.choose(&[""], &[" x 'x[$(touch P-1)]'", " 'x[$(touch P-0)]'", " notes.txt"]);
                let shell = maker.choose(
                    &["bash -c", "sh -c", "bash -ec", "bash --norc -c"],
                    &["bash -lc", "bash -O extglob -c"],
                );
                format!("{shell} '{script}'{after}")
            }),
        }
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut line = self.command(depth);
        if self.random.once_in(14) {
            self.mark("assignment");
            let set = self.choose(
                &["LC_ALL=C", "NO_COLOR=1", "TZ=UTC", "LC_ALL=C TZ=UTC"],
                &["PATH=bin", "x=link-file", "IFS=a", "PS4='$(touch P)'", "HOME=.", "BASH_ENV=run.sh"],
            );
            line = format!("{set} {line}");
        }
        if self.random.once_in(5) {
            let target = self.operand(0);
            let (construct, redirect) = match self.random.below(8) {
                0 | 1 => ("redirect", format!(" < {target}")),
                2 => ("null redirect", " 2>/dev/null".to_owned()),
                3 => ("null redirect", " > /dev/null".to_owned()),
                4 | 5 => ("duplicate", " 2>&1".to_owned()),
                6 if self.is_hostile() => {
                    let operator = self.random.pick(&[" >", " <&", " >&", " <>", " >>", " &>"]);
                    ("writing redirect", format!("{operator} {target}"))
                }
                _ => ("here-string", format!(" <<< {target}")),
            };
            self.mark(construct);
            line.push_str(&redirect);
        }
        line
    }

    fn command(&mut self, depth: usize) -> String {
        let words = self.words;
        let program = loop {
            let program = &words.programs[self.random.below(words.programs.len())];
            let only_hostile = program.options.is_empty() && !program.hostile.is_empty();
            if !only_hostile || self.is_hostile() {
                break program;
            }
        };
        let name = program.name;
        match name {
            "test" | "[" => self.mark("test"),
            "command" => self.mark("command"),
            _ => {}
        }
        let mut line = match self.random.below(16) {
            0 => format!("/usr/bin/{name}"),
            1 => self.made("escape", |_| format!("\\{name}")),
            2 => self.made("single quotes", |_| format!("'{name}'")),
            _ => name.to_owned(),
        };
        for _ in 0..self.random.below(3) {
            let letters = self.is_hostile().then(|| self.letters());
            let option = match (letters, program.options.as_slice(), program.hostile.as_slice()) {
                (Some(letters), ..) => letters,
                (None, [], _) => continue,
                (None, options, []) => self.random.pick(options).to_owned(),
                (None, options, hostile) => self.choose(options, hostile).to_owned(),
            };
            line = format!("{line} {option}");
        }
        for _ in 0..self.random.below(3) {
            let operand = self.operand(depth);
            let blank = if self.random.once_in(20) {
                self.made("continuation", |_| " \\\n ".to_owned())
            } else {
                " ".to_owned()
            };
            line = format!("{line}{blank}{operand}");
        }
        line
    }

    /// A few letters as options, with what may be their values.
    fn letters(&mut self) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let count = 1 + self.random.below(3);
        let letters: String =
            (0..count).map(|_| char::from(LETTERS[self.random.below(LETTERS.len())])).collect();
        let values = self.random.pick(&["", "", " 1", " 1 P-value", " x P-value", " P-value", " link-file"]);
        format!("-{letters}{values}")
    }

    fn operand(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.once_in(5) {
            let inner = depth - 1;
            return match self.random.below(8) {
                0 | 1 => self.made("substitution", |maker| format!("\"n$({}\n)\"", maker.item(inner))),
                2 => self.made("backtick", |maker| {
                    format!("\"n`{}`\"", maker.simple(0).replace(['`', '\\', '"'], ""))
                }),
                3 => self.made("process substitution", |maker| format!("<({}\n)", maker.item(inner))),
                4 => self.made("parameter", |maker| format!("\"n${{x:-$({})}}\"", maker.simple(0))),
                5 if self.is_hostile() => {
                    self.made("split substitution", |maker| format!("$({}\n)", maker.list(inner)))
                }
                _ => self.calculation(),
            };
        }
        let words = self.words;
        let word = self.choose(&words.operands, &words.hostile).to_owned();
        for (sign, construct) in [
            ("$'", "ansi quotes"),
            ("'", "single quotes"),
            ("\"", "double quotes"),
            ("\\", "escape"),
            ("*", "glob"),
            ("$x", "parameter"),
            ("$((", "calculation"),
            ("<(", "process substitution"),
            ("`", "backtick"),
        ] {
            if word.contains(sign) {
                self.mark(construct);
            }
        }
        word
    }

    fn calculation(&mut self) -> String {
        self.mark("calculation");
        let mut text = self.calculated();
        for _ in 0..self.random.below(3) {
            let (operator, other) = (self.random.pick(&self.words.operators), self.calculated());
            text = format!("{text} {operator} {other}");
        }
        format!("\"n$(({text}))\"")
    }

    fn calculated(&mut self) -> String {
        let words = self.words;
        self.choose(&["1", "2", "07", "SECONDS", "(3)", "RANDOM"], &words.calculated).to_owned()
    }

    fn known_line(&mut self) -> String {
        self.random.pick(CORPUS).to_owned()
    }

    /// Changes a few characters, or puts in a piece of another line.
    fn change(&mut self, text: &str) -> String {
        self.mark("changed");
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.random.below(2) {
            let place = self.random.below(characters.len() + 1);
            match self.random.below(4) {
                0 if place < characters.len() => drop(characters.remove(place)),
                1 => {
                    let signs: Vec<&str> = SIGNS.split('·').collect();
                    drop(characters.splice(place..place, self.random.pick(&signs).chars()));
                }
                2 => {
                    let piece: Vec<char> = self.known_line().chars().collect();
                    let (from, length) = (self.random.below(piece.len()), self.random.below(12));
                    let piece = piece[from..].iter().take(length).copied().collect::<Vec<_>>();
                    drop(characters.splice(place..place, piece));
                }
                _ => {
                    let operand = self.operand(0);
                    drop(characters.splice(place..place, format!(" {operand}").chars()));
                }
            }
        }
        characters.into_iter().collect()
    }
}

/// Where `cd` should not lead unasked.
const MOVES: &[&str] = &["..", "link-out", "a", "a/a", "src/up", "around/..", "-", "~", "$x"];
/// What is put into lines.
const SIGNS: &str =
    "'·\"·`·$·(·)·{·}·[·]·;·&·|·<·>·!·#·~·*·?·=·\\·\n· ·-·,·_·x·P·/·.·$((·))·$(·${·<<<·<(·|&·&&·;;·^·%·:·@·+";
