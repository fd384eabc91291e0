//! Which pages may talk to which door, with a token and without: every door against every Origin.

use std::net::SocketAddr;

use crate::daemon::{DoorTestDaemon, DoorTestOptions};
use crate::raw_http::{RawConnection, RawRequest};

/// What a door lets through when a token is asked for.
#[derive(Clone, Copy, PartialEq)]
enum DoorOrigins {
    /// Its own page only.
    Strict,
    /// Any page of this machine that shows the token in its own way.
    Local,
}

const UPGRADE: &[(&str, &str)] = &[
    ("connection", "upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// Every door, with a request that it answers.
fn doors(daemon: &DoorTestDaemon, session: &str) -> Vec<(String, SocketAddr, RawRequest, DoorOrigins)> {
    let (http, gateway) = (daemon.address, daemon.gateway_address);
    let bearer = format!("Bearer {}", daemon.token());
    let request = |address: SocketAddr, method: &str, target: &str| {
        let request = RawRequest::new(method, target).add("host", &address.to_string());
        if address == http { request.add("authorization", &bearer) } else { request }
    };
    let socket = |request: RawRequest| UPGRADE.iter().fold(request, |it, (name, value)| it.set(name, value));
    let switched =
        |target: &str, to: &str| request(http, "GET", target).add("connection", "upgrade").add("upgrade", to);
    let shown = format!("ostler-ide, ostler-token.{}", daemon.token());
    let rpc = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "list", "params": {}});
    let create = serde_json::json!({"workspace_path": daemon.workspace(), "model": "test:one"});
    let with_token = socket(request(http, "GET", "/ws").remove("authorization"));
    vec![
        ("page".to_owned(), http, request(http, "GET", "/"), DoorOrigins::Strict),
        ("health".to_owned(), http, request(http, "GET", "/healthz"), DoorOrigins::Strict),
        ("list".to_owned(), http, request(http, "GET", "/v1/sessions"), DoorOrigins::Strict),
        ("create".to_owned(), http, request(http, "POST", "/v1/sessions").json(&create), DoorOrigins::Strict),
        (
            "stream".to_owned(),
            http,
            request(http, "GET", &format!("/v1/sessions/{session}/events")),
            DoorOrigins::Strict,
        ),
        ("feed".to_owned(), http, request(http, "GET", "/v1/events"), DoorOrigins::Strict),
        ("pool".to_owned(), http, request(http, "POST", "/rpc").json(&rpc), DoorOrigins::Strict),
        ("pool agent".to_owned(), http, request(http, "POST", "/agent/x").json(&rpc), DoorOrigins::Strict),
        ("jsonl".to_owned(), http, switched("/jsonl", "ostler-jsonl"), DoorOrigins::Strict),
        ("acp".to_owned(), http, switched("/acp", "ostler-acp"), DoorOrigins::Strict),
        ("ide".to_owned(), http, socket(request(http, "GET", "/ws")), DoorOrigins::Strict),
        ("ide, named".to_owned(), http, with_token.add("sec-websocket-protocol", &shown), DoorOrigins::Local),
        ("gateway".to_owned(), http, socket(request(http, "GET", "/gateway")), DoorOrigins::Local),
        ("gateway port".to_owned(), gateway, socket(request(gateway, "GET", "/")), DoorOrigins::Local),
        ("gateway health".to_owned(), gateway, request(gateway, "GET", "/health"), DoorOrigins::Local),
    ]
}

type Headers = Vec<(&'static str, String)>;

/// What a browser would send along, and whether it comes from the page of this address, and from this machine.
fn sources(address: SocketAddr) -> Vec<(Headers, bool, bool)> {
    let port = address.port();
    let origin = |origin: &str| vec![("origin", origin.to_owned())];
    let from = |it: &str, site: &str| vec![("origin", it.to_owned()), ("sec-fetch-site", site.to_owned())];
    vec![
        (Vec::new(), true, true),
        (from(&format!("http://{address}"), "same-origin"), true, true),
        (origin(&format!("http://localhost:{port}")), true, true),
        (origin("http://localhost:3000"), false, true),
        (from("http://localhost:3000", "same-site"), false, true),
        (origin("http://127.0.0.1:5173"), false, true),
        (origin("https://localhost"), false, true),
        (origin(&format!("https://{address}")), false, true),
        (origin("http://[::1]:3000"), false, true),
        (vec![("sec-fetch-site", "same-site".to_owned())], false, true),
        (origin("null"), false, false),
        (origin("http://evil.example"), false, false),
        (from("http://evil.example", "cross-site"), false, false),
        (origin(&format!("http://198.51.100.1:{port}")), false, false),
        (origin("chrome-extension://abc"), false, false),
    ]
}

async fn status(address: SocketAddr, request: &RawRequest) -> u16 {
    let mut connection = RawConnection::tcp(address).await;
    connection.send(&request.bytes()).await;
    connection.head().await.status
}

async fn every_door(auth: bool) {
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { auth, ..DoorTestOptions::default() }).await;
    let session = daemon.session().await;
    for (name, address, request, door) in doors(&daemon, &session) {
        for (headers, own, local) in sources(address) {
            let asked = headers.iter().fold(request.clone(), |it, (name, value)| it.add(name, value));
            let status = status(address, &asked).await;
            let expected = own || (auth && local && door == DoorOrigins::Local);
            assert_eq!(status != 403, expected, "auth {auth}, {name}, {headers:?}: {status}");
        }
        for host in ["evil.example", "localhost:3000", "localhost", "127.0.0.1"] {
            let status = status(address, &request.clone().set("host", host)).await;
            assert_eq!(status, 403, "auth {auth}, {name}, host {host}");
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn with_a_token_only_doors_that_ask_a_page_for_it_hear_other_local_pages() {
    every_door(true).await;
}

#[tokio::test]
async fn without_a_token_every_door_refuses_every_page_but_its_own() {
    every_door(false).await;
}
