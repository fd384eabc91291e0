//! Coming in by the page: codes, cookies, and what a cookie is not enough for.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use ostler_types::Clock;
use serde_json::json;
use uuid::Uuid;

use crate::daemon::{DoorTestDaemon, DoorTestOptions, message_body};
use crate::raw_http::{RawRequest, RawResponse};
use crate::stream::SseTestStream;

const MINUTE: i64 = 60;
const DAY: i64 = 24 * 60 * MINUTE;

/// A clock that is set by hand.
#[derive(Default)]
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}

impl ManualClock {
    fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

fn origin(daemon: &DoorTestDaemon) -> String {
    format!("http://{}", daemon.address)
}

fn cookie_name(daemon: &DoorTestDaemon) -> String {
    format!("ostler_session_{}", daemon.address.port())
}

async fn try_code(daemon: &DoorTestDaemon, code: &str) -> RawResponse {
    let request = daemon.request("POST", "/v1/login").remove("authorization");
    daemon.send(&request.add("origin", &origin(daemon)).json(&json!({"code": code}))).await
}

/// Logs in, and returns the cookie's value.
async fn log_in(daemon: &DoorTestDaemon) -> String {
    let answer = try_code(daemon, &daemon.code()).await;
    assert_eq!(answer.status(), 204, "{}", answer.text());
    let set = answer.head.header("set-cookie").unwrap();
    let (pair, rest) = set.split_once("; ").unwrap();
    assert_eq!(rest, "Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict");
    let (name, cookie) = pair.split_once('=').unwrap();
    assert_eq!(name, cookie_name(daemon));
    assert_eq!(cookie.len(), 64, "256 bits");
    cookie.to_owned()
}

/// What a page sends: the cookie, and no token.
fn page_request(daemon: &DoorTestDaemon, cookie: &str, method: &str, target: &str) -> RawRequest {
    let shown = format!("theme=dark; {}={cookie}", cookie_name(daemon));
    daemon.request(method, target).remove("authorization").add("cookie", &shown)
}

async fn status(daemon: &DoorTestDaemon, request: &RawRequest) -> u16 {
    daemon.send(request).await.status()
}

#[tokio::test]
async fn a_code_becomes_a_cookie_that_does_in_place_of_the_token() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let cookie = log_in(&daemon).await;
    assert_eq!(status(&daemon, &page_request(&daemon, &cookie, "GET", "/v1/sessions")).await, 200);
    let say = page_request(&daemon, &cookie, "POST", &format!("/v1/sessions/{session}/messages"))
        .json(&message_body("hi"));
    assert_eq!(status(&daemon, &say.clone().add("origin", &origin(&daemon))).await, 202);
    assert_eq!(status(&daemon, &say.add("sec-fetch-site", "same-origin")).await, 202);
    let events = page_request(&daemon, &cookie, "GET", &format!("/v1/sessions/{session}/events"));
    SseTestStream::open(daemon.connect().await, &events).await.until("turn_completed").await;
    let wrong = [String::new(), "0".repeat(64), cookie.to_uppercase(), format!("{cookie}0"), daemon.token()];
    for wrong in wrong {
        let answer = daemon.send(&page_request(&daemon, &wrong, "GET", "/v1/sessions")).await;
        assert_eq!((answer.status(), answer.code().as_str()), (401, "unauthorized"), "{wrong}");
    }
    // A wrong token is not made good by a cookie.
    let both = page_request(&daemon, &cookie, "GET", "/v1/sessions").add("authorization", "Bearer nothing");
    assert_eq!(status(&daemon, &both).await, 401);
}

