//! Which conversations may be sent, and what is said of those that may not.

use std::sync::Arc;

use ostler_context::{ViolationKind, validate};
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
    let cases: Vec<(Vec<Arc<Message>>, usize, ViolationKind)> = vec![
        (vec![message(1, Role::Assistant, text())], 0, ViolationKind::BadBeginning),
        (vec![message(1, Role::Tool, vec![result("a", "x")])], 0, ViolationKind::BadBeginning),
        (vec![message(1, Role::User, vec![])], 0, ViolationKind::Empty),
        (vec![message(1, Role::User, vec![Part::text(" \n")])], 0, ViolationKind::Empty),
        (vec![begin(), begin()], 1, ViolationKind::RepeatedMessageId),
        (vec![begin(), calls()], 2, ViolationKind::MissingResult(call_id("a"))),
        (
            vec![begin(), calls(), message(4, Role::User, text())],
            2,
            ViolationKind::MissingResult(call_id("a")),
        ),
        (
            vec![begin(), calls(), answer(), message(4, Role::Tool, vec![result("a", "x")])],
            3,
            ViolationKind::RepeatedResult(call_id("a")),
        ),
        (
            vec![begin(), message(2, Role::Tool, vec![result("a", "x")])],
            1,
            ViolationKind::StrayResult(call_id("a")),
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
            ViolationKind::StrayResult(call_id("a")),
        ),
        (
            vec![begin(), calls(), answer(), message(4, Role::Assistant, vec![call("a")])],
            3,
            ViolationKind::RepeatedCallId(call_id("a")),
        ),
        (vec![begin(), message(2, Role::User, vec![call("a")])], 1, ViolationKind::MisplacedPart("user")),
        (vec![begin(), calls(), message(3, Role::Tool, text())], 2, ViolationKind::MisplacedPart("tool")),
    ];
    for (messages, index, kind) in cases {
        let violation = validate(&messages).unwrap_err();
        assert_eq!((violation.index, &violation.kind), (index, &kind), "{violation}");
    }
}
