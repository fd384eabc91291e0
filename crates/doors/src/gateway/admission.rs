//! The way in: from a request to an authenticated socket. Everything that can be refused before there is a socket is
//! refused before there is one.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use ostler_door_kit::websocket::{
    WebSocketConnection, WebSocketEvent, WebSocketIncoming, WebSocketMessage, framing, handshake,
};
use ostler_door_kit::{AccessGrant, AllowedPages, ConnectionSlot, ListenerAccess};
use serde_json::{Value, json};

use super::GatewayState;
use super::frames::{AuthReply, ErrorResponse};
use super::methods::health;
use super::params::json_value;
use super::socket::GatewaySocket;

/// Bytes of a frame that comes before the token was shown.
const AUTH_FRAME: usize = 64 * 1024;
/// Frames that make no sense before the token was shown.
const MAX_FRAMES_BEFORE_AUTH: u32 = 8;

/// Answers a request to the gateway's own port.
pub(super) async fn handle_on_own_port(
    door: Arc<GatewayState>,
    access: ListenerAccess,
    request: Request,
) -> Response {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    if access.check_source(request.headers(), authority, AllowedPages::AnyLocal).is_err() {
        let reason = "this request was meant for another host, or comes from a page that is not local";
        return own_port_error(StatusCode::FORBIDDEN, reason);
    }
    if handshake::is_requested(&request) {
        return upgrade(door, access, request);
    }
    if request.method() == Method::GET && request.uri().path() == "/health" {
        return with_security_headers(axum::Json(health(&door)).into_response());
    }
    own_port_error(StatusCode::NOT_FOUND, "not found")
}

/// Answers a request to the gateway's path on the http door.
pub(super) async fn handle_on_http_door(
    door: Arc<GatewayState>,
    access: ListenerAccess,
    request: Request,
) -> Response {
    if handshake::is_requested(&request) {
        return upgrade(door, access, request);
    }
    let mut response = upgrade_error(StatusCode::UPGRADE_REQUIRED, "this is a WebSocket; ask for an upgrade");
    response.headers_mut().insert(header::UPGRADE, header::HeaderValue::from_static("websocket"));
    response
}

fn upgrade(door: Arc<GatewayState>, access: ListenerAccess, mut request: Request) -> Response {
    let response = match handshake::accept(&request) {
        Ok(response) => response,
        Err((status, reason)) => return upgrade_error(status, reason),
    };
    let full = |what| upgrade_error(StatusCode::SERVICE_UNAVAILABLE, what);
    // Only sockets that have shown the token count here, so nobody else can fill the door.
    if door.sockets.available_permits() == 0 {
        return full("there are too many sockets; close one");
    }
    let Some(waiting) = door.unauthenticated.try_acquire() else {
        return full("too many sockets have not shown their token; try again");
    };
    let upgrading = hyper::upgrade::on(&mut request);
    let tasks = door.tasks.clone();
    tasks.spawn(serve(door, access, upgrading, waiting));
    response
}

/// One socket, from its first frame to its last.
async fn serve(
    door: Arc<GatewayState>,
    access: ListenerAccess,
    upgrading: OnUpgrade,
    waiting: ConnectionSlot,
) {
    let admitted = tokio::time::timeout(door.limits.auth_timeout, wait_for_token(&door, &access, upgrading));
    let admitted = tokio::select! {
        admitted = admitted => admitted,
        () = waiting.evicted() => {
            tracing::debug!("a socket that had not shown its token gave way to a newer one");
            return;
        }
    };
    // Also before a guess is answered: those who wait for that may not keep out those who have the token.
    drop(waiting);
    let (socket, _place) = match admitted {
        Ok(Some(AuthAttempt::Accepted(mut connection, pass))) => {
            match Arc::clone(&door.sockets).try_acquire_owned() {
                Ok(place) => (GatewaySocket::new(door, connection, pass), place),
                Err(_) => {
                    connection.send(framing::close(1013, "there are too many sockets; close one")).await;
                    return;
                }
            }
        }
        Ok(Some(AuthAttempt::WrongToken(mut connection))) => {
            let answered = async {
                // Where too many wait already, this one is turned away at once.
                _ = access.wait_to_refuse().await;
                reject_auth(&mut connection, "invalid token").await;
            };
            _ = tokio::time::timeout(door.limits.auth_timeout, answered).await;
            return;
        }
        Ok(None) => return,
        Err(_) => {
            tracing::debug!("a socket did not show its token in time");
            return;
        }
    };
    // In a place of its own, so that a socket takes the room that it needs and not that of its beginning.
    Box::pin(socket.run()).await;
}

