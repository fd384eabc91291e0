//! Command lines that would slip past a rule that was remembered, or past what is known to only read: each
//! must be put to a person.

use ostler_types::{Policy, SessionId};
use serde_json::json;

use crate::scripted::{ScriptedDaemon, shell};

/// With `make x` allowed for ever and `ls`, `cat`, `git log`, `find`, `echo` known to read.
const BYPASSES: &[&str] = &[
    "make x; rm README.md",
    "make x && rm README.md",
    "make x || rm README.md",
    "make x & rm README.md",
    "make x | tee README.md",
    "make x\nrm README.md",
    "make x #\nrm README.md",
    "make x\r\nrm README.md",
    "{ make x; rm README.md; }",
    "(rm README.md; make x)",
    "if make x; then rm README.md; fi",
    "! rm README.md",
    "time rm README.md",
    "make x $(rm README.md)",
    "make $(rm README.md)",
    "make `rm README.md`",
    "make x \"$(rm README.md)\"",
    "cat <(rm README.md)",
    "echo ${a:=$(rm README.md)}",
    "echo $((a[$(rm README.md)]))",
    "echo 'x[$(rm README.md)]'; echo \"n$((_))\"",
    "bash -c 'echo \"n$(($1))\"' x 'a[$(rm README.md)]'",
    "tree -Lo 2 README.md",
    "cat ../outside.txt",
    "cat ~/.config/some/token",
    "cd .. && ls",
    "cat <<E\n$(rm README.md)\nE",
    "make x > README.md",
    "echo > README.md",
    "ls >| README.md",
    "cat < README.md > .envrc",
    "make x y",
    "make -f other.mk x",
    "make -C .. x",
    "make 'x; rm README.md'",
    "'make x'",
    "make x\\;rm",
    "\"ma\"ke 'y'",
    "$'rm' README.md",
    "r\\m README.md",
    "'r'm README.md",
    "$MAKE x",
    "CC='rm README.md' make x",
    "MAKEFLAGS=--eval=x: make x",
    "PATH=. ls",
    "LD_PRELOAD=./evil.so ls",
    "GIT_EXTERNAL_DIFF=./evil git diff",
    "BASH_ENV=evil make x",
    "export PATH=.; ls",
    "env make x y",
    "env -S 'rm README.md'",
    "git -c core.pager='rm README.md' log",
    "git -c alias.log='!rm README.md' log",
    "git --exec-path=. log",
    "git -C .. log --output=README.md",
    "git log --output=README.md",
    "git diff --ext-diff",
    "find . -exec rm {} ;",
    "find . -delete",
    "find . -fprint README.md",
    "find . -ok rm {} ;",
    "ls | xargs rm",
    "xargs -a README.md rm",
    "alias ls='rm README.md'; ls",
    "ls() { rm README.md; }; ls",
    "function make { rm README.md; }; make x",
    "eval 'rm README.md'",
    "bash -c 'make x; rm README.md'",
    "source README.md",
    ". ./README.md",
    "command rm README.md",
    "builtin eval rm README.md",
    "exec rm README.md",
    "trap 'rm README.md' EXIT; make x",
    "sort -o README.md README.md",
    "sed -i s/a/b/ README.md",
    "sed 's/a/b/e' README.md",
    "sed -n 'w README.md' Makefile",
    "awk 'BEGIN{system(\"rm README.md\")}'",
    "tee README.md",
    "rg --pre ./evil x",
    "tar cf /dev/null --checkpoint-action=exec=sh .",
    "sudo make x",
    "nohup make x y",
    "cd / && make x",
    "make\u{a0}x",
    "make x\u{2028}rm README.md",
    "make x\0rm README.md",
    "make x \\\n; rm README.md",
    "coproc rm README.md",
    "case a in a) rm README.md;; esac",
    "for f in *; do rm $f; done",
    "while rm README.md; do :; done",
    "make {x,y}",
    "make x*",
    "~/make x",
    "./make x",
];

#[tokio::test]
async fn no_line_slips_past_a_rule() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("Makefile", "x:\n\ttrue\n");
    stage.write("README.md", "hello\n");
    stage.commit();
    let id = stage.session(Policy::default()).await;
    let mut turn = stage.start(id, &[shell("make x")]).await;
    let asked = turn.until("approval_requested").await;
    stage.answer(&asked, json!({"action": "approve", "scope": "always"})).await;
    turn.finish().await;
    let fair = ["make x", "ls", "'make' \"x\"", "wc -l README.md", "find . -name x", "echo hi"];
    assert_eq!(asks(&stage, id, &fair).await, [false; 6], "else this shows nothing");
    let mut slipped = Vec::new();
    for lines in BYPASSES.chunks(40) {
        let asked = asks(&stage, id, lines).await;
        slipped.extend(lines.iter().zip(asked).filter(|(_, asked)| !asked).map(|(line, _)| *line));
    }
    assert!(slipped.is_empty(), "{slipped:#?}");
    assert_eq!(stage.read("README.md"), "hello\n");
}

/// Has a model run these lines one after the other, denies what asks, and says which did.
pub(crate) async fn asks(stage: &ScriptedDaemon, session: SessionId, lines: &[&str]) -> Vec<bool> {
    let steps: Vec<_> = lines.iter().map(|line| shell(line)).collect();
    let mut turn = stage.start(session, &steps).await;
    let (mut asked, mut any) = (Vec::new(), false);
    while asked.len() < lines.len() {
        let record = turn.next().await;
        match record["type"].as_str().unwrap() {
            "approval_requested" => {
                any = true;
                assert_eq!(stage.answer(&record, json!({"action": "deny"})).await.0, 200);
            }
            "tool_call_completed" => asked.push(std::mem::take(&mut any)),
            "turn_completed" | "turn_failed" | "turn_canceled" => panic!("after {}: {record}", asked.len()),
            _ => {}
        }
    }
    turn.finish().await;
    asked
}
