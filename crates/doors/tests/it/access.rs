//! Who is let in: every route against every way of not being allowed.

use crate::api_routes::{ApiRoute, RouteScene, routes};
use crate::daemon::{DoorTestDaemon, check_answer};
use crate::raw_http::{RawConnection, RawRequest, RawResponse};

/// Sends what each route would do, changed by `spoil`, and asserts that nothing came of it.
async fn assert_refused(
    daemon: &DoorTestDaemon,
    routes: impl IntoIterator<Item = ApiRoute>,
    spoil: impl Fn(RawRequest) -> RawRequest,
    check: impl Fn(&RawResponse),
) {
    let scene = RouteScene::new(daemon).await;
    let before = daemon.recorded();
    for route in routes {
        let answer = daemon.send(&spoil(route.request(daemon, &scene))).await;
        println!("{} {}: {}", route.method, route.path, answer.text());
        check(&answer);
    }
    assert_eq!(daemon.recorded(), before);
}

fn secret_routes() -> impl Iterator<Item = ApiRoute> {
    routes().into_iter().filter(|route| !route.is_public())
}

fn is_unauthorized(answer: &RawResponse) {
    assert_eq!((answer.status(), answer.code().as_str()), (401, "unauthorized"));
}

fn is_bad_host(answer: &RawResponse) {
    assert_eq!((answer.status(), answer.code().as_str()), (403, "bad_host"));
}

fn is_bad_origin(answer: &RawResponse) {
    assert_eq!((answer.status(), answer.code().as_str()), (403, "bad_origin"));
}

#[tokio::test]
async fn with_everything_right_every_route_lets_in() {
    let daemon = DoorTestDaemon::start().await;
    for route in routes().into_iter().filter(|route| route.name() != "all_events") {
        let scene = RouteScene::new(&daemon).await;
        let answer = daemon.send(&route.request(&daemon, &scene)).await;
        // A turn runs in the scene, so it cannot be run, retried, undone or shared, and no other can begin.
        let busy = ["run", "retry_turn", "undo", "fork_session", "compact", "run_subtasks"];
        let expected: &[u16] = match route.name() {
            name if busy.contains(&name) => &[409],
            // The daemon's own agent keeps no sessions besides.
            "list_agent_sessions" => &[404],
            _ => &[200, 201, 202, 204],
        };
        assert!(expected.contains(&answer.status()), "{}: {}", route.name(), answer.text());
        if answer.status() < 300 {
            assert!(
                route.operation["responses"].get(answer.status().to_string()).is_some(),
                "{}",
                route.name()
            );
        }
    }
}

#[tokio::test]
async fn only_health_and_the_login_are_public() {
    let public: Vec<String> =
        routes().into_iter().filter(ApiRoute::is_public).map(|route| route.path).collect();
    assert_eq!(public, ["/healthz", "/v1/login"]);
    let daemon = DoorTestDaemon::start().await;
    let answer = daemon.send(&daemon.request("GET", "/healthz").remove("authorization")).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.json()["status"], "ok");
}

#[tokio::test]
async fn without_a_token_nothing_is_answered() {
    let daemon = DoorTestDaemon::start().await;
    assert_refused(&daemon, secret_routes(), |request| request.remove("authorization"), is_unauthorized)
        .await;
}

#[tokio::test]
async fn a_wrong_token_is_not_enough() {
    let daemon = DoorTestDaemon::start().await;
    let token = daemon.token();
    let half = &token[..32];
    let wrong = [
        format!("Bearer {}", "0".repeat(64)),
        format!("Bearer {half}"),
        format!("Bearer {token}0"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer{token}"),
        format!("Bearer {token} {token}"),
        format!("Bearer {token},"),
        format!("Basic {token}"),
        format!("Token {token}"),
        "Bearer ".to_owned(),
        "Bearer".to_owned(),
        token.clone(),
        String::new(),
    ];
    for wrong in &wrong {
        let health = daemon.request("GET", "/v1/agents").set("authorization", wrong);
        is_unauthorized(&daemon.send(&health).await);
    }
    // One of them on every route; the check is the same for all.
    assert_refused(
        &daemon,
        secret_routes(),
        |request| request.set("authorization", &wrong[0]),
        is_unauthorized,
    )
    .await;
    assert_refused(
        &daemon,
        secret_routes(),
        |request| request.set("authorization", &wrong[7]),
        is_unauthorized,
    )
    .await;
}

#[tokio::test]
async fn two_tokens_are_one_too_many() {
    let daemon = DoorTestDaemon::start().await;
    let right = format!("Bearer {}", daemon.token());
    assert_refused(
        &daemon,
        secret_routes(),
        |request| request.add("authorization", "Bearer x"),
        is_unauthorized,
    )
    .await;
    assert_refused(&daemon, secret_routes(), |request| request.add("authorization", &right), is_unauthorized)
        .await;
}

#[tokio::test]
async fn a_token_in_the_address_is_not_looked_at() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in secret_routes() {
        for name in ["token", "access_token", "authorization"] {
            let target = format!("{}?{name}={}", route.target(&scene), daemon.token());
            let request = route.request(&daemon, &scene).target(&target).remove("authorization");
            is_unauthorized(&daemon.send(&request).await);
            let cookie =
                request.target(&route.target(&scene)).add("cookie", &format!("{name}={}", daemon.token()));
            is_unauthorized(&daemon.send(&cookie).await);
        }
    }
    assert_eq!(daemon.recorded(), before);
}

#[tokio::test]
async fn a_request_for_another_host_is_refused_on_every_route() {
    let daemon = DoorTestDaemon::start().await;
    assert_refused(&daemon, routes(), |request| request.set("host", "evil.example"), is_bad_host).await;
    assert_refused(&daemon, routes(), |request| request.remove("host"), is_bad_host).await;
    let address = daemon.address.to_string();
    assert_refused(&daemon, routes(), |request| request.add("host", &address), is_bad_host).await;
}

