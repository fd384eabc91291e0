//! The outermost layer: who may come in, and the headers that every answer carries. It wraps the
//! merged router, so no route can be outside it.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::page::{self, PageFiles};
use crate::access::{Access, Denied, Pages};
use crate::places::Occupied;
use crate::refusals::TooMany;
use crate::{gateway, ide};

/// Needs no token at all.
pub(super) const HEALTH: &str = "/healthz";
/// Where a page shows its code, before it has anything else to show.
pub(super) const LOGIN: &str = "/v1/login";

/// Puts the guard around a router.
pub(super) fn guarded(router: Router, access: Access, page: Option<PageFiles>) -> Router {
    router.layer(middleware::from_fn(move |request: Request, next: Next| {
        let access = access.clone();
        async move { guard(&access, page, request, next).await }
    }))
}

async fn guard(access: &Access, page: Option<PageFiles>, mut request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    if let Some(file) = page.and_then(|files| page::wanted(files, &request)) {
        let mut response = match access.check_page(request.headers(), authority) {
            Ok(()) => file.into_response(request.method(), request.headers()),
            Err(denied) => refusal(denied).into_response(),
        };
        protect(&mut response);
        return response;
    }
    let checked = match request.uri().path() {
        // Its first frame shows the token: a page cannot set headers there.
        gateway::PATH => access.check_source(request.headers(), authority, Pages::AnyLocal).map(|()| None),
        // A page may show the token when it asks for a socket, in the only way that it has.
        ide::PATH => access.check_socket(request.headers(), authority).map(Some),
        HEALTH | LOGIN => access.check_source(request.headers(), authority, Pages::Own).map(|()| None),
        _ => {
            let source = access.check_source(request.headers(), authority, Pages::Own);
            source.and_then(|()| access.check_pass(request.method(), request.headers()).map(Some))
        }
    };
    let mut response = match checked {
        Ok(pass) => {
            if let Some(pass) = pass {
                if let Some(occupied) = request.extensions().get::<Arc<Occupied>>() {
                    occupied.keep();
                }
                request.extensions_mut().insert(pass);
            }
            next.run(request).await
        }
        Err(denied) => refuse(access, denied).await,
    };
    protect(&mut response);
    response
}

/// The headers that every answer carries.
fn protect(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
}

/// Turns a request away. One that guesses has to wait for its answer.
async fn refuse(access: &Access, denied: Denied) -> Response {
    match denied {
        Denied::Host | Denied::Origin | Denied::Token => refusal(denied).into_response(),
        Denied::Wrong => match access.wait_to_refuse().await {
            Ok(()) => refusal(denied).into_response(),
            Err(many) => too_many_refusals(&many),
        },
    }
}

/// What is told when too many wait to hear that what they showed is wrong. The connection is closed, so that the next
/// guess costs another one.
pub(super) fn too_many_refusals(many: &TooMany) -> Response {
    let message = "too many wrong tokens, cookies or codes were shown";
    let seconds = many.retry_after.as_secs() + 1;
    let mut response = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_refusals", message)
        .hint(format!(
            "what was shown with this request is wrong; try again with the right one, or in {seconds} s"
        ))
        .into_response();
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn refusal(denied: Denied) -> ApiError {
    match denied {
        Denied::Host => ApiError::new(
            StatusCode::FORBIDDEN,
            "bad_host",
            "this request was meant for another host, or for none",
        )
        .hint("use the address that the daemon printed when it started"),
        Denied::Origin => ApiError::new(
            StatusCode::FORBIDDEN,
            "bad_origin",
            "pages of other origins may not talk to this daemon",
        )
        .hint("a program that is no page shows the token, and sends neither Origin nor a cookie"),
        Denied::Token | Denied::Wrong => ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the token is missing or wrong",
        )
        .hint(
            "send `Authorization: Bearer TOKEN`; the token is in the file `token` of the data directory, and \
                 `ostler open` lets a browser in",
        ),
    }
}
