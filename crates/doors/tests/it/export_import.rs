//! Exports that can be opened again, imports of them, and files that are none.

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;
use crate::raw_http::RawResponse;

/// What a page must never run, in whatever a session holds.
const XSS: [&str; 12] = [
    "<script>alert(1)</script>",
    "</pre><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "[x](javascript:alert(1))",
    "<a href=\"javascript:alert(1)\">x</a>",
    "![x](https://evil.example/x.png)",
    "<iframe src=\"https://evil.example\"></iframe>",
    "--><script>alert(1)</script><!--",
    "</title><script>alert(1)</script>",
    "\"'><body onload=alert(1)>",
    "<style>@import url(https://evil.example)</style>",
];

async fn export(daemon: &DoorTestDaemon, session: &str, format: &str) -> RawResponse {
    let answer = daemon.get(&format!("/v1/sessions/{session}/export?format={format}")).await;
    assert_eq!(answer.status(), 200, "{format}: {}", String::from_utf8_lossy(&answer.body));
    answer
}

async fn import(daemon: &DoorTestDaemon, query: &str, body: &[u8]) -> RawResponse {
    let request = daemon.request("POST", &format!("/v1/sessions/import{query}"));
    daemon.send(&request.set("content-type", "application/octet-stream").body(body)).await
}

/// A session with a conversation and an attachment.
async fn session(daemon: &DoorTestDaemon, texts: &[&str]) -> String {
    let session = daemon.session().await;
    let attachment = json!({"name": "note.txt", "data": "aGVsbG8="});
    daemon.post(&format!("/v1/sessions/{session}/attachments"), &attachment).await;
    for text in texts {
        let (_, turn) = daemon.say(&session, text).await;
        daemon.until_over(&session, &turn).await;
    }
    session
}

async fn messages(daemon: &DoorTestDaemon, session: &str) -> Value {
    daemon.get(&format!("/v1/sessions/{session}/messages?limit=200")).await.json()["messages"].clone()
}

