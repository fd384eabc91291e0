//! Which command lines run unasked: those that read the workspace and public files of the system, wherever links lead.

use std::os::unix::fs::PermissionsExt;

use ostler_tools::{ToolSettings, Tools};
use ostler_types::{ApprovalPolicy, CommandLine, JudgedCall, Rule, Subject, ToolCall, ToolCallId, ToolKind};
use serde_json::json;

use crate::fixture::ToolFixture;

fn shell(line: &str) -> ToolCall {
    let input = json!({"command": line});
    ToolCall { id: ToolCallId("c".to_owned()), name: "shell".to_owned(), input }
}

async fn subject(fixture: &ToolFixture, line: &str) -> Subject {
    let home = Some(fixture.outside().join("home"));
    let tools = Tools::new(ToolSettings {
        allow_unconfined: true,
        home,
        environment: std::env::vars_os().collect(),
        ..ToolSettings::default()
    });
    tools.get("shell").unwrap().subject(&shell(line).input, &fixture.workspace()).await
}

fn asks_about(policy: &ApprovalPolicy, line: &str, subject: &Subject, trusted: bool) -> bool {
    policy.asks(&JudgedCall { call: &shell(line), kind: ToolKind::Exec, subject, trusted })
}

fn known(line: &str, only_reads: Vec<bool>) -> Subject {
    Subject::CommandLine(Box::new(CommandLine::new(
        line.to_owned(),
        ostler_command_line::parse(line),
        only_reads,
    )))
}

async fn asks(fixture: &ToolFixture, line: &str) -> bool {
    let line = line.replace('@', fixture.outside().to_str().unwrap());
    let subject = subject(fixture, &line).await;
    asks_about(&ApprovalPolicy::default(), &line, &subject, true)
}

fn fixture() -> ToolFixture {
    let fixture = ToolFixture::with(&[
        ("a.txt", "a"),
        ("src/b.rs", "b"),
        ("src/deep/c.rs", "c"),
        ("one/x", "1"),
        ("two/x", "2"),
        ("many/x", ""),
        (".git/HEAD", ""),
    ]);
    fixture.link("inside", "src");
    fixture.link("out", "../outside");
    fixture.link("out.txt", "../outside/secret.txt");
    fixture.link("src/up", "../../outside");
    fixture.link("dangling", "../outside/later");
    fixture.link("passwords", "/etc/shadow");
    fixture.link("two/again", "..");
    std::fs::create_dir_all(fixture.outside().join("home/.config")).unwrap();
    std::fs::write(fixture.outside().join("home/.env"), "").unwrap();
    fixture
}

const UNASKED: &[&str] = &[
    "ls",
    "ls -la src",
    "cat a.txt src/b.rs",
    "cat ./src/../a.txt",
    "cat inside/b.rs",
    "cat nothing.txt",
    "cat < a.txt",
    "echo \"n$(< a.txt)\"",
    "cat src/*.rs",
    "wc -l -- a*.txt src/*.rs",
    "ls s*/[bc].rs",
    "echo ./s*",
    "echo src/*",
    "grep -rn x .",
    "rg -f a.txt x src",
    "find . -newer a.txt",
    "cd src && cat b.rs",
    "cd -- src && ls",
    "(cd src; cd deep; ls)",
    "cd /usr/lib && ls",
    "cat /usr/lib/os-release /etc/os-release",
    "cat /etc/passwd | head -3",
    "ls /etc /usr /bin",
    "cat /dev/null",
    "cat /proc/cpuinfo",
    "diff a.txt src/b.rs",
    "diff <(ls src) <(ls one)",
    "[ -f a.txt ] && head a.txt",
    "test -d /usr/bin",
    "bash -c 'cat a.txt'",
    "timeout 5 cat a.txt",
    "git log --oneline main..feature/x -- src",
    "git diff HEAD~3..HEAD",
    "which ls; command -v cat",
    "while ls; do cat a.txt; break; done",
];