/// How a socket that has shown a token came.
enum AuthAttempt {
    /// With the right one.
    Accepted(WebSocketConnection, AccessGrant),
    /// With a wrong one, which it has not been told yet.
    WrongToken(WebSocketConnection),
}

/// Waits for the token.
async fn wait_for_token(
    door: &GatewayState,
    access: &ListenerAccess,
    upgrading: OnUpgrade,
) -> Option<AuthAttempt> {
    let upgraded: Upgraded = upgrading.await.ok()?;
    let limit = door.limits.max_frame_bytes.min(AUTH_FRAME);
    let mut connection = WebSocketConnection::new(upgraded, limit);
    for _ in 0..MAX_FRAMES_BEFORE_AUTH {
        let message = match connection.next_event(true).await {
            WebSocketEvent::Received(WebSocketIncoming::Complete(message)) => message,
            WebSocketEvent::Received(WebSocketIncoming::Ping(content)) => {
                connection.send(framing::pong(&content)).await.then_some(())?;
                continue;
            }
            WebSocketEvent::Received(WebSocketIncoming::Pong) | WebSocketEvent::Flushed => continue,
            WebSocketEvent::Received(WebSocketIncoming::TooLarge) => WebSocketMessage::Text(String::new()),
            WebSocketEvent::Received(WebSocketIncoming::Close) => {
                connection.send(framing::close(1000, "")).await;
                return None;
            }
            WebSocketEvent::ProtocolViolated(violation) => {
                connection.fail(violation).await;
                return None;
            }
            WebSocketEvent::Gone => return None,
        };
        match json_value(message.as_bytes()) {
            Ok(frame) => return check_auth_frame(door, access, connection, &frame).await,
            Err(error) => {
                let frame = framing::text(&ErrorResponse { id: None, error: &error });
                connection.send(frame).await.then_some(())?;
            }
        }
    }
    reject_auth(&mut connection, "First message must be auth").await;
    None
}

/// Looks at the first frame that is one.
async fn check_auth_frame(
    door: &GatewayState,
    access: &ListenerAccess,
    mut connection: WebSocketConnection,
    frame: &Value,
) -> Option<AuthAttempt> {
    if frame["type"] != "auth" {
        reject_auth(&mut connection, "First message must be auth").await;
        return None;
    }
    let Some(pass) = access.grant_for_token(frame["token"].as_str().unwrap_or_default()) else {
        return Some(AuthAttempt::WrongToken(connection));
    };
    connection.set_limit(door.limits.max_frame_bytes);
    connection
        .send(framing::text(&AuthReply::accepted()))
        .await
        .then_some(AuthAttempt::Accepted(connection, pass))
}

async fn reject_auth(connection: &mut WebSocketConnection, reason: &'static str) {
    connection.outgoing.push(framing::text(&AuthReply::refused(reason)));
    connection.send(framing::close(4401, "unauthorized")).await;
}

/// A refusal in the shape of the gateway's own port.
fn own_port_error(status: StatusCode, reason: &str) -> Response {
    with_security_headers((status, axum::Json(json!({"error": reason}))).into_response())
}

/// A refusal that both ports understand.
fn upgrade_error(status: StatusCode, reason: &str) -> Response {
    let error = json!({"code": "bad_upgrade", "message": reason});
    let mut response = (status, axum::Json(json!({"error": error}))).into_response();
    if status == StatusCode::UPGRADE_REQUIRED {
        let version = header::HeaderValue::from_static("13");
        response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, version);
    }
    with_security_headers(response)
}

/// No browser may make anything else of an answer.
fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
