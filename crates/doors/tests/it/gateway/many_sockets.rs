//! Many sockets that follow one stream.

use serde_json::json;

use super::client::GatewayClient;
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn hundreds_of_sockets_see_one_stream() {
    let daemon = DoorTestDaemon::start().await;
    let mut speaker = GatewayClient::open(&daemon).await;
    let key = speaker.session().await;
    let mut listeners = Vec::new();
    for _ in 0..300 {
        let mut client = GatewayClient::open(&daemon).await;
        client.ask("chat.history", json!({"sessionKey": key})).await;
        listeners.push(client);
    }
    assert_eq!(daemon.gateway.sockets(), 301);
    let text = "many words ".repeat(500);
    let run = speaker.say(&key, &text).await;
    for client in &mut listeners {
        let (seen, end) = client.run(&run).await;
        assert_eq!(seen, format!("You said: {text}"));
        assert_eq!(end["event"], "chat.final");
    }
    daemon.stop().await;
}
