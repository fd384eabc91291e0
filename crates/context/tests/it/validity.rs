//! Which conversations may be sent, and what is said of those that may not.

use std::sync::Arc;

use ostler_context::{ConversationViolationKind, validate};
use ostler_types::{Message, Part, Role};

use crate::conversations::{call, call_id, message, result};

fn text() -> Vec<Part> {
    vec![Part::text("x")]
}

#[test]
fn ordinary_conversations_pass() {
    for messages in [
        vec![],
        vec![message(1, Role::System, text()), message(2, Role::User, text())],
        vec![
            message(1, Role::User, text()),
            message(2, Role::Assistant, vec![call("a"), call("b")]),
            message(3, Role::Tool, vec![result("b", "")]),
            message(4, Role::Tool, vec![result("a", "")]),
            message(5, Role::Assistant, text()),
            message(6, Role::System, text()),
            message(7, Role::User, text()),
        ],
        vec![
            message(1, Role::User, text()),
            message(2, Role::Assistant, vec![call("a"), call("b")]),
            message(3, Role::Tool, vec![result("a", "x"), result("b", "y")]),
        ],
    ] {
        assert_eq!(validate(&messages), Ok(()));
    }
}

#[test]
fn each_fault_is_found_where_it_is() {
    let begin = || message(1, Role::User, text());
    let calls = || message(2, Role::Assistant, vec![call("a")]);
    let answer = || message(3, Role::Tool, vec![result("a", "x")]);
    let cases: Vec<(Vec<Arc<Message>>, usize, ConversationViolationKind)> = vec![
        (vec![message(1, Role::Assistant, text())], 0, ConversationViolationKind::BadBeginning),
        (vec![message(1, Role::Tool, vec![result("a", "x")])], 0, ConversationViolationKind::BadBeginning),
        (vec![message(1, Role::User, vec![])], 0, ConversationViolationKind::Empty),
        (vec![message(1, Role::User, vec![Part::text(" \n")])], 0, ConversationViolationKind::Empty),
        (vec![begin(), begin()], 1, ConversationViolationKind::RepeatedMessageId),
        (vec![begin(), calls()], 2, ConversationViolationKind::MissingResult(call_id("a"))),
        (
            vec![begin(), calls(), message(4, Role::User, text())],
            2,
            ConversationViolationKind::MissingResult(call_id("a")),
        ),
        (
            vec![begin(), calls(), answer(), message(4, Role::Tool, vec![result("a", "x")])],
            3,
            ConversationViolationKind::RepeatedResult(call_id("a")),
        ),
        (
            vec![begin(), message(2, Role::Tool, vec![result("a", "x")])],
            1,
            ConversationViolationKind::StrayResult(call_id("a")),
        ),
        (
            vec![
                begin(),
                calls(),
                answer(),
                message(4, Role::User, text()),
                message(5, Role::Tool, vec![result("a", "x")]),
            ],
            4,
            ConversationViolationKind::StrayResult(call_id("a")),
        ),
        (
            vec![begin(), calls(), answer(), message(4, Role::Assistant, vec![call("a")])],
            3,
            ConversationViolationKind::RepeatedCallId(call_id("a")),
        ),
        (
            vec![begin(), message(2, Role::User, vec![call("a")])],
            1,
            ConversationViolationKind::MisplacedPart("user"),
        ),
        (
            vec![begin(), calls(), message(3, Role::Tool, text())],
            2,
            ConversationViolationKind::MisplacedPart("tool"),
        ),
    ];
    for (messages, index, kind) in cases {
        let violation = validate(&messages).unwrap_err();
        assert_eq!((violation.index, &violation.kind), (index, &kind), "{violation}");
    }
}
