//! The ide door: projects, and sessions of several agents beside each other, over a WebSocket at `/ws`.
//! `docs/protocols/ide.md` describes it for the people who write clients.
//!
//! Who may come in is decided before there is a socket, by the Host, the Origin and the token. The door holds no
//! session: what a socket remembers is what its client has been told.

mod entries;
mod follower;
mod frames;
mod own_messages;
mod requests;
mod session_names;
mod socket;
mod translate;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Router};
use ostler_door_kit::websocket::{WebSocketConnection, handshake};
use ostler_door_kit::{AccessGrant, Admission, DoorContext, DoorError, Routes, TOKEN_PROTOCOL};
use ostler_types::AgentLink;

use frames::IdeAgentStatus;
use socket::IdeSocket;

/// Where the door is.
const PATH: &str = "/ws";
/// The subprotocol that is spoken; named beside the token, so that no answer has to repeat that.
const PROTOCOL: &str = "ostler-ide";
/// Who asks, in the log.
const CALLER: &str = "ide";
/// Bytes of one message that a client sends.
const MAX_MESSAGE: usize = 2 << 20;

/// The routes of this door.
pub(crate) fn routes(context: DoorContext) -> Routes {
    let router = Router::new().route(PATH, any(upgrade)).with_state(context);
    Routes::new(router).admit(PATH, Admission::Subprotocol)
}

/// Makes a socket of a request.
async fn upgrade(
    State(context): State<DoorContext>,
    Extension(pass): Extension<AccessGrant>,
    mut request: Request,
) -> Response {
    let refused = |status, message: &str| DoorError::new(status, "bad_upgrade", message).into_response();
    if !handshake::is_requested(&request) {
        let mut response = refused(StatusCode::UPGRADE_REQUIRED, "this is a WebSocket; ask for an upgrade");
        response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        return response;
    }
    let mut response = match handshake::accept(&request) {
        Ok(response) => response,
        Err((status, reason)) => return refused(status, reason),
    };
    let Some(place) = context.reserve_connection() else {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "there are too many sockets; close one");
    };
    if let Some(protocol) = chosen_subprotocol(request.headers()) {
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    let upgrading = hyper::upgrade::on(&mut request);
    let served = context.clone();
    context.spawn_connection(async move {
        let _place = place;
        match upgrading.await {
            Ok(upgraded) => {
                let connection = WebSocketConnection::new(upgraded, MAX_MESSAGE);
                Box::pin(IdeSocket::new(served, connection, pass).run()).await;
            }
            Err(error) => tracing::debug!(%error, "a connection did not become a socket"),
        }
    });
    response
}

/// The subprotocol to answer with: browsers that name some want one of them back.
fn chosen_subprotocol(headers: &HeaderMap) -> Option<HeaderValue> {
    let named = handshake::offered_protocols(headers);
    let own = named.iter().find(|name| **name == PROTOCOL);
    let chosen = own.or_else(|| named.iter().find(|name| name.starts_with(TOKEN_PROTOCOL)))?;
    HeaderValue::from_str(chosen).ok()
}

/// The status of an agent, if there is one to tell. This wire has no word for an agent that merely does not run, and
/// clients lock their input at "disconnected". An agent without a process of its own is always connected.
fn agent_status(context: &DoorContext, agent: &str) -> Option<IdeAgentStatus> {
    let links = context.agents().statuses();
    match links.iter().find(|(name, _)| name == agent).map(|(_, link)| link) {
        Some(AgentLink::Starting) => Some(IdeAgentStatus::Starting),
        Some(AgentLink::Connected) | None => Some(IdeAgentStatus::Connected),
        Some(AgentLink::Reconnecting) => Some(IdeAgentStatus::Reconnecting),
        Some(AgentLink::Disconnected) => Some(IdeAgentStatus::Disconnected),
        Some(AgentLink::Idle) => None,
    }
}
