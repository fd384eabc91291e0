//! How failures are told apart, and how they read.

use ostler_client::{Client, ClientError, DaemonEndpoint};
use ostler_types::SessionId;

use crate::canned_server::{CannedServer, json};

fn session_id() -> SessionId {
    "sess_0190f3c4a5b67c8d9e0f112233445566".parse().unwrap()
}

async fn error_of(answer: Vec<u8>) -> ClientError {
    let server = CannedServer::tcp(vec![answer]).await;
    server.client(None).await.session(session_id()).await.unwrap_err()
}

#[tokio::test]
async fn a_refusal_keeps_status_code_message_and_hint() {
    let body = r#"{"error":{"code":"session_not_found","message":"no session is called that","hint":"list them with `ostler sessions list`"}}"#;
    let error = error_of(json("404 Not Found", body)).await;
    assert_eq!(
        error,
        ClientError::Refused {
            status: 404,
            code: "session_not_found".to_owned(),
            message: "no session is called that".to_owned(),
            hint: Some("list them with `ostler sessions list`".to_owned()),
        }
    );
    assert_eq!(error.to_string(), "no session is called that; `ostler sessions` lists all sessions");
}

#[tokio::test]
async fn a_route_in_a_hint_never_reaches_a_person() {
    for (code, hint, text) in [
        (
            "not_waiting",
            "GET /v1/approvals lists those that do",
            "no; `ostler approve` lists pending approvals",
        ),
        ("not_found", "/openapi.json lists what there is", "no"),
        ("other", "PATCH the session first", "no"),
        ("disk_full", "free some space", "no; free some space"),
    ] {
        let body = format!(r#"{{"error":{{"code":"{code}","message":"no","hint":"{hint}"}}}}"#);
        assert_eq!(error_of(json("409 Conflict", &body)).await.to_string(), text);
    }
}

#[tokio::test]
async fn a_refusal_cannot_drive_the_terminal() {
    let body = r#"{"error":{"code":"x","message":"a\u001b[2Jb\u009bc","hint":null}}"#;
    assert_eq!(error_of(json("400 Bad Request", body)).await.to_string(), "a [2Jb c");
    let foreign = error_of(json("502 Bad Gateway", "\u{1b}]0;title\u{7}<html>")).await.to_string();
    assert_eq!(foreign, "the daemon answered 502 Bad Gateway: ]0;title <html>");
}

#[tokio::test]
async fn an_answer_of_another_shape_is_a_protocol_error() {
    let error = error_of(json("200 OK", r#"{"id":5}"#)).await;
    assert!(
        matches!(&error, ClientError::Protocol(text) if text.contains("GET /v1/sessions/sess_")),
        "{error}"
    );
}

#[tokio::test]
async fn a_daemon_that_is_not_there_is_unreachable_and_the_text_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("absent");
    let error = Client::connect(DaemonEndpoint::Unix(path.clone()), None).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()) && text.contains("ostler serve"), "{text}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_unreachable() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{".to_vec();
    let error = error_of(cut).await;
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_token_that_no_header_can_carry_is_refused_without_being_shown() {
    let server = CannedServer::tcp(vec![]).await;
    let error = Client::connect(server.endpoint, Some("abc\ndef".to_owned())).await.unwrap_err();
    assert!(matches!(&error, ClientError::Protocol(text) if !text.contains("abc")), "{error}");
}
