//! Remembered rules: what they match, which are refused, and which are suggested.

use ostler_command_line::{Pattern, allowed, describe, parse, suggest};

fn closed(words: &str) -> Pattern {
    Pattern { argv: words.split(' ').map(str::to_owned).collect(), open: false }
}

fn open(words: &str) -> Pattern {
    Pattern { open: true, ..closed(words) }
}

#[test]
fn a_closed_pattern_matches_its_words_and_no_more() {
    let rules = [closed("cargo test"), closed("rm x")];
    for line in [
        "cargo test",
        "cargo  'test'",
        "cargo test 2>&1",
        "cargo test >/dev/null",
        "cargo test && rm x",
        "cargo test | head",
        "timeout 60 cargo test",
        "bash -c 'cargo test'",
        "RUST_BACKTRACE=1 cargo test",
        "cargo test &",
    ] {
        assert!(allowed(&parse(line), &rules), "{line:?}");
    }
    for line in [
        "cargo test -x",
        "cargo",
        "cargo 'test '",
        "cargo test > f",
        "cargo test < f",
        "cargo test <<< x",
        "A=b cargo test",
        "cargo test; rm y",
        "cargo $x",
        "cargo test $x",
        "cd /tmp && cargo test",
        "./cargo test",
        "sudo cargo test",
        "nohup cargo test",
        "env A=b cargo test",
        "cargo test $(rm y)",
        "cargo test | sh",
        "echo x | cargo test",
        "echo x | (cargo test)",
        "echo x | timeout 5 cargo test",
        "f() { cargo test; }; f",
        "PATH=.; cargo test",
        "xargs cargo test",
        "cargo test <<EOF\nx\nEOF",
        "for a in b; do cargo test; done",
        "exec cargo test",
        "bash -lc 'cargo test'",
        "bash -c 'cargo test' x",
    ] {
        assert!(!allowed(&parse(line), &rules), "{line:?}");
    }
}

#[test]
fn an_open_pattern_matches_what_begins_with_its_words() {
    let rules = [open("cargo test"), open("git commit")];
    for line in ["cargo test", "cargo test -p a --lib", "git commit -m 'a; rm x'"] {
        assert!(allowed(&parse(line), &rules), "{line:?}");
    }
    for line in [
        "cargo",
        "cargo run",
        "cargo testx",
        "cargo 'test -p'",
        "cargo test $x",
        "cargo test; rm x",
        "git commit -m \"$(rm x)\"",
        "git -c a=b commit",
        "cargo test --config 'a=b'",
        "cargo test --config=a=b",
        "cargo test > f",
    ] {
        assert!(!allowed(&parse(line), &rules), "{line:?}");
    }
}

#[test]
fn open_patterns_that_would_allow_anything_are_refused() {
    let refused = [
        "bash",
        "bash -c",
        "sh",
        "/bin/sh",
        "python",
        "python3",
        "python3.12",
        "node",
        "perl",
        "ruby",
        "env",
        "xargs",
        "sudo",
        "find",
        "find . -exec",
        "ssh host",
        "make",
        "nice",
        "timeout 5",
        "awk",
        "sed",
        "git",
        "git -c",
        "git config",
        "git rebase",
        "npx",
        "npm",
        "npm exec",
        "docker run",
        "go run",
        "uv run",
        "eval",
        "exec",
        "tar",
        "vim",
        "busybox",
        "",
    ];
    for words in refused {
        let pattern = open(words);
        let why = pattern.check().expect_err(words);
        assert!(why.ends_with('.'), "{why}");
        let line = format!("{words} x");
        let matched = parse(&line).commands.iter().any(|command| pattern.matches(command));
        assert!(!matched, "{line:?} is matched by a pattern that is refused");
    }
    for words in ["cargo test", "git commit", "npm run", "ls", "rm", "go test"] {
        assert_eq!(open(words).check(), Ok(()), "{words}");
    }
    assert_eq!(closed("bash x.sh").check(), Ok(()));
    assert!(Pattern { argv: Vec::new(), open: false }.check().is_err());
}

