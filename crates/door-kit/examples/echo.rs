//! Sends back each message that it gets over a WebSocket, on the framing of all doors: `echo ADDRESS`. Conformance suites
//! want such a server, and no door is one. Run by `tests/gateway/autobahn.sh`.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::OnUpgrade;
use ostler_door_kit::websocket::{
    WebSocketConnection, WebSocketEvent, WebSocketIncoming, framing, handshake,
};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// The largest message of the suite has 16 MiB.
const LIMIT: usize = 16 * 1024 * 1024;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9001".to_owned());
    let listener = TcpListener::bind(address).await?;
    axum::serve(listener, Router::new().fallback(upgrade).with_state(TaskTracker::new())).await
}

async fn upgrade(State(tasks): State<TaskTracker>, mut request: Request) -> Response {
    let response = match handshake::accept(&request) {
        Ok(response) => response,
        Err(refusal) => return refusal.into_response(),
    };
    tasks.spawn(send_back(hyper::upgrade::on(&mut request)));
    response
}

async fn send_back(upgrading: OnUpgrade) {
    let Ok(upgraded) = upgrading.await else { return };
    let mut connection = WebSocketConnection::new(upgraded, LIMIT);
    loop {
        let frame = match connection.next_event(true).await {
            WebSocketEvent::Received(WebSocketIncoming::Complete(message)) => framing::message(&message),
            WebSocketEvent::Received(WebSocketIncoming::Ping(content)) => framing::pong(&content),
            WebSocketEvent::Received(WebSocketIncoming::Close) => {
                connection.send(framing::close(1000, "")).await;
                return;
            }
            WebSocketEvent::Received(WebSocketIncoming::Pong | WebSocketIncoming::TooLarge)
            | WebSocketEvent::Flushed => continue,
            WebSocketEvent::ProtocolViolated(violation) => return connection.fail(violation).await,
            WebSocketEvent::Gone => return,
        };
        connection.outgoing.push(frame);
    }
}