#[tokio::test]
async fn a_code_is_good_for_one_login_and_ten_minutes() {
    let clock = Arc::new(ManualClock::default());
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { clock: clock.clone(), ..DoorTestOptions::default() })
            .await;
    let refused =
        |answer: RawResponse| assert_eq!((answer.status(), answer.code().as_str()), (401, "bad_code"));
    let code = daemon.code();
    assert_eq!(code.len(), 32, "128 bits");
    assert_eq!(try_code(&daemon, &code).await.status(), 204);
    refused(try_code(&daemon, &code).await);
    refused(try_code(&daemon, "").await);
    refused(try_code(&daemon, &"0".repeat(32)).await);
    refused(try_code(&daemon, &daemon.token()).await);
    let (late, early) = (daemon.code(), daemon.code());
    clock.advance(9 * MINUTE);
    assert_eq!(try_code(&daemon, &early).await.status(), 204);
    clock.advance(MINUTE);
    refused(try_code(&daemon, &late).await);
    // Whoever asks for many keeps the newest.
    let codes: Vec<String> = (0..17).map(|_| daemon.code()).collect();
    refused(try_code(&daemon, &codes[0]).await);
    assert_eq!(try_code(&daemon, &codes[1]).await.status(), 204);
}

#[tokio::test]
async fn codes_are_made_for_the_token_and_not_for_a_cookie() {
    let daemon = DoorTestDaemon::start().await;
    let answer = daemon.send(&daemon.request("POST", "/v1/login/code")).await;
    assert_eq!(answer.status(), 201, "{}", answer.text());
    let address = answer.json()["address"].as_str().unwrap().to_owned();
    let (page, code) = address.split_once("#code=").unwrap();
    assert_eq!(page, format!("{}/", origin(&daemon)));
    assert_eq!(try_code(&daemon, code).await.status(), 204);
    let cookie = log_in(&daemon).await;
    let request = page_request(&daemon, &cookie, "POST", "/v1/login/code").add("origin", &origin(&daemon));
    let answer = daemon.send(&request).await;
    assert_eq!((answer.status(), answer.code().as_str()), (403, "token_needed"));
}