#[tokio::test]
async fn only_the_exact_host_will_do() {
    let daemon = DoorTestDaemon::start().await;
    let port = daemon.address.port();
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        let answer =
            daemon.send(&daemon.request("GET", "/healthz").set("host", &format!("{host}:{port}"))).await;
        assert_eq!(answer.status(), 200, "{host}");
    }
    let another = port.wrapping_add(1).max(1);
    for host in [
        format!("127.0.0.1:{another}"),
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
        String::new(),
        format!("127.evil.com:{port}"),
        format!("localhost.evil.com:{port}"),
        format!("localhost.:{port}"),
        format!("user@127.0.0.1:{port}"),
        format!("0x7f000001:{port}"),
        format!("2130706433:{port}"),
        format!("127.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("127.0.0.1:{port}, evil.example"),
        format!("127.0.0.1:0{port}"),
        format!("127.0.0.1:{port}/"),
    ] {
        let answer = daemon.send(&daemon.request("GET", "/healthz").set("host", &host)).await;
        assert_eq!(answer.status(), 403, "{host}");
    }
}

#[tokio::test]
async fn a_whole_address_must_name_this_daemon_too() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in routes() {
        for authority in ["evil.example", "evil.example:80", "127.0.0.1", "user@127.0.0.1"] {
            let target = format!("http://{authority}{}", route.target(&scene));
            let request = route.request(&daemon, &scene).target(&target);
            is_bad_host(&daemon.send(&request).await);
        }
    }
    assert_eq!(daemon.recorded(), before);
    let target = format!("http://{}/healthz", daemon.address);
    assert_eq!(daemon.get(&target).await.status(), 200);
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_on_every_route() {
    let daemon = DoorTestDaemon::start().await;
    assert_refused(&daemon, routes(), |request| request.add("origin", "http://evil.example"), is_bad_origin)
        .await;
    assert_refused(&daemon, routes(), |request| request.add("origin", "null"), is_bad_origin).await;
    assert_refused(&daemon, routes(), |request| request.add("sec-fetch-site", "cross-site"), is_bad_origin)
        .await;
    assert_refused(&daemon, routes(), |request| request.add("sec-fetch-site", "same-site"), is_bad_origin)
        .await;
}

#[tokio::test]
async fn only_the_exact_origin_will_do() {
    let daemon = DoorTestDaemon::start().await;
    let (own, port) = (format!("http://{}", daemon.address), daemon.address.port());
    let with = |origin: &str| daemon.request("GET", "/healthz").add("origin", origin);
    assert_eq!(daemon.send(&with(&own)).await.status(), 200);
    assert_eq!(daemon.send(&with(&own).add("sec-fetch-site", "same-origin")).await.status(), 200);
    assert_eq!(
        daemon.send(&daemon.request("GET", "/healthz").add("sec-fetch-site", "none")).await.status(),
        200
    );
    for origin in [
        format!("https://127.0.0.1:{port}"),
        "http://127.0.0.1".to_owned(),
        "http://localhost".to_owned(),
        format!("http://localhost.evil.com:{port}"),
        format!("http://127.0.0.1:{port}.evil.com"),
        format!("http://evil.com@127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}/"),
        "file://".to_owned(),
        "chrome-extension://abc".to_owned(),
        String::new(),
    ] {
        is_bad_origin(&daemon.send(&with(&origin)).await);
    }
    // One good origin does not excuse a bad one.
    is_bad_origin(&daemon.send(&with(&own).add("origin", "http://evil.example")).await);
    let sites =
        daemon.request("GET", "/healthz").add("sec-fetch-site", "none").add("sec-fetch-site", "cross-site");
    is_bad_origin(&daemon.send(&sites).await);
}

#[tokio::test]
async fn a_preflight_of_another_origin_gets_no_leave() {
    let daemon = DoorTestDaemon::start().await;
    let request = daemon
        .request("OPTIONS", "/v1/sessions")
        .remove("authorization")
        .add("origin", "http://evil.example")
        .add("access-control-request-method", "POST")
        .add("access-control-request-headers", "authorization");
    is_bad_origin(&daemon.send(&request).await);
}

#[tokio::test]
async fn paths_that_are_not_there_need_a_token_too() {
    let daemon = DoorTestDaemon::start().await;
    for path in ["/v1", "/v2/sessions", "/favicon.ico", "//healthz", "/healthz/", "/HEALTHZ", "/./healthz"] {
        is_unauthorized(&daemon.send(&daemon.request("GET", path).remove("authorization")).await);
        assert_eq!(daemon.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn the_socket_asks_for_the_token_as_well() {
    let daemon = DoorTestDaemon::start().await;
    let scene = RouteScene::new(&daemon).await;
    let before = daemon.recorded();
    for route in secret_routes() {
        let request = route.request(&daemon, &scene).set("host", "localhost").remove("authorization");
        let answer = RawConnection::unix(&daemon.socket()).await.exchange(&request.bytes()).await;
        check_answer(&answer);
        is_unauthorized(&answer);
    }
    for host in ["evil.example", "localhost:80", "127.0.0.1", &daemon.address.to_string()] {
        let request = daemon.request("GET", "/v1/agents").set("host", host);
        is_bad_host(&RawConnection::unix(&daemon.socket()).await.exchange(&request.bytes()).await);
    }
    assert_eq!(daemon.recorded(), before);
    let request = daemon.request("GET", "/v1/agents").set("host", "localhost");
    let answer = RawConnection::unix(&daemon.socket()).await.exchange(&request.bytes()).await;
    assert_eq!(answer.json()["agents"][0]["name"], "native");
}
