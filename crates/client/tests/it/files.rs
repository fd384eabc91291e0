//! Files on the wire: how they are attached, what part they become, and how they are asked for.

use ostler_api_types::{AttachmentReference, InputPart, StoredFile};
use ostler_client::ClientError;
use ostler_types::{SessionId, TurnId};

use crate::canned_server::{CannedServer, json};

const SESSION: &str = "sess_0190f3c4a5b67c8d9e0f112233445566";
const TURN: &str = "turn_0190f3c4a5b67c8d9e0f112233445577";

fn session() -> SessionId {
    SESSION.parse().unwrap()
}

#[tokio::test]
async fn a_file_is_attached_in_base64_under_its_own_name() {
    let stored = r#"{"ref":"attachments/a-2.png","name":"a-2.png","mime_type":"image/png","size":4,"new":1}"#;
    let server = CannedServer::tcp(vec![json("201 Created", stored)]).await;
    let file = server.client(None).await.attach(session(), "a\"ü.png", b"\x89PNG").await.unwrap();
    let part = file.into_part();
    let attached = AttachmentReference {
        reference: "attachments/a-2.png".to_owned(),
        mime_type: Some("image/png".to_owned()),
    };
    assert_eq!(part, InputPart::Image(attached));
    let requests = server.requests().await;
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with(&format!("POST /v1/sessions/{SESSION}/attachments HTTP/1.1\r\n")), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(body, r#"{"name":"a\"ü.png","data":"iVBORw=="}"#);
}

#[test]
fn a_part_is_of_the_kind_that_the_daemon_tells() {
    for (mime_type, kind) in [
        ("image/webp", "image"),
        ("audio/wav", "audio"),
        ("application/pdf", "file"),
        ("text/plain", "file"),
        ("", "file"),
    ] {
        let (reference, mime_type) = ("attachments/x".to_owned(), mime_type.to_owned());
        let file = StoredFile { reference, name: "x".to_owned(), mime_type, size: 1 };
        assert_eq!(serde_json::to_value(file.into_part()).unwrap()["type"], kind);
    }
}

#[tokio::test]
async fn files_are_listed_and_read_by_their_names() {
    let turn: TurnId = TURN.parse().unwrap();
    let list =
        r#"{"files":[{"ref":"attachments/x","name":"x","mime_type":"text/plain","size":2}],"more":true}"#;
    let bytes = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 3\r\n\r\n\0\xff\n".to_vec();
    let missing =
        json("404 Not Found", r#"{"error":{"code":"artifact_not_found","message":"no","hint":null}}"#);
    let server =
        CannedServer::tcp(vec![json("200 OK", list), bytes.clone(), json("200 OK", list), bytes, missing])
            .await;
    let client = server.client(None).await;
    let listed = client.attachments(session()).await.unwrap();
    assert_eq!((listed.files[0].size, listed.more), (2, true));
    assert_eq!(&client.attachment(session(), "ü 1/2%.png").await.unwrap()[..], b"\0\xff\n");
    assert_eq!(client.artifacts(session(), turn).await.unwrap(), listed);
    assert_eq!(client.artifact(session(), turn, "out.txt").await.unwrap().len(), 3);
    let error = client.artifact(session(), turn, "..").await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { status: 404, .. }), "{error}");
    let requests = server.requests().await;
    let lines: Vec<&str> = requests.iter().map(|request| request.lines().next().unwrap()).collect();
    let base = format!("GET /v1/sessions/{SESSION}");
    assert_eq!(
        lines,
        [
            format!("{base}/attachments HTTP/1.1"),
            format!("{base}/attachments/%C3%BC%201%2F2%25.png HTTP/1.1"),
            format!("{base}/artifacts/{TURN} HTTP/1.1"),
            format!("{base}/artifacts/{TURN}/out.txt HTTP/1.1"),
            format!("{base}/artifacts/{TURN}/.. HTTP/1.1"),
        ]
    );
}
