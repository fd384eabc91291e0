//! What `shfmt` reads in a line, in the shape of a [`ParsedLine`](ostler_command_line::ParsedLine): its tree, flattened to simple
//! commands. Its parser (mvdan.cc/sh, in Go) shares nothing with ours.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ostler_command_line::RedirectKind;
use serde_json::Value;

/// One simple command, or what stands alone: a variable of a loop, the redirects of a compound command.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShfmtCommand {
    pub(crate) argv: Vec<ShfmtWord>,
    pub(crate) env: Vec<(String, ShfmtWord)>,
    pub(crate) redirects: Vec<(RedirectKind, ShfmtWord)>,
    pub(crate) background: bool,
    pub(crate) piped: bool,
    pub(crate) repeated: bool,
}

/// A word after quotes are removed.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShfmtWord {
    /// As far as it is known.
    pub(crate) known: String,
    /// Whether that is all of it.
    pub(crate) is_whole: bool,
}

/// The program, installed where it is missing.
pub(crate) struct Shfmt(PathBuf);

impl Shfmt {
    pub(crate) fn installed() -> Shfmt {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let directory = root.join("target/second-parser");
        let script = root.join("tests/command-line/setup.sh");
        let done = Command::new(&script).arg(&directory).output().expect("the script can be run");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "shfmt is missing; run {} and see why: {said}", script.display());
        Shfmt(directory.join("python/bin/shfmt"))
    }

    /// The commands of a line, or why it is none.
    pub(crate) fn read(&self, line: &str) -> Result<Vec<ShfmtCommand>, String> {
        let mut child = Command::new(&self.0)
            .args(["--language-dialect", "bash", "--to-json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("shfmt can be started");
        let mut input = child.stdin.take().expect("it has an input");
        input.write_all(line.as_bytes()).expect("shfmt reads all of it");
        drop(input);
        let output = child.wait_with_output().expect("shfmt ends");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        let tree: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        let mut walk = ShfmtWalk::default();
        walk.statements(&tree["Stmts"], ShfmtContext::default());
        Ok(walk.seen)
    }
}

/// What holds for all commands at a place.
#[derive(Debug, Clone, Copy, Default)]
struct ShfmtContext {
    background: bool,
    piped: bool,
    repeated: bool,
}

impl ShfmtContext {
    fn piped(self) -> ShfmtContext {
        ShfmtContext { piped: true, ..self }
    }

    fn repeated(self) -> ShfmtContext {
        ShfmtContext { repeated: true, ..self }
    }

    fn command(self) -> ShfmtCommand {
        let ShfmtContext { background, piped, repeated } = self;
        ShfmtCommand { background, piped, repeated, ..ShfmtCommand::default() }
    }
}

#[derive(Default)]
struct ShfmtWalk {
    seen: Vec<ShfmtCommand>,
}

impl ShfmtWalk {
    fn statements(&mut self, list: &Value, around: ShfmtContext) {
        for statement in items(list) {
            self.statement(statement, around);
        }
    }

    fn statement(&mut self, statement: &Value, mut around: ShfmtContext) {
        around.background |= statement["Background"] == true;
        let mut redirects = Vec::new();
        for redirect in items(&statement["Redirs"]) {
            self.substitutions(&redirect["Word"], around);
            self.substitutions(&redirect["Hdoc"], around);
            redirects.push((kind(redirect), text(&redirect["Word"], false)));
        }
        let command = &statement["Cmd"];
        match command["Type"].as_str() {
            Some("CallExpr") => self.call(command, redirects, around),
            Some("DeclClause") => self.declaration(command, redirects, around),
            None => self.seen.push(ShfmtCommand { redirects, ..around.command() }),
            Some(_) => {
                self.compound(command, around);
                if !redirects.is_empty() {
                    self.seen.push(ShfmtCommand { redirects, ..around.command() });
                }
            }
        }
    }

    fn call(&mut self, command: &Value, redirects: Vec<(RedirectKind, ShfmtWord)>, around: ShfmtContext) {
        let mut env = Vec::new();
        for assignment in items(&command["Assigns"]) {
            self.substitutions(assignment, around);
            env.push((name(&assignment["Name"]), text(&assignment["Value"], true)));
        }
        self.substitutions(&command["Args"], around);
        let argv = items(&command["Args"]).iter().map(|word| text(word, false)).collect();
        self.seen.push(ShfmtCommand { argv, env, redirects, ..around.command() });
    }

    /// `export` and its like are programs to us.
    fn declaration(
        &mut self,
        command: &Value,
        redirects: Vec<(RedirectKind, ShfmtWord)>,
        around: ShfmtContext,
    ) {
        self.substitutions(&command["Args"], around);
        let mut argv = vec![ShfmtWord { known: name(&command["Variant"]), is_whole: true }];
        for assignment in items(&command["Args"]) {
            let value = text(&assignment["Value"], true);
            let known = match (assignment["Naked"] == true, &assignment["Name"]) {
                (true, Value::Null) => value.known,
                (true, name_of) => name(name_of),
                (false, name_of) => format!("{}={}", name(name_of), value.known),
            };
            argv.push(ShfmtWord { known, is_whole: value.is_whole });
        }
        self.seen.push(ShfmtCommand { argv, redirects, ..around.command() });
    }

    fn compound(&mut self, command: &Value, around: ShfmtContext) {
        match command["Type"].as_str().unwrap_or_default() {
            "BinaryCmd" => {
                let piped = command["Op"].as_str().is_some_and(|operator| matches!(operator, "|" | "|&"));
                self.statement(&command["X"], around);
                self.statement(&command["Y"], if piped { around.piped() } else { around });
            }
            "Block" | "Subshell" => self.statements(&command["Stmts"], around),
            "TimeClause" => self.statement(&command["Stmt"], around),
            "IfClause" => {
                let mut clause = command;
                while clause.is_object() {
                    self.statements(&clause["Cond"], around);
                    self.statements(&clause["Then"], around);
                    clause = &clause["Else"];
                }
            }
            "WhileClause" => {
                for part in ["Cond", "Do"] {
                    self.statements(&command[part], around.repeated());
                }
            }
            "ForClause" => {
                let variable = (name(&command["Loop"]["Name"]), ShfmtWord::default());
                self.seen.push(ShfmtCommand { env: vec![variable], ..around.command() });
                self.substitutions(&command["Loop"], around.repeated());
                self.statements(&command["Do"], around.repeated());
            }
            "CaseClause" => {
                self.substitutions(&command["Word"], around);
                for item in items(&command["Items"]) {
                    self.substitutions(&item["Patterns"], around);
                    self.statements(&item["Stmts"], around);
                }
            }
            "TestClause" => {
                self.substitutions(&command["X"], around);
                let mut argv = vec![ShfmtWord { known: "[[".to_owned(), is_whole: true }];
                operands(&command["X"], &mut argv);
                self.seen.push(ShfmtCommand { argv, ..around.command() });
            }
            other => panic!("a line that we call clear has a {other}"),
        }
    }

    /// Goes into every command that stands somewhere in a word.
    fn substitutions(&mut self, node: &Value, around: ShfmtContext) {
        match node {
            Value::Array(nodes) => nodes.iter().for_each(|node| self.substitutions(node, around)),
            Value::Object(fields) => match node["Type"].as_str() {
                Some("CmdSubst" | "ProcSubst") => self.statements(&node["Stmts"], around),
                _ => fields.values().for_each(|node| self.substitutions(node, around)),
            },
            _ => {}
        }
    }
}

/// The words of a `[[`, without its operators.
fn operands(test: &Value, argv: &mut Vec<ShfmtWord>) {
    if test["Type"] == "Word" {
        argv.push(text(test, false));
        return;
    }
    for side in ["X", "Y"] {
        if test[side].is_object() {
            operands(&test[side], argv);
        }
    }
}

fn kind(redirect: &Value) -> RedirectKind {
    let target = text(&redirect["Word"], false);
    let is_descriptor = || {
        let digits = target.known.strip_suffix('-').unwrap_or(&target.known);
        target.is_whole && !target.known.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match redirect["Op"].as_str().expect("an operator") {
        "<" => RedirectKind::Read,
        ">" | ">|" | "&>" => RedirectKind::Write,
        ">>" | "&>>" => RedirectKind::Append,
        "<>" => RedirectKind::ReadWrite,
        ">&" if !is_descriptor() => RedirectKind::Write,
        "<&" | ">&" => RedirectKind::Dup,
        "<<" | "<<-" => RedirectKind::Heredoc,
        "<<<" => RedirectKind::HereString,
        other => panic!("a redirect by {other}"),
    }
}

fn name(node: &Value) -> String {
    node["Value"].as_str().unwrap_or_default().to_owned()
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// A word without its quotes, up to the first thing that the shell replaces.
fn text(word: &Value, is_value: bool) -> ShfmtWord {
    let mut known = String::new();
    // What has no quotes, with a quoted character as a NUL: braces and globs are looked for in here.
    let mut bare = String::new();
    let is_whole = items(&word["Parts"]).iter().all(|part| add(part, false, &mut known, &mut bare));
    let begins_with_quotes = word["Parts"][0]["Type"] != "Lit";
    match replaced_at(&bare, is_value, begins_with_quotes) {
        Some(at) => ShfmtWord { known: known.chars().take(at).collect(), is_whole: false },
        None => ShfmtWord { known, is_whole },
    }
}

/// Adds a part of a word; false when it is only known at run time.
fn add(part: &Value, in_quotes: bool, known: &mut String, bare: &mut String) -> bool {
    let value = part["Value"].as_str().unwrap_or_default();
    let quoted = |text: &str, known: &mut String, bare: &mut String| {
        known.push_str(text);
        bare.extend(text.chars().map(|_| '\0'));
    };
    match part["Type"].as_str().unwrap_or_default() {
        "SglQuoted" if part["Dollar"] == true => {
            let (text, is_whole) = unescaped(value);
            quoted(&text, known, bare);
            return is_whole;
        }
        "SglQuoted" => quoted(value, known, bare),
        "DblQuoted" => return items(&part["Parts"]).iter().all(|part| add(part, true, known, bare)),
        "Lit" => {
            let mut characters = value.chars().peekable();
            while let Some(character) = characters.next() {
                let escapes = character == '\\'
                    && (!in_quotes || characters.peek().is_some_and(|next| "$`\"\\".contains(*next)));
                match characters.next_if(|_| escapes) {
                    Some(escaped) => quoted(&escaped.to_string(), known, bare),
                    None if in_quotes => quoted(&character.to_string(), known, bare),
                    None => {
                        known.push(character);
                        bare.push(character);
                    }
                }
            }
        }
        _ => return false,
    }
    true
}

/// Where bash begins to replace a word that has no `$`: at a home directory, at braces, at a glob.
fn replaced_at(bare: &str, is_value: bool, begins_with_quotes: bool) -> Option<usize> {
    let characters: Vec<char> = bare.chars().collect();
    let after = |from: usize, wanted: &str| {
        let rest: String = characters[from..].iter().collect();
        rest.contains(wanted)
    };
    (0..characters.len()).find(|at| match characters[*at] {
        '~' => *at == 0 && !begins_with_quotes || is_value && characters[at - 1] == ':',
        // A value is not matched against files.
        '*' | '?' => !is_value,
        '[' => !is_value && after(*at, "]"),
        '{' => !is_value && after(*at, "}") && (after(*at, ",") || after(*at, "..")),
        _ => false,
    })
}

/// The text of `$'…'` up to what is not ASCII or means nothing, and whether that is all of it.
fn unescaped(text: &str) -> (String, bool) {
    let mut decoded = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            decoded.push(character);
            continue;
        }
        let next = characters.next();
        let mut number = |radix: u32, most: usize, first: Option<char>| {
            let mut digits: String = first.into_iter().collect();
            while digits.len() < most
                && let Some(digit) = characters.next_if(|next| next.is_digit(radix))
            {
                digits.push(digit);
            }
            u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32).filter(char::is_ascii)
        };
        let meant = match next {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('a') => Some('\x07'),
            Some('b') => Some('\x08'),
            Some('e' | 'E') => Some('\x1b'),
            Some('f') => Some('\x0c'),
            Some('v') => Some('\x0b'),
            Some('\\' | '\'' | '"' | '?') => next,
            Some('x') => number(16, 2, None),
            Some('u') => number(16, 4, None),
            Some('U') => number(16, 8, None),
            Some('0'..='7') => number(8, 3, next),
            _ => None,
        };
        let Some(meant) = meant else { return (decoded, false) };
        decoded.push(meant);
    }
    (decoded, true)
}
