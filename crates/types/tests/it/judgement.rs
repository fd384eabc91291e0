//! What becomes of a call by the policy of its session, the rules beside it, and what its workspace says.

use ostler_types::{ApprovalPolicy, JudgedCall, Judgement, PolicyContext, Rule, ToolCall, ToolKind};
use serde_json::json;

use crate::session_driver::{call, shell, subject};

fn judge(policy: &ApprovalPolicy, call: &ToolCall, kind: ToolKind, standing: &PolicyContext) -> Judgement {
    policy.judge(&JudgedCall { call, kind, subject: &subject(call), trusted: true }, standing)
}

fn rule(call: &ToolCall) -> Rule {
    Rule::for_call(call, &subject(call))
}

fn asks() -> Judgement {
    Judgement::Asks { because: None }
}

fn asks_for_the_workspace(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Asks { because: Some(because) } if because.contains("workspace"))
}

#[test]
fn a_workspace_has_more_asked_about_and_its_rules_yield_to_what_the_policy_names() {
    let read = call("c", "read_file", json!({"path": "a"}));
    let make = shell("c", "make");
    let own = ApprovalPolicy {
        require_for_kinds: vec![ToolKind::Read],
        rules: vec![rule(&make)],
        ..ApprovalPolicy::default()
    };
    let standing = PolicyContext { workspace: Some(own.clone()), ..PolicyContext::default() };
    let policy = ApprovalPolicy::default();
    assert!(asks_for_the_workspace(&judge(&policy, &read, ToolKind::Read, &standing)));
    assert_eq!(judge(&policy, &make, ToolKind::Exec, &standing), Judgement::AllowedByRule);
    let elsewhere = PolicyContext {
        workspace: Some(ApprovalPolicy { rules: Vec::new(), ..own.clone() }),
        ..PolicyContext::default()
    };
    assert_eq!(judge(&policy, &make, ToolKind::Exec, &elsewhere), asks(), "the policy asks");
    let answered = ApprovalPolicy { rules: vec![rule(&read)], ..ApprovalPolicy::default() };
    assert_eq!(
        judge(&answered, &read, ToolKind::Read, &standing),
        Judgement::Unasked,
        "it was answered before"
    );
    let named = ApprovalPolicy { require_for_tools: vec!["shell".to_owned()], ..ApprovalPolicy::default() };
    assert_eq!(judge(&named, &make, ToolKind::Exec, &standing), asks());
    let list = shell("c", "ls");
    assert_eq!(judge(&policy, &list, ToolKind::Exec, &standing), Judgement::Unasked);
    let own = ApprovalPolicy { safe_commands: false, ..own };
    let standing = PolicyContext { workspace: Some(own), ..PolicyContext::default() };
    assert!(asks_for_the_workspace(&judge(&policy, &list, ToolKind::Exec, &standing)));
}

#[test]
fn rules_beside_the_policy_cover_the_commands_of_a_line_together_with_its_own() {
    let (policy, line) = (
        ApprovalPolicy { rules: vec![rule(&shell("c", "cargo test"))], ..ApprovalPolicy::default() },
        shell("c", "make && cargo test | head"),
    );
    assert_eq!(judge(&policy, &line, ToolKind::Exec, &PolicyContext::default()), asks());
    let standing = PolicyContext { rules: vec![rule(&shell("c", "make"))], ..PolicyContext::default() };
    assert_eq!(judge(&policy, &line, ToolKind::Exec, &standing), Judgement::AllowedByRule);
    assert_eq!(judge(&policy, &shell("c", "make; rm x"), ToolKind::Exec, &standing), asks());
}
