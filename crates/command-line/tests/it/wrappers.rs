//! Programs that start others: what they start is seen too.

use ostler_command_line::parse;

use crate::{clear, read};

const CLEAR: &[(&str, &[&str])] = &[
    ("env A=b ls", &["env A=b ls", "A=b ls"]),
    ("env -u A ls -l", &["env -u A ls -l", "ls -l"]),
    ("env", &["env"]),
    ("/usr/bin/env ls", &["/usr/bin/env ls", "ls"]),
    ("nice ls", &["nice ls", "ls"]),
    ("nice -n 5 rm x", &["nice -n 5 rm x", "rm x"]),
    ("nice -10 rm x", &["nice -10 rm x", "rm x"]),
    ("nohup rm x &", &["nohup rm x", "rm x"]),
    ("timeout 5 rm x", &["timeout 5 rm x", "rm x"]),
    ("timeout -k 1 --signal=KILL 5s rm x", &["timeout -k 1 --signal=KILL 5s rm x", "rm x"]),
    ("stdbuf -oL -e 0 rm x", &["stdbuf -oL -e 0 rm x", "rm x"]),
    ("setsid -w rm x", &["setsid -w rm x", "rm x"]),
    ("sudo rm x", &["sudo rm x", "rm x"]),
    ("sudo -u root A=b rm x", &["sudo -u root A=b rm x", "A=b rm x"]),
    ("command rm x", &["command rm x", "rm x"]),
    ("command -v rm", &["command -v rm"]),
    ("builtin echo x", &["builtin echo x", "echo x"]),
    ("exec rm x", &["exec rm x", "rm x"]),
    ("exec", &["exec"]),
    ("\\time -o f rm x", &["time -o f rm x", "rm x"]),
    ("/usr/bin/time rm x", &["/usr/bin/time rm x", "rm x"]),
    ("ls | xargs rm", &["ls", "xargs rm", "rm ?"]),
    ("ls | xargs -0 -n 1 rm -f", &["ls", "xargs -0 -n 1 rm -f", "rm -f ?"]),
    ("ls | xargs -I{} rm a/{}", &["ls", "xargs -I{} rm a/{}", "rm ? ?"]),
    ("ls | xargs -I X mv X b", &["ls", "xargs -I X mv X b", "mv ? b ?"]),
    ("xargs", &["xargs", "echo ?"]),
    ("find . -exec rm {} +", &["find . -exec rm {} +", "rm ?"]),
    (
        "find . -exec rm -f {} \\; -execdir mv {} x ';'",
        &["find . -exec rm -f {} ; -execdir mv {} x ;", "rm -f ?", "mv ? x"],
    ),
    ("sh -c 'ls; rm x'", &["sh -c ls; rm x", "ls", "rm x"]),
    ("bash -lc \"ls && rm x\"", &["bash -lc ls && rm x", "ls", "rm x"]),
    ("bash -o pipefail -ec 'ls | rm'", &["bash -o pipefail -ec ls | rm", "ls", "rm"]),
    ("bash -c 'bash -c \"rm x\"'", &["bash -c bash -c \"rm x\"", "bash -c rm x", "rm x"]),
    ("bash -c 'rm $1' a b", &["bash -c rm $1 a b", "rm ?"]),
    ("bash script.sh", &["bash script.sh"]),
    ("git -c alias.x='!rm x' x", &["git -c alias.x=!rm x x", "rm x"]),
    ("git -c alias.x='log -p' x", &["git -c alias.x=log -p x", "git log -p"]),
    ("git -c core.pager=rm log", &["git -c core.pager=rm log"]),
    (
        "nice nohup timeout 5 rm x",
        &["nice nohup timeout 5 rm x", "nohup timeout 5 rm x", "timeout 5 rm x", "rm x"],
    ),
    ("env A=b sh -c 'rm x'", &["env A=b sh -c rm x", "A=b sh -c rm x", "rm x"]),
];

const UNCLEAR: &[&str] = &[
    "env -S 'rm x'",
    "env - rm x",
    "env $x",
    "env \"$x\" ls",
    "env --unknown rm",
    "nice $x",
    "timeout 5",
    "timeout 5 $(ls)",
    "timeout $x rm",
    "timeout --odd 5 rm",
    "sudo -s",
    "sudo -i rm",
    "sudo $x",
    "exec $x",
    "command $x",
    "xargs -a f $x",
    "xargs -I{} {} x",
    "xargs -I{} sh -c 'rm {}'",
    "xargs -dI -I{} sh -c 'rm {}'",
    "xargs -i rm {}",
    "xargs sh",
    "find . -exec rm {}",
    "find . -exec {} \\;",
    "find . -exec sh -c 'rm {}' \\;",
    "sh -c \"$x\"",
    "sh -c 'eval x'",
    "sh -c \"echo 'x\"",
    "bash -ic ls",
    "bash -O extglob -c ls",
    "bash --rcfile x -c ls",
    "zsh -c ls",
    "fish -c ls",
    "su -c 'rm x'",
    "command eval rm",
    "builtin source x",
    "nice bash",
    "parallel rm ::: x",
    "git -c \"$x\" log",
    "git -c alias.x='!eval y' x",
];

#[test]
fn what_a_wrapper_starts_is_seen() {
    for (line, commands) in CLEAR {
        assert_eq!(read(line), *commands, "{line:?}");
        clear(line);
    }
}

#[test]
fn a_wrapper_that_cannot_be_read_is_unclear() {
    for line in UNCLEAR {
        assert!(parse(line).unclear.is_some(), "{line:?} was taken for clear: {:?}", read(line));
    }
}

#[test]
fn nesting_without_end_is_unclear() {
    for piece in ["nohup ", "$(", "(", "{ ", "`", "env ", "if ", "\"$(", "${a:-"] {
        let line = format!("{}rm x", piece.repeat(2000));
        assert!(parse(&line).unclear.is_some(), "{piece:?}");
    }
}
