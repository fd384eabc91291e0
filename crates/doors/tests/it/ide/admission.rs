//! Who is let in, and what is made of messages that are none.

use serde_json::json;

use super::client::IdeClient;
use crate::daemon::DoorTestDaemon;
use crate::gateway::client::{GatewayClient, GatewayReceived, masked};

#[tokio::test]
async fn only_who_shows_the_token_gets_a_socket() {
    let daemon = DoorTestDaemon::start().await;
    let (host, token) = (daemon.address.to_string(), daemon.token());
    let bearer = format!("Bearer {token}");
    let shown = format!("ostler-ide, ostler-token.{token}");
    let own = format!("http://{host}");
    let knock = async |headers: &[(&str, &str)]| {
        GatewayClient::connect(daemon.address, "/ws", headers).await.map(|_| ()).map_err(|(status, _)| status)
    };
    let protocol = |value| ("Sec-WebSocket-Protocol", value);
    let auth = ("Authorization", bearer.as_str());
    assert_eq!(knock(&[]).await, Err(401));
    assert_eq!(knock(&[("Authorization", "Bearer no")]).await, Err(401));
    assert_eq!(knock(&[protocol("ostler-token.no")]).await, Err(401));
    assert_eq!(knock(&[protocol("ostler-token.")]).await, Err(401));
    assert_eq!(knock(&[auth, ("Origin", "http://evil.example")]).await, Err(403));
    assert_eq!(
        knock(&[auth, ("Origin", "http://localhost:5173")]).await,
        Err(403),
        "headers are not a page's"
    );
    assert_eq!(knock(&[auth, ("Host", "evil.example")]).await, Err(403));
    assert_eq!(knock(&[protocol(&shown), ("Origin", "http://evil.example")]).await, Err(403));
    assert_eq!(knock(&[protocol(&shown), ("Host", "evil.example")]).await, Err(403));
    assert_eq!(knock(&[auth]).await, Ok(()));
    assert_eq!(knock(&[auth, ("Origin", &own)]).await, Ok(()));
    assert_eq!(knock(&[protocol(&shown), ("Origin", "http://localhost:3000")]).await, Ok(()));
    assert_eq!(knock(&[auth, ("Sec-WebSocket-Version", "8")]).await, Err(426));
    assert_eq!(daemon.get("/ws").await.status(), 426);
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_no_message_gets_an_error_and_the_socket_lives_on() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let invalid = json!({"type": "error", "message": "Invalid message format"});
    for bad in
        ["", "hello", "[]", "{}", r#"{"type":"session:destroy"}"#, r#"{"type":"session:send","sessionId":5}"#]
    {
        ide.socket.send_text(bad).await;
        assert_eq!(ide.frame().await, invalid, "{bad}");
    }
    assert_eq!(ide.ask("session:open", json!({"sessionId": null})).await, invalid);
    ide.socket.send_raw(&masked(0x81, &vec![b' '; (2 << 20) + 1])).await;
    let message = ide.until("error").await["message"].as_str().unwrap().to_owned();
    assert!(message.contains("at most"), "{message}");
    assert_eq!(ide.ask("project:list", json!({})).await, json!({"type": "project:list", "projects": []}));
    assert!(daemon.recorded().is_empty());
    daemon.stop().await;
}

#[tokio::test]
async fn a_daemon_that_stops_says_so() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let project = ide.project(&daemon).await;
    let session = ide.session(&project).await;
    ide.say(&session, "wait").await;
    ide.until("session:chunk").await;
    let stopped = tokio::spawn(daemon.stop());
    let frames = ide.turn().await;
    assert_eq!(frames.last().unwrap()["type"], "session:cancelled", "{frames:?}");
    let end = loop {
        match ide.socket.read().await {
            GatewayReceived::Frame(_) => {}
            other => break other,
        }
    };
    assert_eq!(end, GatewayReceived::Close(1001, "the daemon is stopping".to_owned()));
    stopped.await.unwrap();
}
