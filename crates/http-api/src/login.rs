//! Logging in and out: a code becomes a cookie, the token makes codes, and a cookie is made void. What a cookie is
//! enough for is decided by the guard.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use ostler_api_types::{LoginCode, LoginRequest};
use ostler_door_kit::{AccessGrant, DoorError, LoginLink, Logins, too_many_failures_response};

use super::HttpDoor;
use super::extract::JsonBody;

pub(super) async fn log_in(
    State(door): State<HttpDoor>,
    JsonBody(body): JsonBody<LoginRequest>,
) -> Result<Response, DoorError> {
    let logins = logins(&door)?;
    let Some(cookie) = logins.log_in(&body.code).await.map_err(|_| failed())? else {
        return Ok(match logins.wait_to_refuse().await {
            Ok(()) => bad_code().into_response(),
            Err(many) => too_many_failures_response(&many),
        });
    };
    let seconds = Logins::cookie_seconds();
    Ok(with_cookie(&format!("{}={cookie}; Max-Age={seconds}", logins.cookie_name())))
}

pub(super) async fn create_login_code(
    State(door): State<HttpDoor>,
    Extension(pass): Extension<AccessGrant>,
) -> Result<(StatusCode, Json<LoginCode>), DoorError> {
    if let AccessGrant::Login(..) = pass {
        let message = "a browser that was let in cannot let in another";
        return Err(DoorError::new(StatusCode::FORBIDDEN, "token_needed", message)
            .hint("run `ostler open` in a terminal"));
    }
    let LoginLink { address, expires_at } =
        logins(&door)?.create_login_link().map_err(|_| failed())?.ok_or_else(no_page)?;
    Ok((StatusCode::CREATED, Json(LoginCode { address, expires_at })))
}

pub(super) async fn log_out(
    State(door): State<HttpDoor>,
    Extension(pass): Extension<AccessGrant>,
) -> Result<Response, DoorError> {
    let logins = logins(&door)?;
    let name = logins.cookie_name();
    if let AccessGrant::Login(logins, digest) = pass {
        logins.log_out(&digest).await;
    }
    Ok(with_cookie(&format!("{name}=; Max-Age=0")))
}

/// An empty answer that sets the cookie. A page cannot read it, and other sites cannot have it sent.
fn with_cookie(cookie: &str) -> Response {
    let cookie = HeaderValue::from_str(&format!("{cookie}; Path=/; HttpOnly; SameSite=Strict"));
    let cookie = cookie.expect("a name, hex digits and a number are visible letters");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}

fn logins(door: &HttpDoor) -> Result<Arc<Logins>, DoorError> {
    door.logins.clone().ok_or_else(no_page)
}

fn no_page() -> DoorError {
    DoorError::new(StatusCode::CONFLICT, "no_page", "this daemon has no address for a page")
        .hint("start one with `ostler serve`")
}

fn bad_code() -> DoorError {
    let message = "the code is wrong, too old, or was used before";
    DoorError::new(StatusCode::UNAUTHORIZED, "bad_code", message).hint("`ostler open` makes a new one")
}

fn failed() -> DoorError {
    let message = "the system gave no random numbers";
    DoorError::new(StatusCode::SERVICE_UNAVAILABLE, "login_failed", message).hint("try again")
}
