//! Which places commands read, and which programs they start.

use ostler_command_line::{
    CommandReads, DecisionContext, ReadExtent, ReadTarget, TargetSpelling, allowed_with, parse, reads,
};

use crate::clear;

/// The places of all commands of a line: `p:` by path, `g:` by glob, `?` unknown; `/` at the end when all below it is read,
/// `!` when it must be a file, `~` when only names are.
fn places(line: &str) -> Vec<String> {
    let all = reads(&clear(line));
    let known = all.into_iter().map(|reads| reads.unwrap_or_else(|| panic!("{line:?} does not only read")));
    known.flat_map(|reads| reads.targets).map(|place| shown(&place)).collect()
}

fn shown(place: &ReadTarget) -> String {
    let spelling = match &place.spelling {
        TargetSpelling::Path(path) => format!("p:{path}"),
        TargetSpelling::Glob(glob) => format!("g:{glob}"),
        TargetSpelling::Unknown => "?".to_owned(),
    };
    let extent = match place.extent {
        ReadExtent::Names => "~",
        ReadExtent::Itself => "",
        ReadExtent::File => "!",
        ReadExtent::Below => "/",
    };
    format!("{spelling}{extent}")
}

const PLACES: &[(&str, &[&str])] = &[
    ("ls", &[]),
    ("pwd; echo a; true", &[]),
    ("cat a b", &["p:a", "p:b"]),
    ("cat -n -- -a", &["p:-a"]),
    ("cat < a", &["p:a"]),
    ("echo \"n$(< a)\"", &["p:a"]),
    ("cat <(ls a)", &["p:a"]),
    ("cat \"/dev/fd/$x\"", &["?"]),
    ("cat <(ls)\"$x\"", &["?"]),
    ("cat \"a$x\"", &["?"]),
    ("cat a{b,c}", &["?"]),
    ("cat < \"a$x\"", &["?"]),
    ("cat a*b", &["g:a*b~", "g:a*b"]),
    ("cat a'*'*", &["g:a\\**~", "g:a\\**"]),
    ("cat a/[b]c", &["g:a/[b]c~", "g:a/[b]c"]),
    ("echo a*", &["g:a*~"]),
    ("basename a*", &["g:a*~"]),
    ("[[ a* = a* ]]", &[]),
    ("grep x a", &["p:a"]),
    ("grep -e x a", &["p:a"]),
    ("grep -f a b", &["p:a", "p:b"]),
    ("grep -fa b", &["p:a", "p:b"]),
    ("grep --file=a b", &["p:a", "p:b"]),
    ("grep --file a b", &["p:a", "p:b"]),
    ("grep --exclude-from=a x b", &["p:a", "p:b"]),
    ("grep -rn x a", &["p:a/"]),
    ("grep -d recurse x a", &["p:a/"]),
    ("grep x* a", &["g:x*~", "g:x*", "p:a"]),
    ("rg x a", &["p:a/"]),
    ("rg --files a", &["p:a/"]),
    ("rg -f a b", &["p:a", "p:b/"]),
    ("rg --ignore-file a x b", &["p:a", "p:b/"]),
    ("find a b -name c -newer d", &["p:a/", "p:b/", "p:d"]),
    ("find -name c a -samefile d", &["p:a/", "p:d"]),
    ("find a*", &["g:a*~", "g:a*/"]),
    ("diff a b", &["p:a!", "p:b!"]),
    ("diff -X c a b", &["p:c", "p:a!", "p:b!"]),
    ("diff --no-dereference -r a b", &["p:a/", "p:b/"]),
    ("ls -R a", &["p:a/"]),
    ("ls -la a", &["p:a"]),
    ("du -sh a", &["p:a/"]),
    ("tree a", &["p:a/"]),
    ("date -r a", &["p:a"]),
    ("date --reference=a", &["p:a"]),
    ("realpath --relative-to=a b", &["p:a", "p:b"]),
    ("od -w a", &["p:a"]),
    ("sed -n 5p a", &["p:a"]),
    ("sort -k 2 a", &["p:a"]),
    ("uniq a", &["p:a"]),
    ("which ls", &[]),
    ("which a/ls", &["p:a/ls"]),
    ("command -v /a/b", &["p:/a/b"]),
    ("test -f a", &["p:a"]),
    ("[ a -nt b ]", &["p:b", "p:a"]),
    ("[[ -f a && -d \"b$x\" ]]", &[]),
    ("[[ -d \"b$x\" ]]", &["?"]),
    ("id -u -- \"$x\"/*", &["?~"]),
    ("echo \"a$x\"/[a-z]", &["?~"]),
    ("id -u -- $x", &["?~"]),
    ("id -u -- $(ls)", &["?~"]),
    ("basename -- `ls`", &["?~"]),
    ("basename -- \"$@\"", &["?~"]),
    ("echo a{b,c}*", &["?~"]),
    ("echo a{b,c}", &[]),
    ("echo \"a$x\"", &[]),
    ("echo \"n$((1 + 2 * 3))\"", &[]),
    ("echo \"a*$x?\"", &[]),
    ("echo a\\*\"$x\"", &[]),
    ("cd a", &["p:a"]),
    ("timeout 5 cat a", &["p:a"]),
    ("bash -c 'cat a' < b", &["p:b", "p:a"]),
    ("git diff --no-index a /b", &["p:a/", "p:/b/"]),
    ("git log --since a", &["p:a/"]),
];