#[tokio::test]
async fn a_foreign_page_gets_nothing_from_a_cookie() {
    let daemon = DoorTestDaemon::start().await;
    let cookie = log_in(&daemon).await;
    let before = daemon.recorded();
    let body = json!({"workspace_path": daemon.workspace()});
    let post = page_request(&daemon, &cookie, "POST", "/v1/sessions").json(&body);
    let port = daemon.address.port();
    let socket = page_request(&daemon, &cookie, "GET", "/ws")
        .add("connection", "Upgrade")
        .add("upgrade", "websocket")
        .add("sec-websocket-version", "13")
        .add("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let lines = page_request(&daemon, &cookie, "GET", "/jsonl")
        .add("connection", "Upgrade")
        .add("upgrade", "ostler-jsonl");
    for request in [&post, &socket, &lines] {
        // Absent, another site, a sandboxed frame, another port of this host, and another name of this very daemon.
        let foreign = [
            request.clone(),
            request.clone().add("sec-fetch-site", "none"),
            request.clone().add("sec-fetch-site", "cross-site"),
            request.clone().add("sec-fetch-site", "same-site"),
            request.clone().add("origin", "http://evil.example"),
            request.clone().add("origin", "null"),
            request.clone().add("origin", "http://127.0.0.1:1"),
            request.clone().add("origin", &format!("http://localhost:{port}")),
            request.clone().add("origin", &origin(&daemon)).add("origin", &origin(&daemon)),
        ];
        for foreign in foreign {
            let answer = daemon.connect().await.exchange(&foreign.bytes()).await;
            assert_eq!(
                (answer.status(), answer.code().as_str()),
                (403, "bad_origin"),
                "{:?}",
                foreign.bytes()
            );
        }
    }
    // Reading is refused to other pages, and other methods are no better than POST.
    let read = page_request(&daemon, &cookie, "GET", "/v1/sessions");
    assert_eq!(status(&daemon, &read.clone().add("sec-fetch-site", "cross-site")).await, 403);
    assert_eq!(status(&daemon, &read.add("origin", "http://evil.example")).await, 403);
    for method in ["PUT", "PATCH", "DELETE", "BREW"] {
        let request = page_request(&daemon, &cookie, method, "/v1/sessions");
        assert_eq!(status(&daemon, &request).await, 403, "{method}");
    }
    assert_eq!(daemon.recorded(), before);
    assert_eq!(status(&daemon, &post.add("origin", &origin(&daemon))).await, 201);
    let mut connection = daemon.connect().await;
    connection.send(&socket.add("origin", &origin(&daemon)).bytes()).await;
    assert_eq!(connection.head().await.status, 101);
}

#[tokio::test]
async fn logging_out_ends_the_cookie_and_its_streams() {
    let daemon = DoorTestDaemon::start().await;
    let (one, other) = (log_in(&daemon).await, log_in(&daemon).await);
    let list = |cookie: &str| page_request(&daemon, cookie, "GET", "/v1/sessions");
    let answer =
        daemon.send(&page_request(&daemon, &one, "POST", "/v1/logout").add("origin", &origin(&daemon))).await;
    assert_eq!(answer.status(), 204);
    assert!(answer.head.header("set-cookie").unwrap().contains("=; Max-Age=0;"));
    assert_eq!(status(&daemon, &list(&one)).await, 401);
    assert_eq!(status(&daemon, &list(&other)).await, 200);
    // With the token there is nothing to log out of.
    assert_eq!(status(&daemon, &daemon.request("POST", "/v1/logout")).await, 204);
    assert_eq!(status(&daemon, &list(&other)).await, 200);
}

#[tokio::test]
async fn a_cookie_outlives_the_daemon_but_not_thirty_days_nor_its_token() {
    let clock = Arc::new(ManualClock::default());
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { clock: clock.clone(), ..DoorTestOptions::default() })
            .await;
    let cookie = log_in(&daemon).await;
    let file = daemon.data().join("logins.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(!kept.contains(&cookie), "only a digest is kept");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let code = daemon.code();
    let dir = daemon.stop().await;

    let daemon = DoorTestDaemon::start_as(DoorTestOptions {
        clock: clock.clone(),
        dir: Some(dir),
        ..DoorTestOptions::default()
    })
    .await;
    let list = page_request(&daemon, &cookie, "GET", "/v1/sessions");
    assert_eq!(status(&daemon, &list).await, 200);
    assert_eq!(try_code(&daemon, &code).await.status(), 401, "a code does not outlive it");
    clock.advance(29 * DAY);
    assert_eq!(status(&daemon, &list).await, 200);
    clock.advance(DAY);
    assert_eq!(status(&daemon, &list).await, 401);

    let cookie = log_in(&daemon).await;
    let list = page_request(&daemon, &cookie, "GET", "/v1/sessions");
    assert_eq!(status(&daemon, &list).await, 200);
    let token = daemon.data().join("token");
    std::fs::write(token.with_extension("next"), "n".repeat(64)).unwrap();
    std::fs::set_permissions(token.with_extension("next"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(token.with_extension("next"), &token).unwrap();
    assert_eq!(status(&daemon, &list).await, 401, "a new token ends every login");
}

#[tokio::test]
async fn the_oldest_login_gives_way_and_a_spoilt_file_lets_nobody_in() {
    let daemon = DoorTestDaemon::start().await;
    let first = log_in(&daemon).await;
    let mut last = String::new();
    for _ in 0..64 {
        last = log_in(&daemon).await;
    }
    assert_eq!(status(&daemon, &page_request(&daemon, &first, "GET", "/v1/sessions")).await, 401);
    assert_eq!(status(&daemon, &page_request(&daemon, &last, "GET", "/v1/sessions")).await, 200);
    let file = daemon.data().join("logins.json");
    let dir = daemon.stop().await;
    std::fs::write(file, "{").unwrap();
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    assert_eq!(status(&daemon, &page_request(&daemon, &last, "GET", "/v1/sessions")).await, 401);
    log_in(&daemon).await;
}