const ASKED: &[&str] = &[
    "cat @/secret.txt",
    "cat @/home/.env",
    "cat ~/.env",
    "cat \"$HOME/.env\"",
    "cat ../outside/secret.txt",
    "cat src/../../outside/secret.txt",
    "cat out.txt",
    "cat out/secret.txt",
    "cat src/up/secret.txt",
    "cat dangling",
    "cat passwords",
    "cat /etc/shadow",
    "cat /etc/../etc/shadow",
    "cat out*",
    "cat o?t.txt",
    "cat [o]ut.txt",
    "cat */secret.txt",
    "cat src/*/secret.txt",
    "echo out/*",
    "echo ../*",
    "echo @/*",
    "cat .*",
    "cat {a.txt,out.txt}",
    "cat \"src/$x\"",
    "cat < out.txt",
    "cat < @/secret.txt",
    "echo \"n$(< out.txt)\"",
    "cat <<E\n$(cat out.txt)\nE",
    "diff <(cat out.txt) a.txt",
    "grep -r x @",
    "grep -r x ..",
    "grep -rf out.txt .",
    "grep --exclude-from=out.txt -r x .",
    "rg x out",
    "rg --ignore-file out.txt x",
    "find / -name x",
    "find .. -name x",
    "find . -newer out.txt",
    "find out/ -name x",
    "ls ..",
    "ls /",
    "ls /root",
    "ls /home",
    "ls -R /etc",
    "grep -r x /etc",
    "grep -r x /var/lib",
    "tree /opt",
    "du -sh ../outside",
    "date -r out.txt",
    "diff one two",
    "diff -r one two",
    "diff two a.txt",
    "cd .. && ls",
    "cd out && ls",
    "cd @ && cat secret.txt",
    "cd src/up; cat secret.txt",
    "cd inside/.. && cat ../outside/secret.txt",
    "cd src && cat ../../outside/secret.txt",
    "(cd out); ls",
    "while ls; do cd two/again; cat x; done",
    "cd $x; ls",
    "cd / && ls",
    "[ -f ../outside/secret.txt ]",
    "test a.txt -nt out.txt",
    "[[ -e out.txt ]]",
    "readlink -f out.txt",
    "bash -c 'cat out.txt'",
    "timeout 5 cat out.txt",
    "cat /proc/self/environ",
    "cat /proc/self/cwd/a.txt",
    "cat /proc/self/root/etc/hostname",
    "cat /proc/1/environ",
    "cat /proc/self/fd/0",
    "ls /proc",
    "cat /dev/tty",
    "cat /tmp/x",
    "git diff --no-index a.txt @/secret.txt",
    "git diff /dev/null ../outside/secret.txt",
    "git grep -f out.txt",
    "strings @rsp",
    "command -v ../outside/secret.txt",
];

#[tokio::test]
async fn only_the_workspace_and_public_files_are_read_unasked() {
    let fixture = fixture();
    for line in UNASKED {
        assert!(!asks(&fixture, line).await, "{line:?} asks");
    }
    for line in ASKED {
        assert!(asks(&fixture, line).await, "{line:?} does not ask");
    }
}

/// As root, too, who could read them.
#[tokio::test]
async fn what_not_everybody_may_read_asks() {
    let fixture = fixture();
    // Whatever there is in /etc that is private on this machine.
    let entries = std::fs::read_dir("/etc").unwrap().flatten();
    let private = entries.filter(|entry| entry.metadata().unwrap().permissions().mode() & 0o004 == 0);
    for entry in private {
        let line = format!("cat '{}'", entry.path().display());
        assert!(asks(&fixture, &line).await, "{line:?} does not ask");
    }
}

#[tokio::test]
async fn a_glob_with_too_many_files_asks() {
    let fixture = fixture();
    assert!(!asks(&fixture, "cat many/*").await);
    for number in 0..2_100 {
        fixture.put(&format!("many/{number}"), "");
    }
    assert!(asks(&fixture, "cat many/*").await);
}

#[tokio::test]
async fn git_in_a_part_of_a_repository_asks() {
    let fixture = fixture();
    assert!(!asks(&fixture, "git status").await);
    std::fs::remove_dir_all(fixture.path(".git")).unwrap();
    assert!(asks(&fixture, "git status").await, "it would read the repository around the workspace");
    assert!(!asks(&fixture, "git --version").await);
}

/// A person who agreed to a command agreed to what it reads.
#[tokio::test]
async fn a_remembered_command_runs_wherever_it_leads() {
    let fixture = fixture();
    let line = "cat out.txt | head -5";
    let looked = subject(&fixture, line).await;
    assert_eq!(looked, known(line, vec![false, true]));
    let rule = Rule::for_call(&shell(line), &looked);
    assert_eq!(rule.to_string(), "cat out.txt");
    let policy = ApprovalPolicy { rules: vec![rule], ..ApprovalPolicy::default() };
    for (line, is_asked) in [(line, false), ("cat out.txt; ls", false), ("cat out.txt out/secret.txt", true)]
    {
        let looked = subject(&fixture, line).await;
        assert_eq!(asks_about(&policy, line, &looked, false), is_asked, "{line:?}");
    }
}

/// Nothing is let through where nobody has looked.
#[test]
fn without_a_proof_every_command_asks() {
    for line in ["ls", "cat a.txt", "true", "echo x"] {
        for subject in [known(line, Vec::new()), Subject::Input] {
            assert!(asks_about(&ApprovalPolicy::default(), line, &subject, true), "{line:?}");
        }
    }
}