#[test]
fn the_places_of_a_line_are_told() {
    for (line, expected) in PLACES {
        if *line == "[[ -f a && -d \"b$x\" ]]" {
            assert_eq!(reads(&clear(line)), [None], "{line:?}");
            continue;
        }
        assert_eq!(places(line), *expected, "{line:?}");
    }
}

#[test]
fn the_programs_of_a_line_are_told() {
    let programs = |line: &str| {
        let all = reads(&clear(line)).into_iter().flatten();
        all.flat_map(|reads| reads.programs).collect::<Vec<_>>()
    };
    assert_eq!(programs("ls | /usr/bin/head"), ["ls", "/usr/bin/head"]);
    assert_eq!(programs("timeout 5 egrep a b"), ["timeout", "egrep", "grep"]);
    assert_eq!(programs("bash -c 'ls'"), ["bash", "ls"]);
}

#[test]
fn a_move_is_told_and_whether_it_may_happen_again() {
    let reading = clear("cd a && cat b");
    let all = reads(&reading);
    assert_eq!(all[0].as_ref().unwrap().changes_directory_to, Some(TargetSpelling::Path("a".to_owned())));
    assert_eq!(all[1].as_ref().unwrap().changes_directory_to, None);
    assert!(reading.commands.iter().all(|command| !command.repeated));
    for line in ["while ls; do cd a; done", "until cd a; do ls; done", "while ls; do (cd a); done"] {
        let reading = clear(line);
        let moves = reading.commands.iter().find(|command| command.argv[0].literal() == Some("cd"));
        assert!(moves.unwrap().repeated, "{line:?}");
    }
}

#[test]
fn git_reads_a_repository() {
    let repository = |line: &str| {
        reads(&clear(line)).into_iter().flatten().any(|reads: CommandReads| reads.reads_repository)
    };
    assert!(repository("git status"));
    assert!(!repository("git --version"));
    assert!(!repository("ls"));
}

#[test]
fn a_command_that_was_not_proven_asks_unless_it_is_remembered() {
    let reading = parse("cat a | head -5");
    let allowed = |proven: &[bool], patterns: &[_]| {
        allowed_with(&reading, patterns, DecisionContext { git_is_safe: true, proven })
    };
    assert!(allowed(&[true, true], &[]));
    for proven in [&[false, true][..], &[true, false], &[true], &[]] {
        assert!(!allowed(proven, &[]), "{proven:?}");
        let circumstances = DecisionContext { git_is_safe: true, proven };
        let patterns = ostler_command_line::suggest_with(&reading, circumstances).unwrap();
        assert!(!patterns.is_empty());
        assert!(allowed(proven, &patterns), "{proven:?}");
    }
}
