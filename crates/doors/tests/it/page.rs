//! The page: which paths lead to it, how it is sent, and what it may do in a browser.

use std::borrow::Cow;

use crate::daemon::DoorTestDaemon;
use crate::raw_http::{RawRequest, RawResponse};

const POLICY: &str = "default-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";

/// A small page, some of which is compressed as well.
pub(crate) fn file(name: &str) -> Option<Cow<'static, [u8]>> {
    let content: &[u8] = match name {
        "index.html" => b"<!doctype html><title>page</title>",
        "index.html.br" => b"brotli",
        "assets/app-1a2b.js" => b"go()",
        "assets/app-1a2b.js.gz" => b"gzip",
        "icon.svg" => b"<svg/>",
        _ => return None,
    };
    Some(Cow::Borrowed(content))
}

/// What a browser asks for that is not logged in.
fn asks(daemon: &DoorTestDaemon, target: &str) -> RawRequest {
    daemon
        .request("GET", target)
        .remove("authorization")
        .add("accept", "text/html,application/xhtml+xml;q=0.9")
}

async fn send(daemon: &DoorTestDaemon, request: &RawRequest) -> RawResponse {
    daemon.connect().await.exchange(&request.clone().set("connection", "close").bytes()).await
}

#[tokio::test]
async fn the_page_is_everybodys_and_may_do_little() {
    let daemon = DoorTestDaemon::start().await;
    let places =
        ["/", "/index.html", "/settings", "/s/sess_0190f3c4a5b67c8d9e0f112233445566", "/a/b/c", "/?x=1"];
    for target in places {
        let answer = send(&daemon, &asks(&daemon, target)).await;
        assert_eq!((answer.status(), answer.text()), (200, "<!doctype html><title>page</title>"), "{target}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("vary", "accept-encoding"),
        ] {
            assert_eq!(answer.head.header(name), Some(value), "{target}");
        }
    }
    let script = send(&daemon, &asks(&daemon, "/assets/app-1a2b.js")).await;
    assert_eq!(script.head.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.head.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(script.head.header("content-security-policy"), Some(POLICY));
    let icon = send(&daemon, &asks(&daemon, "/icon.svg").remove("accept")).await;
    assert_eq!(icon.head.header("content-type"), Some("image/svg+xml"));
    assert_eq!(icon.head.header("cache-control"), Some("no-cache"));
}

#[tokio::test]
async fn what_is_there_is_not_sent_twice_and_small_where_that_is_taken() {
    let daemon = DoorTestDaemon::start().await;
    let whole = send(&daemon, &asks(&daemon, "/")).await;
    let tag = whole.head.header("etag").unwrap().to_owned();
    for held in [tag.clone(), format!("\"other\", W/{tag}")] {
        let answer = send(&daemon, &asks(&daemon, "/").add("if-none-match", &held)).await;
        assert_eq!((answer.status(), answer.body.len()), (304, 0), "{held}");
        assert_eq!(answer.head.header("etag"), Some(tag.as_str()));
    }
    assert_eq!(send(&daemon, &asks(&daemon, "/").add("if-none-match", "\"other\"")).await.status(), 200);
    let encoded = |target: &str, taken: &str| asks(&daemon, target).add("accept-encoding", taken);
    for (target, taken, encoding, body) in [
        ("/", "gzip, deflate, br", Some("br"), "brotli"),
        ("/", "gzip", None, whole.text()),
        ("/", "br;q=0, gzip", None, whole.text()),
        ("/assets/app-1a2b.js", "br, gzip;q=0.5", Some("gzip"), "gzip"),
        ("/assets/app-1a2b.js", "identity", None, "go()"),
    ] {
        let answer = send(&daemon, &encoded(target, taken)).await;
        assert_eq!(
            (answer.head.header("content-encoding"), answer.text()),
            (encoding, body),
            "{target} {taken}"
        );
    }
    let compressed = send(&daemon, &encoded("/", "br")).await;
    assert_ne!(compressed.head.header("etag"), Some(tag.as_str()), "other bytes have another tag");
    let mut connection = daemon.connect().await;
    let head = asks(&daemon, "/").bytes();
    connection.send(&[b"HEAD", &head[3..]].concat()).await;
    let head = connection.head().await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("34")));
}

#[tokio::test]
async fn nothing_beside_the_page_is_served() {
    let daemon = DoorTestDaemon::start().await;
    for target in [
        "/assets/../index.html",
        "/assets/../../data/token",
        "/../token",
        "/..%2ftoken",
        "/%2e%2e/token",
        "/assets/%2e%2e%2f%2e%2e%2ftoken",
        "/assets//app-1a2b.js",
        "//index.html",
        "/.env",
        "/.git/config",
        "/assets/missing.js",
        "/assets/deep",
        "/missing.png",
        "/token.txt",
        "/v1",
        "/v1/nothing",
        "/v1/sessions",
        "/openapi.json",
    ] {
        let answer = daemon.send(&asks(&daemon, target)).await;
        assert_eq!((answer.status(), answer.code().as_str()), (401, "unauthorized"), "{target}");
    }
    // Programs that mistype a path are told so.
    let typo = asks(&daemon, "/v2/sessions").set("accept", "application/json");
    assert_eq!(daemon.send(&typo).await.status(), 401);
    assert_eq!(daemon.get("/sessions").await.code(), "not_found");
    for method in ["POST", "PUT", "DELETE"] {
        let request = daemon.request(method, "/settings").remove("authorization").add("accept", "text/html");
        assert_eq!(daemon.send(&request).await.status(), 401, "{method}");
    }
}

#[tokio::test]
async fn other_pages_may_lead_here_but_neither_frame_nor_fetch_it() {
    let daemon = DoorTestDaemon::start().await;
    let from = |mode: &str, dest: &str| {
        let request = asks(&daemon, "/settings").add("sec-fetch-site", "cross-site");
        request.add("sec-fetch-mode", mode).add("sec-fetch-dest", dest)
    };
    assert_eq!(send(&daemon, &from("navigate", "document")).await.status(), 200);
    for (mode, dest) in
        [("navigate", "iframe"), ("cors", "empty"), ("no-cors", "script"), ("no-cors", "document")]
    {
        let answer = send(&daemon, &from(mode, dest)).await;
        assert_eq!((answer.status(), answer.code().as_str()), (403, "bad_origin"), "{mode} {dest}");
    }
    let posted = from("navigate", "document").add("origin", "http://evil.example");
    assert_eq!(send(&daemon, &posted).await.status(), 403);
    let rebound = asks(&daemon, "/").set("host", "evil.example");
    assert_eq!(send(&daemon, &rebound).await.code(), "bad_host");
    // A link does not lead into the API.
    let api = asks(&daemon, "/v1/sessions").add("sec-fetch-site", "cross-site");
    let api = api.add("sec-fetch-mode", "navigate").add("sec-fetch-dest", "document");
    assert_eq!(daemon.send(&api).await.status(), 403);
}
