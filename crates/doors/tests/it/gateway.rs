//! The gateway over real sockets, frame by frame. Every frame that comes is checked against the JSON Schema.

mod admission;
mod approvals;
mod chat;
pub(crate) mod client;
mod following;
mod frames;
mod framing;
mod fuzz;
mod golden;
mod lifecycle;
mod many_sockets;
mod schema;

use serde_json::json;

use crate::daemon::DoorTestDaemon;
use client::GatewayClient;

impl GatewayClient {
    /// A socket on the gateway's own port that has shown the token.
    pub(crate) async fn open(daemon: &DoorTestDaemon) -> GatewayClient {
        let mut client = GatewayClient::connect(daemon.gateway_address, "/", &[]).await.unwrap();
        client.send(&json!({"type": "auth", "token": daemon.token()})).await;
        assert_eq!(client.frame().await, json!({"type": "auth", "ok": true}));
        client
    }
}
