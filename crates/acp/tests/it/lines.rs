//! Lines, both ways.

use agent_client_protocol::v1::schema::{Error, RequestId};
use ostler_acp::{
    AcpIncoming, error_line, notification_line, parse, request_line, result_line, to_plain_line,
};
use serde_json::{Value, json};

#[test]
fn messages_are_told_apart() {
    let request = parse(r#"{"jsonrpc":"2.0","id":"a","method":"x","params":{"y":1}}"#).unwrap();
    let (id, method) = (RequestId::Str("a".to_owned()), "x".to_owned());
    assert_eq!(request, AcpIncoming::Request { id, method, params: json!({"y": 1}) });
    let told = parse(r#"{"method":"x"}"#).unwrap();
    assert_eq!(told, AcpIncoming::Notification { method: "x".to_owned(), params: Value::Null });
    let answer = |line: &str| match parse(line).unwrap() {
        AcpIncoming::Answer { id: RequestId::Number(7), outcome } => outcome,
        other => panic!("{other:?}"),
    };
    assert_eq!(answer(r#"{"id":7,"result":null}"#), Ok(Value::Null));
    assert_eq!(answer(r#"{"id":7,"error":{"code":-32000,"message":"m"}}"#).unwrap_err().message, "m");
    assert!(answer(r#"{"id":7,"error":"what","result":{}}"#).is_err());
}

#[test]
fn what_is_no_message_is_answered_only_where_it_may_be() {
    for line in [
        "{",
        "[]",
        "null",
        "1",
        "{}",
        r#"{"method":1}"#,
        r#"{"id":{},"method":"x"}"#,
        r#"{"id":1,"method":2}"#,
    ] {
        assert!(parse(line).unwrap_err().id.is_some(), "{line}");
    }
    for line in [r#"{"id":1}"#, r#"{"id":1.5,"result":1}"#] {
        assert_eq!(parse(line).unwrap_err().id, None, "an answer must not be answered: {line}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let line = request_line(3, "m", &json!({"text": "a\nb"})).unwrap();
    assert!(!line.contains('\n'));
    assert!(matches!(parse(&line).unwrap(), AcpIncoming::Request { id: RequestId::Number(3), .. }));
    let line = notification_line("m", &json!({})).unwrap();
    assert!(matches!(parse(&line).unwrap(), AcpIncoming::Notification { .. }));
    let line = result_line(&RequestId::Number(4), &json!({})).unwrap();
    assert!(matches!(parse(&line).unwrap(), AcpIncoming::Answer { outcome: Ok(_), .. }));
    let line = error_line(&RequestId::Null, &Error::method_not_found());
    assert!(matches!(parse(&line).unwrap(), AcpIncoming::Answer { outcome: Err(_), .. }));
}

#[test]
fn nothing_hides_in_a_line() {
    let table = [
        ("plain", "plain"),
        ("two\nlines\ttab", "two⏎lines tab"),
        ("\u{1b}[31mred", "\\u{1b}[31mred"),
        ("a\u{202e}b", "a\\u{202e}b"),
        ("abcdefgh", "abcdefgh"),
        ("abcdefghijklmnopqrstuvwxyz0", "abcdefghijklmnopqrstuvwxyz…"),
    ];
    for (text, shown) in table {
        assert_eq!(to_plain_line(text, 26), shown);
    }
}
