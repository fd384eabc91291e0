//! The pool door: agents as JSON-RPC 2.0 over HTTP. `POST /rpc` (and `/`) makes, ends and lists agents, `POST
//! /agent/{id}` talks to one. `docs/protocols/pool.md` describes it for the people who write clients.
//!
//! An agent is an open session that has a name. The door remembers nothing: a name leads to its session by the
//! index, and a request's id to its turn by the key under which its message was recorded. So both outlive the
//! daemon.

mod agent_methods;
mod json_rpc;
mod message_rows;
mod pool_methods;
mod presets;
mod send;
mod stream;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use ostler_door_kit::{AccessGrant, DoorContext, Routes, caller, is_json, read_body, wrong_method};
use ostler_types::SessionId;
use serde_json::{Value, json};

use json_rpc::{PoolCall, PoolRpcError, error_response, to_http_response};
use send::PendingSend;

/// The routes of this door.
pub(crate) fn routes(context: DoorContext) -> Routes {
    let router = Router::new()
        .route("/rpc", post(handle_pool))
        .route("/", post(handle_pool))
        .route("/agent/{agent_id}", post(handle_agent))
        .method_not_allowed_fallback(wrong_method);
    Routes::new(router.with_state(context))
}

/// The pool as a whole.
async fn handle_pool(State(context): State<DoorContext>, request: Request) -> Response {
    let by = pool_caller(request.headers());
    let call = match read_call(request).await {
        Ok(call) => call,
        Err(response) => return response,
    };
    let result = match call.method.as_str() {
        "create_agent" => pool_methods::create(&context, &call).await,
        "destroy_agent" => pool_methods::destroy(&context, &call, by).await,
        "list_agents" => pool_methods::list(&context, &call).await,
        other => Err(PoolRpcError::unknown_method(other)),
    };
    to_http_response(call.id.as_ref(), result)
}

/// One agent.
async fn handle_agent(
    State(context): State<DoorContext>,
    Path(name): Path<String>,
    Extension(pass): Extension<AccessGrant>,
    request: Request,
) -> Response {
    let (by, streams) = (pool_caller(request.headers()), wants_stream(request.headers()));
    let call = match read_call(request).await {
        Ok(call) => call,
        Err(response) => return response,
    };
    let id = match context.engine.by_name(&name).await {
        Ok(Some(id)) => id,
        Ok(None) => return unknown_agent(&name),
        Err(error) => return to_http_response(call.id.as_ref(), Err(error.into())),
    };
    if call.method == "send" {
        return match (send::submit(&context, id, &call, by).await, &call.id) {
            (Ok(_), None) => to_http_response(None, Ok(Value::Null)),
            (Ok(waiting), Some(_)) if streams => stream::respond(waiting, call, pass),
            (Ok(waiting), Some(_)) => {
                to_http_response(call.id.as_ref(), PendingSend::wait_for_outcome(waiting).await)
            }
            (Err(error), _) => to_http_response(call.id.as_ref(), Err(error)),
        };
    }
    let result = call_agent(&context, id, &name, &call, by).await;
    to_http_response(call.id.as_ref(), result)
}

async fn call_agent(
    context: &DoorContext,
    id: SessionId,
    name: &str,
    call: &PoolCall,
    by: String,
) -> Result<Value, PoolRpcError> {
    match call.method.as_str() {
        "cancel" => agent_methods::cancel(context, id, call, &by).await,
        "get_tokens" => agent_methods::get_tokens(context, id, call).await,
        "get_context" => agent_methods::get_context(context, id, call).await,
        "get_messages" => agent_methods::get_messages(context, id, name, call).await,
        "compact" => agent_methods::compact(context, id, call).await,
        "shutdown" => agent_methods::shutdown(context, id, call, by).await,
        other => Err(PoolRpcError::unknown_method(other)),
    }
}

/// Reads a call out of a request. A page of another origin can send a form or plain text without being asked, so
/// what is not called JSON is not looked at.
async fn read_call(request: Request) -> Result<PoolCall, Response> {
    if !is_json(request.headers()) {
        let error =
            PoolRpcError::invalid_request("the body must be sent as `content-type: application/json`");
        return Err(error_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, &Value::Null, error));
    }
    let body = read_body(request).await.map_err(|error| {
        error_response(error.status, &Value::Null, PoolRpcError::invalid_request(error.body.error.message))
    })?;
    PoolCall::parse(&body).map_err(|refused| {
        let (id, error) = *refused;
        error_response(StatusCode::BAD_REQUEST, &id, error)
    })
}

fn unknown_agent(name: &str) -> Response {
    let error = format!("Agent not found: {}", name.chars().take(128).collect::<String>());
    (StatusCode::NOT_FOUND, axum::Json(json!({ "error": error }))).into_response()
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    accepted.flat_map(|accept| accept.split(',')).any(|kind| {
        kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
    })
}

/// Who a request says it comes from, for the log.
fn pool_caller(headers: &HeaderMap) -> String {
    caller(headers).replacen("http", "pool", 1)
}
