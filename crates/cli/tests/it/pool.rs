//! The pool through the real binary: agents that outlive a daemon that is killed.

use std::path::Path;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::process::DaemonProcess;

/// Calls a method, and returns the whole response.
async fn rpc(daemon: &DaemonProcess, data: &Path, path: &str, method: &str, params: Value) -> Value {
    let token = std::fs::read_to_string(data.join("token")).unwrap();
    let address = daemon.address.unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // A daemon that is killed ends the connection somewhere.
    _ = stream.read_to_string(&mut answer).await;
    answer.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok()).unwrap_or_default()
}

#[tokio::test]
async fn agents_outlive_a_daemon_that_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (data, work) = (dir.path().join("data"), dir.path().join("work"));
    std::fs::create_dir(&work).unwrap();
    let daemon = DaemonProcess::serve(&data, "");
    let cwd = json!({"agent_id": "scout", "cwd": work});
    let made = rpc(&daemon, &data, "/rpc", "create_agent", cwd).await;
    assert_eq!(made["result"], json!({"agent_id": "scout", "url": "/agent/scout"}), "{made}");
    let hello = json!({"content": "say hello", "request_id": "first"});
    let answer = rpc(&daemon, &data, "/agent/scout", "send", hello.clone()).await;
    let said = answer["result"]["content"].as_str().unwrap().to_owned();
    assert!(!said.is_empty(), "{answer}");
    // The second waits for an approval when the daemon dies.
    let asking = json!({"content": "run `echo hello > hello.txt`", "request_id": "second"});
    let client = daemon.client().await.unwrap();
    let cut = async {
        let cut = rpc(&daemon, &data, "/agent/scout", "send", asking.clone()).await;
        assert_eq!(cut, Value::Null, "nothing was answered");
    };
    let kill = async {
        while client.approvals().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        daemon.signal(rustix::process::Signal::KILL);
    };
    tokio::join!(cut, kill);
    drop(daemon);

    let daemon = DaemonProcess::serve(&data, "");
    assert_eq!(rpc(&daemon, &data, "/agent/scout", "send", hello).await["result"]["content"], json!(said));
    let list = rpc(&daemon, &data, "/rpc", "list_agents", json!({})).await;
    assert_eq!(list["result"]["agents"][0]["agent_id"], "scout", "{list}");
    let cancel = rpc(&daemon, &data, "/agent/scout", "cancel", json!({"request_id": "second"})).await;
    assert_eq!(cancel["result"], json!({"cancelled": true, "request_id": "second"}), "{cancel}");
    let again = rpc(&daemon, &data, "/agent/scout", "send", asking).await;
    assert_eq!(again["result"], json!({"cancelled": true, "request_id": "second"}), "{again}");
    assert!(!work.join("hello.txt").exists());
    let ended = rpc(&daemon, &data, "/agent/scout", "shutdown", json!({})).await;
    assert_eq!(ended["result"], json!({"success": true}));
    let gone = rpc(&daemon, &data, "/agent/scout", "get_context", json!({})).await;
    assert_eq!(gone, json!({"error": "Agent not found: scout"}));
}
