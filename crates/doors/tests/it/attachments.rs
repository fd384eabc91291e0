//! Attaching files: names, types and limits, in both forms, with clients that mean no good.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_testing::disk::{FaultDisk, FaultPlan};
use serde_json::{Value, json};

use crate::daemon::{DoorTestDaemon, exists};
use crate::raw_http::{RawRequest, RawResponse};

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const MEBIBYTE: usize = 1 << 20;
const LIMIT: usize = 25 * MEBIBYTE;

/// Bytes as base64, by hand: a test that used the daemon's own coder would share its mistakes.
fn base64(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let word = a << 16 | b << 8 | c;
        for at in 0..4 {
            let letter = letters[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

fn target(session: &str) -> String {
    format!("/v1/sessions/{session}/attachments")
}

/// A form with one file in it.
pub(crate) fn form(
    daemon: &DoorTestDaemon,
    session: &str,
    name: &str,
    claimed: &str,
    content: &[u8],
) -> RawRequest {
    let head = format!(
        "--b0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {claimed}\r\n\r\n"
    );
    let body = [head.as_bytes(), content, b"\r\n--b0--\r\n"].concat();
    let request = daemon.request("POST", &target(session));
    request.set("content-type", "multipart/form-data; boundary=b0").body(&body)
}

/// Attaches a file by a form.
pub(crate) async fn attach(daemon: &DoorTestDaemon, session: &str, name: &str, content: &[u8]) -> Value {
    let answer = daemon.send(&form(daemon, session, name, "image/png", content)).await;
    assert_eq!(answer.status(), 201, "{name}: {}", answer.text());
    answer.json()
}

fn error(answer: &RawResponse) -> (u16, String) {
    (answer.status(), answer.code())
}

/// The names in the attachments' folder, hidden ones too.
fn on_disk(daemon: &DoorTestDaemon, session: &str) -> Vec<String> {
    let folder = daemon.data().join("sessions").join(session).join("attachments");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_comes_in_by_either_form_and_its_bytes_say_what_it_is() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let before = daemon.recorded();
    let html = b"<!doctype html><script>alert(1)</script>".as_slice();
    for (name, claimed, content, kind) in [
        ("a.png", "text/html", PNG, "image/png"),
        ("b.png", "image/png", html, "text/plain"),
        ("c.svg", "image/svg+xml", b"<svg onload='alert(1)'/>", "text/plain"),
        ("d.gif", "image/gif", b"GIF89a/*<script>*/", "image/gif"),
        ("e.json", "application/octet-stream", b"{}", "application/json"),
        ("f", "", b"\0\x01\x02", "application/octet-stream"),
        ("g.txt", "text/plain", b"", "text/plain"),
    ] {
        let stored = daemon.send(&form(&daemon, &session, name, claimed, content)).await;
        let expected = json!({"ref": format!("attachments/{name}"), "name": name, "mime_type": kind, "size": content.len()});
        assert_eq!((stored.status(), stored.json()), (201, expected), "{name}");
        let body = json!({"name": format!("json-{name}"), "data": base64(content), "mime_type": claimed});
        let stored = daemon.post(&target(&session), &body).await.json();
        assert_eq!((&stored["mime_type"], &stored["size"]), (&json!(kind), &json!(content.len())), "{name}");
        let file = daemon.data().join("sessions").join(&session).join(stored["ref"].as_str().unwrap());
        assert_eq!(std::fs::read(file).unwrap(), content);
    }
    for field in ["data", "content_base64"] {
        let body = json!({"name": "unpadded", field: "aGVsbG8"});
        assert_eq!(daemon.post(&target(&session), &body).await.json()["size"], 5, "{field}");
    }
    assert_eq!(daemon.recorded(), before, "a file is no event");
}

#[tokio::test]
async fn hostile_names_stay_in_the_folder() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    for (name, kept) in [
        ("../../../token", "token"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("..", "file"),
        ("", "file-2"),
        (".htaccess", "htaccess"),
        (".part-0", "part-0"),
        ("events.ndjson", "events.ndjson"),
        ("nul\0byte\n.txt", "nulbyte.txt"),
        ("exe\u{202e}gnp.js", "exegnp.js"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("Grüße 文件 🙂.txt", "Grüße 文件 🙂.txt"),
        ("%2e%2e%2fx", "%2e%2e%2fx"),
    ] {
        let answer = daemon.post(&target(&session), &json!({"name": name, "data": "eA=="})).await;
        assert_eq!(answer.json()["name"], kept, "{name:?}");
        assert_eq!(answer.json()["ref"], format!("attachments/{kept}"));
    }
    let long = "ü".repeat(500) + ".png";
    let stored = daemon.post(&target(&session), &json!({"name": long, "data": "eA=="})).await.json();
    let name = stored["name"].as_str().unwrap();
    assert!(name.len() <= 100 && name.ends_with("ü.png"), "{name}");
    assert_eq!(on_disk(&daemon, &session).len(), 14);
    assert_eq!(daemon.token().len(), std::fs::read(daemon.data().join("token")).unwrap().trim_ascii().len());
    assert!(daemon.log(&session)[0].contains("session_created"));
}

#[tokio::test]
async fn files_of_one_name_never_take_each_others_place() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let contents: Vec<String> = (0..12).map(|number| format!("content {number}")).collect();
    let uploads = contents.iter().map(|content| attach(&daemon, &session, "same.txt", content.as_bytes()));
    let stored = join_all(uploads).await;
    let mut names: Vec<&str> = stored.iter().map(|stored| stored["name"].as_str().unwrap()).collect();
    for (stored, content) in stored.iter().zip(&contents) {
        let file = daemon.data().join("sessions").join(&session).join(stored["ref"].as_str().unwrap());
        assert_eq!(&std::fs::read_to_string(file).unwrap(), content);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 12);
    assert!(names.contains(&"same.txt") && names.contains(&"same-12.txt"), "{names:?}");
    let stored = attach(&daemon, &session, "SAME.txt", b"x").await;
    assert_eq!(stored["name"], "SAME-13.txt", "some disks do not tell them apart");
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_read() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    for kind in ["multipart/form-data; boundary=b0", "application/json"] {
        // Only the length is told; not a byte of the body is sent.
        let request = daemon.request("POST", &target(&session)).set("content-type", kind);
        let answer = daemon.send(&request.set("content-length", "40000000")).await;
        assert_eq!(error(&answer), (413, "too_large".to_owned()), "{kind}");
    }
    assert_eq!(on_disk(&daemon, &session), Vec::<String>::new());
}

#[tokio::test]
async fn the_limit_is_that_of_the_content_in_both_forms() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let (fits, beyond) = (vec![0; LIMIT], vec![0; LIMIT + 1]);
    assert_eq!(attach(&daemon, &session, "a", &fits).await["size"], LIMIT);
    let answer = daemon.send(&form(&daemon, &session, "b", "", &beyond)).await;
    assert_eq!(error(&answer), (413, "too_large".to_owned()));
    let answer = daemon.post(&target(&session), &json!({"name": "c", "data": base64(&fits)})).await;
    assert_eq!(answer.json()["size"], LIMIT, "{}", answer.text());
    let answer = daemon.post(&target(&session), &json!({"name": "d", "data": base64(&beyond)})).await;
    assert_eq!(error(&answer), (413, "too_large".to_owned()));
    // Without a length it is cut off; the end never comes, and the answer comes without it.
    let request = form(&daemon, &session, "e", "", b"").remove("content-length");
    let request = request.set("transfer-encoding", "chunked").bytes();
    let head_end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(MEBIBYTE));
    let bytes = [&request[..head_end], chunk.repeat(26).as_bytes()].concat();
    let answer = daemon.connect().await.exchange(&bytes).await;
    assert_eq!(error(&answer), (413, "too_large".to_owned()));
    assert_eq!(on_disk(&daemon, &session), ["a", "c"]);
}

#[tokio::test]
async fn a_session_has_room_for_so_many_and_so_much() {
    let daemon = DoorTestDaemon::start().await;
    let (many, much) = (daemon.session().await, daemon.session().await);
    for session in [&many, &much] {
        attach(&daemon, session, "first", b"x").await;
    }
    let folder = |session: &str| daemon.data().join("sessions").join(session).join("attachments");
    for number in 1..199 {
        std::fs::write(folder(&many).join(format!("file-{number}")), "x").unwrap();
    }
    attach(&daemon, &many, "last", b"x").await;
    let answer = daemon.send(&form(&daemon, &many, "more", "", b"x")).await;
    assert_eq!(error(&answer), (429, "too_many_attachments".to_owned()));
    // A hole in a file takes no place on disk, and counts all the same.
    let large = std::fs::File::create(folder(&much).join("large")).unwrap();
    large.set_len((500 << 20) - 11).unwrap();
    attach(&daemon, &much, "fits", b"0123456789").await;
    let answer = daemon.send(&form(&daemon, &much, "more", "", b"x")).await;
    assert_eq!(error(&answer), (413, "attachments_full".to_owned()));
    assert_eq!((on_disk(&daemon, &many).len(), on_disk(&daemon, &much).len()), (200, 3));
}

#[tokio::test]
async fn requests_that_are_no_upload_are_refused_and_keep_nothing() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let field = |name: &str| {
        format!("--b0\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"x\"\r\n\r\nx\r\n")
    };
    let form = "multipart/form-data; boundary=b0";
    for (kind, body, status, code) in [
        (form, String::new(), 400, "malformed_multipart"),
        (form, "--b0--\r\n".to_owned(), 422, "invalid_body"),
        (form, field("file"), 400, "malformed_multipart"),
        (form, field("upload") + "--b0--", 422, "invalid_body"),
        (form, field("file") + &field("file") + "--b0--", 422, "invalid_body"),
        (form, field("file") + &field("other") + "--b0--", 422, "invalid_body"),
        ("multipart/form-data", field("file") + "--b0--", 415, "unsupported_media_type"),
        ("multipart/mixed; boundary=b0", field("file") + "--b0--", 415, "unsupported_media_type"),
        ("image/png", "x".to_owned(), 415, "unsupported_media_type"),
        ("text/plain", "x".to_owned(), 415, "unsupported_media_type"),
        ("application/json", r#"{"name":"x","data":"not base64!"}"#.to_owned(), 422, "invalid_body"),
        ("application/json", r#"{"name":"x","data":"aGVsbG8=="}"#.to_owned(), 422, "invalid_body"),
        ("application/json", r#"{"data":"aGVsbG8="}"#.to_owned(), 422, "invalid_body"),
        ("application/json", r#"{"name":"x"}"#.to_owned(), 422, "invalid_body"),
    ] {
        let request = daemon.request("POST", &target(&session)).set("content-type", kind);
        let answer = daemon.send(&request.body(body.as_bytes())).await;
        assert_eq!(error(&answer), (status, code.to_owned()), "{kind} {body}");
    }
    let unknown = "sess_0190f3c4a5b67c8d9e0f112233445566";
    let answer = daemon.send(&self::form(&daemon, unknown, "x", "", b"x")).await;
    assert_eq!(error(&answer), (404, "session_not_found".to_owned()));
    assert!(!exists(&daemon.data().join("sessions").join(unknown)));
    assert_eq!(on_disk(&daemon, &session), Vec::<String>::new());
}

/// A page can send a form without asking first, so nothing may depend on the type of the body.
#[tokio::test]
async fn a_form_is_checked_for_where_it_comes_from_like_everything_else() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let form = form(&daemon, &session, "x", "", b"x");
    for (spoiled, expected) in [
        (form.clone().remove("authorization"), (401, "unauthorized")),
        (form.clone().add("origin", "http://evil.example"), (403, "bad_origin")),
        (form.clone().add("origin", "null"), (403, "bad_origin")),
        (form.clone().add("sec-fetch-site", "cross-site"), (403, "bad_origin")),
        (form.clone().set("host", "evil.example"), (403, "bad_host")),
    ] {
        let answer = daemon.send(&spoiled).await;
        assert_eq!((answer.status(), answer.code().as_str()), expected);
    }
    assert_eq!(on_disk(&daemon, &session), Vec::<String>::new());
    let own = form.add("origin", &format!("http://{}", daemon.address)).add("sec-fetch-site", "same-origin");
    assert_eq!(daemon.send(&own).await.status(), 201);
}

#[tokio::test]
async fn a_disk_that_fails_leaves_nothing_behind_and_the_name_free() {
    let disk = Arc::new(FaultDisk::new(FaultPlan::default()));
    let daemon = DoorTestDaemon::start_on(disk.clone(), Duration::from_secs(600)).await;
    let session = daemon.session().await;
    attach(&daemon, &session, "before.txt", b"x").await;
    for (fault, code) in [
        ("enospc:write_at@attachments", "disk_full"),
        ("short-enospc:write_at@attachments", "disk_full"),
        ("eio:sync_data@attachments", "disk_failed"),
        ("enospc:link@attachments,enospc:rename@attachments", "disk_full"),
    ] {
        disk.set_plan(FaultPlan::parse(fault).unwrap());
        let request = form(&daemon, &session, "a.txt", "", b"hello").set("connection", "close");
        let answer = daemon.connect().await.exchange(&request.bytes()).await;
        assert_eq!(error(&answer), (503, code.to_owned()), "{fault}");
        assert_eq!(on_disk(&daemon, &session), ["before.txt"], "{fault}");
    }
    disk.set_plan(FaultPlan::default());
    assert_eq!(attach(&daemon, &session, "a.txt", b"hello").await["name"], "a.txt");
    daemon.say(&session, "go on").await;
    daemon.until(&session, "turn_completed").await;
}