#[test]
fn suggestions_are_exact_and_enough() {
    let table: &[(&str, &[&str])] = &[
        ("ls", &[]),
        ("cargo test", &["cargo test"]),
        ("ls && cargo test | head", &["cargo test"]),
        ("cargo test; cargo test", &["cargo test"]),
        ("timeout 60 cargo test", &["cargo test"]),
        ("bash -c 'cargo fmt && cargo test'", &["cargo fmt", "cargo test"]),
        ("sudo rm x", &["sudo rm x", "rm x"]),
        ("bash x.sh", &["bash x.sh"]),
        ("git push origin main", &["git push origin main"]),
    ];
    for (line, words) in table {
        let reading = parse(line);
        let patterns = suggest(&reading).unwrap_or_else(|| panic!("{line:?} has no suggestion"));
        assert_eq!(patterns, words.iter().map(|words| closed(words)).collect::<Vec<_>>(), "{line:?}");
        assert!(allowed(&reading, &patterns), "{line:?}");
    }
    for line in [
        "cargo test > f",
        "rm $x",
        "A=b rm x",
        "eval x",
        "ls | sh",
        "cat x | xargs rm",
        "python3 <<EOF\nx\nEOF",
        "ls *",
        "cd a && cargo test",
        "pushd a; cargo test",
        "(cd a; cargo test)",
        "bash -c 'cd a && cargo test'",
        "env -C a cargo test",
        "env -uX --chdir a cargo test",
        "sudo -D a rm x",
        "sudo --chdir=a rm x",
        "find a -maxdepth 0 -execdir rm x ';'",
        "git -c alias.x='!rm x' x",
        "cd a && cargo test; cd ../b && cargo test",
        "for f in a; do rm x; done",
        "",
    ] {
        assert_eq!(suggest(&parse(line)), None, "{line:?}");
    }
}

#[test]
fn what_is_remembered_of_a_command_does_not_hold_in_another_directory() {
    let rules = [closed("cargo test"), closed("cd a")];
    for line in [
        "cd a && cargo test",
        "cd b && cargo test",
        "cargo test && cd a",
        "(cd a; cargo test)",
        "command cd b && cargo test",
        "env -C b cargo test",
        "env --chdir=b cargo test",
        "bash -c 'cd a && cargo test'",
        "{ pushd a; cargo test; popd; }",
    ] {
        assert!(!allowed(&parse(line), &rules), "{line}");
    }
    assert!(allowed(&parse("cd b && ls && cd .. && cat x"), &[]), "what only reads may read elsewhere");
}

#[test]
fn descriptions_hide_nothing() {
    let table: &[(&str, &[&str])] = &[
        ("ls -l | rm 'a b'", &["ls -l", "rm 'a b'"]),
        ("A=b rm \"it's\" > f &", &["A=b rm 'it'\\''s' > f &"]),
        ("rm $'a\\nb'", &["rm $'a\\nb'"]),
        ("rm $'\\e[2J'", &["rm $'\\u001b[2J'"]),
        ("echo $(rm x)", &["echo $(rm x)", "rm x"]),
        ("rm ''", &["rm ''"]),
        ("rm \"a\u{202e}b\"", &["rm $'a\\u202eb'"]),
        ("rm \"$x\nb\"", &["rm \"$x\\nb\""]),
        ("ls 2>&1 <<< a", &["ls >&1 <<< a"]),
    ];
    for (line, lines) in table {
        assert_eq!(describe(&parse(line)), *lines, "{line:?}");
    }
}

#[test]
fn a_pattern_is_kept_as_it_is() {
    let pattern = open("cargo test");
    let text = serde_json::to_string(&pattern).unwrap();
    assert_eq!(text, r#"{"argv":["cargo","test"],"open":true}"#);
    assert_eq!(serde_json::from_str::<Pattern>(&text).unwrap(), pattern);
    assert_eq!(serde_json::from_str::<Pattern>(r#"{"argv":["ls"]}"#).unwrap(), closed("ls"));
    assert!(serde_json::from_str::<Pattern>(r#"{"argv":["ls"],"prefix":true}"#).is_err());
}
