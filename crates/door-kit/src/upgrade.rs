//! Switches a connection from HTTP to lines of JSON, by `Upgrade` (RFC 9110, 7.8). The guard has checked who may come
//! in; what the lines mean is left to the door.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;
use ostler_engine::EngineError;

use crate::context::DoorContext;
use crate::error::DoorError;

/// A connection that speaks something else than HTTP from now on.
pub type SwitchedConnection = TokioIo<hyper::upgrade::Upgraded>;

/// Switches a connection to lines of this protocol, if that is what the request asks for.
pub fn switch_protocol<Served: Future<Output = ()> + Send>(
    context: &DoorContext,
    mut request: Request,
    protocol: &'static str,
    hint: &str,
    serve: impl FnOnce(SwitchedConnection) -> Served + Send + 'static,
) -> Response {
    if !asks_for_upgrade(request.headers(), protocol) {
        let mut refused = DoorError::new(
            StatusCode::UPGRADE_REQUIRED,
            "upgrade_required",
            format!("this path speaks lines of JSON, after `Upgrade: {protocol}`"),
        )
        .hint(hint)
        .into_response();
        refused.headers_mut().insert(header::UPGRADE, header::HeaderValue::from_static(protocol));
        return refused;
    }
    if *context.engine.stopping().borrow() {
        return DoorError::from(EngineError::ShuttingDown).into_response();
    }
    let Some(place) = context.reserve_connection() else {
        let message = "too many connections speak lines of JSON";
        return DoorError::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message)
            .hint("end one of them")
            .into_response();
    };
    let upgraded = hyper::upgrade::on(&mut request);
    context.spawn_connection(async move {
        let _place = place;
        match upgraded.await {
            Ok(upgraded) => serve(TokioIo::new(upgraded)).await,
            Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, header::HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, header::HeaderValue::from_static(protocol));
    response
}

fn asks_for_upgrade(headers: &HeaderMap, protocol: &str) -> bool {
    let has = |name: header::HeaderName, wanted: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    has(header::CONNECTION, "upgrade") && has(header::UPGRADE, protocol)
}
