//! Servers over HTTP: a real one, and small ones that would lead us elsewhere.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use ostler_mcp::{ServerConfig, ServerState, Transport};
use ostler_types::ToolKind;
use serde_json::json;

use crate::fixture::{McpFixture, real_servers, test_limits};

/// A running process that is killed when the test is over.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn fixture(url: String, headers: &[(&str, &str)]) -> McpFixture {
    let headers: BTreeMap<_, _> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    McpFixture::new(|_| ServerConfig::new("server", Transport::Http { url, headers }), test_limits())
}

fn everything() -> (KilledOnDrop, String) {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let program = real_servers().join("node/node_modules/.bin/mcp-server-everything");
    let mut server = Command::new(program)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let stderr = server.stderr.take().expect("it is piped");
    let running = KilledOnDrop(server);
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let listening = lines.find(|line| line.to_lowercase().contains("listening"));
    assert!(listening.is_some(), "the server did not say that it listens");
    // What it says later must not fill its pipe; the thread ends with the server.
    std::thread::spawn(move || lines.for_each(drop));
    (running, format!("http://127.0.0.1:{port}/mcp"))
}

#[tokio::test]
async fn everything_over_http() {
    let (_running, url) = everything();
    let fixture = fixture(url, &[("x-key", "k-12345678")]);
    let tools = fixture.tools().await;
    assert!(tools.iter().all(|tool| tool.kind() == ToolKind::Network));
    let echo = fixture.call("echo", json!({ "message": "far away" })).await;
    assert!(echo.ok && echo.text.contains("far away"), "{echo:?}");
    let tool = fixture.tool("trigger-long-running-operation").await;
    let (outcome, shown) = fixture.run(&tool, json!({ "duration": 1, "steps": 2 })).await;
    assert!(outcome.ok && shown.contains("1 of 2"), "{outcome:?} {shown}");
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_of() {
    let (running, url) = everything();
    let fixture = fixture(url, &[]);
    let tool = fixture.tool("echo").await;
    drop(running);
    let (outcome, _) = fixture.run(&tool, json!({ "message": "anybody?" })).await;
    assert!(!outcome.ok && outcome.text.starts_with("The MCP server server: "), "{outcome:?}");
}

/// Answers every request with these lines, and remembers the requests.
fn answering(response: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut bytes = vec![0; 64 * 1024];
            let count = stream.read(&mut bytes).unwrap_or(0);
            seen.lock().expect("nobody panics").push(String::from_utf8_lossy(&bytes[..count]).into_owned());
            let _ = stream.write_all(response.as_bytes());
        }
    });
    (url, requests)
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let (elsewhere, seen_elsewhere) = answering("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n".to_owned());
    let redirect = format!(
        "HTTP/1.1 307 There\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let (url, seen) = answering(redirect);
    let fixture = fixture(url, &[("authorization", "Bearer k-12345678")]);
    assert!(fixture.tools().await.is_empty());
    let status = fixture.wait_for_state(ServerState::Unavailable).await;
    assert!(seen.lock().expect("nobody panics")[0].contains("k-12345678"));
    assert_eq!(*seen_elsewhere.lock().expect("nobody panics"), Vec::<String>::new());
    let error = status.error.expect("it says why");
    assert!(error.contains("307") && !error.contains("k-12345678"), "{error}");
}

#[tokio::test]
async fn an_answer_without_end_is_not_taken() {
    // As long as a body may be, and a little more.
    let body = "x".repeat(17 * 1024 * 1024);
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let (url, _) = answering(response);
    let fixture = fixture(url, &[]);
    assert!(fixture.tools().await.is_empty());
    let error = fixture.wait_for_state(ServerState::Unavailable).await.error.expect("it says why");
    assert!(error.contains("longer than 16 MiB"), "{error}");
}

#[tokio::test]
async fn a_server_that_wants_a_key_says_so() {
    let body = "who are you?";
    let (url, _) = answering(format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ));
    let fixture = fixture(url, &[]);
    assert!(fixture.tools().await.is_empty());
    let error = fixture.wait_for_state(ServerState::Unavailable).await.error.expect("it says why");
    assert!(error.contains("HTTP 401") && error.contains(body), "{error}");
}
