//! Command lines: what runs without asking, what a remembered answer covers, and what never does.

use ostler_types::{ApprovalPolicy, CommandPattern, Policy, Rule, ToolKind, create};
use serde_json::json;

use crate::session_driver::{self, call, new_session, shell, subject};

fn asks(policy: &ApprovalPolicy, line: &str) -> bool {
    session_driver::asks(policy, &shell("c", line), ToolKind::Exec, true)
}

fn rule(line: &str) -> Rule {
    let call = shell("c", line);
    Rule::for_call(&call, &subject(&call))
}

/// A policy that remembers the answer `session` to these lines.
fn remembering(lines: &[&str]) -> ApprovalPolicy {
    let rules = lines.iter().map(|line| rule(line)).collect();
    ApprovalPolicy { rules, ..ApprovalPolicy::default() }
}

#[test]
fn what_only_reads_runs_without_asking() {
    let policy = ApprovalPolicy::default();
    for line in ["ls -la", "cat a | grep x", "git status", "pwd && ls"] {
        assert!(!asks(&policy, line), "{line}");
    }
    for line in ["rm x", "ls; rm x", "ls $(rm x)", "ls > f", "cat a | sh", "make test"] {
        assert!(asks(&policy, line), "{line}");
    }
    assert!(asks(&ApprovalPolicy { safe_commands: false, ..policy.clone() }, "ls"));
    let strict = ApprovalPolicy { require_for_tools: vec!["shell".to_owned()], ..policy };
    assert!(asks(&strict, "ls"), "a tool that is named always asks");
    assert!(!asks(
        &ApprovalPolicy { require_for_tools: vec!["shell".to_owned()], ..remembering(&["ls"]) },
        "ls"
    ));
}

#[test]
fn an_answer_covers_its_commands_in_other_lines_and_no_other_commands() {
    let policy = remembering(&["cargo test", "make lint"]);
    for line in ["cargo test", "cargo test | tail -5", "make lint && cargo test", "cd . && ls; cargo test"] {
        assert!(!asks(&policy, line) || line.starts_with("cd"), "{line}");
    }
    for line in [
        "cargo test --release",
        "cargo test; rm x",
        "cargo test $(rm x)",
        "cargo test\nrm x",
        "X=1 cargo test",
        "cargo test > Makefile",
        "cargo",
        "cargo test && make",
        "sh -c 'cargo test; rm x'",
    ] {
        assert!(asks(&policy, line), "{line}");
    }
}

#[test]
fn another_directory_is_another_question() {
    let policy = remembering(&["cargo test"]);
    let elsewhere = call("c", "shell", json!({"command": "cargo test", "cwd": "other"}));
    assert!(session_driver::asks(&policy, &elsewhere, ToolKind::Exec, true));
    let reads = call("c", "shell", json!({"command": "ls", "background": true}));
    assert!(session_driver::asks(&policy, &reads, ToolKind::Exec, true), "what stays behind is asked about");
}

#[test]
fn a_line_that_cannot_be_read_is_remembered_as_it_stands() {
    let line = "for f in *; do rm \"$f\"; done";
    let rule = rule(line);
    assert!(rule.commands.is_empty());
    let policy = remembering(&[line]);
    assert!(!asks(&policy, line));
    assert!(asks(&policy, &format!("{line}; rm y")));
}

#[test]
fn a_rule_that_allows_anything_is_refused() {
    let pattern = |argv: &[&str]| CommandPattern {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        open: true,
    };
    let with = |pattern| {
        let mut policy = Policy::default();
        let rule = Rule { commands: vec![pattern], ..rule("x") };
        policy.approval.rules.push(rule);
        create(ostler_types::NewSession { policy, ..new_session() })
    };
    for argv in [&["bash"][..], &["python3"], &["env"], &["sudo"], &[]] {
        assert_eq!(with(pattern(argv)).unwrap_err().code, "bad_rule", "{argv:?}");
    }
    assert!(with(pattern(&["cargo", "test"])).is_ok());
}

#[test]
fn git_only_counts_as_reading_where_the_workspace_is_trusted() {
    let policy = ApprovalPolicy::default();
    let status = shell("c", "git status | head");
    assert!(!session_driver::asks(&policy, &status, ToolKind::Exec, true));
    assert!(session_driver::asks(&policy, &status, ToolKind::Exec, false));
    assert!(!session_driver::asks(&policy, &shell("c", "ls | head"), ToolKind::Exec, false));
    assert!(!session_driver::asks(&remembering(&["git status | head"]), &status, ToolKind::Exec, false));
}
