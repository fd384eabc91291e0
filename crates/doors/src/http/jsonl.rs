//! Where a connection becomes lines of JSON: `GET /jsonl` with `Upgrade: ostler-jsonl`. Who may come in has been
//! checked before, as everywhere; what the lines mean is `jsonl`'s.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;

use super::HttpDoor;
use super::error::ApiError;
use crate::access::Pass;
use crate::jsonl::{JsonlDoor, UPGRADE};

pub(super) async fn upgrade(
    State(door): State<HttpDoor>,
    Extension(pass): Extension<Pass>,
    mut request: Request,
) -> Response {
    if !asks_for_upgrade(request.headers()) {
        let mut refused = ApiError::new(
            StatusCode::UPGRADE_REQUIRED,
            "upgrade_required",
            format!("this path speaks lines of JSON, after `Upgrade: {UPGRADE}`"),
        )
        .hint("`ostler rpc` does that for you")
        .into_response();
        refused.headers_mut().insert(header::UPGRADE, header::HeaderValue::from_static(UPGRADE));
        return refused;
    }
    let Ok(place) = door.upgraded.places().try_acquire_owned() else {
        let message = "too many connections speak lines of JSON";
        return ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message)
            .hint("end one of them")
            .into_response();
    };
    let upgraded = hyper::upgrade::on(&mut request);
    let served = JsonlDoor::new(door.clone());
    door.upgraded.spawn(async move {
        let _place = place;
        match upgraded.await {
            Ok(upgraded) => {
                let (reader, writer) = tokio::io::split(TokioIo::new(upgraded));
                served.serve_upgraded(reader, writer, pass).await;
            }
            Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, header::HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, header::HeaderValue::from_static(UPGRADE));
    response
}

fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    let has = |name: header::HeaderName, wanted: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    has(header::CONNECTION, "upgrade") && has(header::UPGRADE, UPGRADE)
}