#[tokio::test]
async fn every_format_is_a_download_with_a_plain_name() {
    let daemon = DoorTestDaemon::start().await;
    let session = session(&daemon, &["hello"]).await;
    for (format, ending, kind) in [
        ("ndjson", "ndjson", "application/x-ndjson"),
        ("md", "md", "text/markdown; charset=utf-8"),
        ("html", "html", "text/html; charset=utf-8"),
        ("sqlite", "db", "application/vnd.sqlite3"),
        ("zip", "zip", "application/zip"),
    ] {
        let answer = export(&daemon, &session, format).await;
        let name = format!("attachment; filename=\"{session}.{ending}\"");
        assert_eq!(answer.head.header("content-disposition"), Some(name.as_str()));
        assert_eq!(answer.head.header("content-type"), Some(kind));
        match format {
            "ndjson" => assert_eq!(answer.text().lines().collect::<Vec<_>>(), daemon.log(&session)),
            "md" => assert!(answer.text().contains("You said: hello")),
            "html" => assert!(answer.text().contains("You said: hello")),
            "sqlite" => assert!(answer.body.starts_with(b"SQLite format 3\0")),
            _ => assert!(answer.body.starts_with(b"PK")),
        }
    }
    let path = |end: &str| format!("/v1/sessions/{session}/export{end}");
    for bad in ["?format=", "?format=pdf", "?format=md&format=md", "?format=md&x=1"] {
        let answer = daemon.get(&path(bad)).await;
        assert_eq!((answer.status(), answer.code()), (400, "bad_query".to_owned()), "{bad}");
    }
    let unknown = "/v1/sessions/sess_0190f3c4a5b67c8d9e0f112233445566/export?format=md";
    assert_eq!(daemon.get(unknown).await.code(), "session_not_found");
    // Nothing is left lying about.
    let left = std::fs::read_dir(daemon.data().join("scratch")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_page_runs_and_fetches_nothing_of_what_was_said() {
    let daemon = DoorTestDaemon::start().await;
    let session = session(&daemon, &XSS).await;
    let title = json!({"title": XSS[9]});
    daemon.send(&daemon.request("PATCH", &format!("/v1/sessions/{session}")).json(&title)).await;
    let page = export(&daemon, &session, "html").await;
    let text = page.text().to_lowercase();
    for tag in [
        "<script",
        "<iframe",
        "<svg",
        "onerror=alert(1)>",
        "<body onload",
        "<a href=\"javascript",
        "<img src=x",
    ] {
        assert!(!text.contains(tag), "{tag} is in the page");
    }
    assert_eq!(text.matches("<style").count(), 1, "a style of the conversation is in the page");
    for reference in ["src=\"http", "href=\"http", "url(http"] {
        for (at, _) in text.match_indices(reference) {
            let around = &text[at.saturating_sub(20)..(at + 60).min(text.len())];
            assert!(!around.contains("src="), "something is fetched: {around}");
        }
    }
    assert!(text.contains("content-security-policy") && text.contains("default-src 'none'"));
    let policy = page.head.header("content-security-policy").unwrap();
    assert!(policy.starts_with("sandbox"), "{policy}");
    daemon.stop().await;
}

#[tokio::test]
async fn an_import_equals_the_export() {
    let daemon = DoorTestDaemon::start().await;
    let session = session(&daemon, &["hello", "ask nobody", XSS[0]]).await;
    for format in ["zip", "ndjson"] {
        let exported = export(&daemon, &session, format).await;
        for query in ["", &format!("?format={format}")] {
            let spent = daemon.get("/v1/usage?by=total").await.json()["total"].clone();
            assert!(spent["steps"].as_u64() > Some(0), "{spent}");
            let imported = import(&daemon, query, &exported.body).await;
            assert_eq!(imported.status(), 201, "{}", imported.text());
            let id = imported.json()["session_id"].as_str().unwrap().to_owned();
            assert_ne!(id, session);
            assert_eq!(messages(&daemon, &id).await, messages(&daemon, &session).await);
            let again = export(&daemon, &id, "ndjson").await;
            let paid = |line: &&String| line.contains(r#""type":"usage_recorded""#);
            let theirs = daemon.log(&session).iter().filter(|line| !paid(line)).count();
            assert_eq!(again.text().lines().count(), theirs + 1, "only its adoption is new");
            let total = daemon.get("/v1/usage?by=total").await.json()["total"].clone();
            assert_eq!(total, spent, "what was paid for once is counted once");
            let view = daemon.get(&format!("/v1/sessions/{id}")).await.json();
            let original = daemon.get(&format!("/v1/sessions/{session}")).await.json();
            for field in ["workspace_path", "model", "title", "usage", "turns", "created_at", "status"] {
                assert_eq!(view[field], original[field], "{field}");
            }
            let file = daemon.get(&format!("/v1/sessions/{id}/attachments/note.txt")).await;
            assert_eq!(file.status() == 200, format == "zip");
            // It goes on.
            let (_, turn) = daemon.say(&id, "and on").await;
            daemon.until_over(&id, &turn).await;
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn nothing_of_an_imported_session_runs_by_itself() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "wait").await;
    daemon.until(&session, "model_output_delta").await;
    daemon.say(&session, "queued").await;
    let exported = export(&daemon, &session, "ndjson").await;
    let id = import(&daemon, "", &exported.body).await.json()["session_id"].as_str().unwrap().to_owned();
    let view = daemon.get(&format!("/v1/sessions/{id}")).await.json();
    assert_eq!((&view["running_turn_id"], &view["queue"]), (&Value::Null, &json!([])), "{view}");
    assert_eq!(view["status"], "canceled");
    daemon.stop().await;
}

#[tokio::test]
async fn a_transcript_becomes_a_session() {
    let daemon = DoorTestDaemon::start().await;
    let transcript = "{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1700000000000}\n\
                      {\"role\":\"assistant\",\"content\":\"hello\",\"timestamp\":1700000001000,\"runId\":\"r\"}\n";
    let answer = import(&daemon, "", transcript.as_bytes()).await;
    assert_eq!((answer.status(), answer.code()), (422, "bad_workspace".to_owned()), "it does not say where");
    let query = format!("?workspace_path={}", daemon.workspace());
    let answer = import(&daemon, &query, transcript.as_bytes()).await;
    assert_eq!(answer.status(), 201, "{}", answer.text());
    let id = answer.json()["session_id"].as_str().unwrap().to_owned();
    let said = messages(&daemon, &id).await;
    assert_eq!((&said[0]["role"], &said[1]["parts"][0]["text"]), (&json!("user"), &json!("hello")), "{said}");
    let (_, turn) = daemon.say(&id, "go on").await;
    daemon.until_over(&id, &turn).await;
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_no_session_is_refused_and_leaves_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let session = session(&daemon, &["hello"]).await;
    let lines = export(&daemon, &session, "ndjson").await.text().to_owned();
    let zip = export(&daemon, &session, "zip").await.body;
    let before = daemon.recorded();
    let half = &lines.as_bytes()[..lines.len() / 2];
    let swapped = {
        let mut swapped: Vec<&str> = lines.lines().collect();
        swapped.swap(1, 2);
        swapped.join("\n")
    };
    let altered = lines.replace("You said: hello", "You said: other");
    for (what, body) in [
        ("nothing", b"".as_slice()),
        ("noise", b"\xff\xfe\0\0"),
        ("a number", b"5\n"),
        ("half a file", half),
        ("lines in another order", swapped.as_bytes()),
        ("another text", altered.as_bytes()),
        ("half an archive", &zip[..zip.len() / 2]),
        ("an empty archive", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    ] {
        let answer = import(&daemon, "", body).await;
        assert_eq!(
            (answer.status(), answer.code()),
            (422, "bad_import".to_owned()),
            "{what}: {}",
            answer.text()
        );
    }
    let elsewhere = lines.replace(&daemon.workspace(), "/no/such/place");
    assert_eq!(import(&daemon, "?format=zip", elsewhere.as_bytes()).await.code(), "bad_import");
    for kind in ["application/json", "text/plain", "multipart/form-data; boundary=x"] {
        let request =
            daemon.request("POST", "/v1/sessions/import").set("content-type", kind).body(lines.as_bytes());
        assert_eq!(daemon.send(&request).await.code(), "unsupported_media_type");
    }
    let huge = daemon.request("POST", "/v1/sessions/import").set("content-type", "application/zip");
    let huge = huge.body(b"").set("content-length", &(300u64 << 20).to_string());
    assert_eq!(daemon.send(&huge).await.status(), 413);
    assert_eq!(import(&daemon, "?workspace_path=relative", lines.as_bytes()).await.code(), "bad_workspace");
    assert_eq!(import(&daemon, "?format=tar", lines.as_bytes()).await.code(), "bad_query");
    assert_eq!(daemon.recorded(), before);
    assert_eq!(std::fs::read_dir(daemon.data().join("scratch")).map_or(0, Iterator::count), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn an_archive_has_no_more_attachments_than_a_session_may() {
    let daemon = DoorTestDaemon::start().await;
    let session = session(&daemon, &["hello"]).await;
    let folder = daemon.data().join("sessions").join(&session).join("attachments");
    for number in 1..200 {
        std::fs::write(folder.join(format!("file-{number}")), "x").unwrap();
    }
    let full = export(&daemon, &session, "zip").await.body;
    assert_eq!(import(&daemon, "", &full).await.status(), 201);
    std::fs::write(folder.join("file-200"), "x").unwrap();
    let beyond = export(&daemon, &session, "zip").await.body;
    let before = daemon.recorded();
    let answer = import(&daemon, "", &beyond).await;
    assert_eq!(
        (answer.status(), answer.code()),
        (429, "too_many_attachments".to_owned()),
        "{}",
        answer.text()
    );
    assert_eq!(daemon.recorded(), before);
    daemon.stop().await;
}

/// A client that hangs up in the middle frees its place.
#[tokio::test]
async fn exports_that_nobody_takes_do_not_hold_up_others() {
    let daemon = DoorTestDaemon::start().await;
    let session = session(&daemon, &["hello"]).await;
    let target = format!("/v1/sessions/{session}/export?format=zip");
    for _ in 0..40 {
        let mut connection = daemon.connect().await;
        connection.send(&daemon.request("GET", &target).bytes()).await;
        connection.head().await;
    }
    let request = daemon.request("GET", &target);
    while daemon.send(&request).await.status() != 200 {
        tokio::task::yield_now().await;
    }
    daemon.stop().await;
}
