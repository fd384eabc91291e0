//! The outermost layer: who may come in, and the headers that every answer carries. It wraps the merged routes of all
//! doors, so that none can be outside it: listeners serve nothing but a [`GuardedRouter`].

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use crate::access::{AccessDenied, AllowedPages, ListenerAccess};
use crate::auth_throttle::TooManyAuthFailures;
use crate::connection_slots::ConnectionSlot;
use crate::error::{DoorError, no_such_path};

/// Answers requests for files that are no secret; none where a request asks for something else. Called before the
/// source of a request is checked, so it may only read.
pub type PublicFiles = Arc<dyn Fn(&Request) -> Option<Response> + Send + Sync>;

/// Routes of one door or of several. Only [`Routes::guarded`] makes something of them that can be served.
#[derive(Default)]
pub struct Routes {
    router: Router,
    exceptions: Vec<(&'static str, Admission)>,
    public_files: Option<PublicFiles>,
    unknown_path_hint: Option<&'static str>,
}

/// How requests to a path are let in that need not show a token or a cookie in a header. Host and Origin are checked
/// all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Without a token, for our own pages.
    Public,
    /// A WebSocket that shows the token in its first frame, because pages cannot set headers there. The door must ask
    /// for it before anything else.
    FirstFrame,
    /// A WebSocket for which a page may name the token as a subprotocol.
    Subprotocol,
}

/// A router behind the guard.
#[derive(Clone)]
pub struct GuardedRouter(pub(crate) Router);

impl Routes {
    /// Routes that all need the token or a cookie in a header.
    pub fn new(router: Router) -> Routes {
        Routes { router, ..Routes::default() }
    }

    /// The same, but for this path.
    #[must_use]
    pub fn admit(mut self, path: &'static str, admission: Admission) -> Routes {
        self.exceptions.push((path, admission));
        self
    }

    /// The same, and files that everybody may have.
    #[must_use]
    pub fn with_public_files(self, files: PublicFiles) -> Routes {
        Routes { public_files: Some(files), ..self }
    }

    /// The same, and what a client is told that asks for a path of no door.
    #[must_use]
    pub fn with_unknown_path_hint(self, hint: &'static str) -> Routes {
        Routes { unknown_path_hint: Some(hint), ..self }
    }

    /// These routes and those of another door. Only one of the two may have open files and a hint.
    #[must_use]
    pub fn merge(mut self, other: Routes) -> Routes {
        self.router = self.router.merge(other.router);
        self.exceptions.extend(other.exceptions);
        self.public_files = self.public_files.or(other.public_files);
        self.unknown_path_hint = self.unknown_path_hint.or(other.unknown_path_hint);
        self
    }

    /// Puts the guard of one listener around all of them, and around paths that there are not.
    pub fn guarded(self, access: ListenerAccess) -> GuardedRouter {
        let hint = self.unknown_path_hint;
        let guard = Arc::new(Guard { access, exceptions: self.exceptions, public_files: self.public_files });
        let layer = middleware::from_fn(move |request: Request, next: Next| {
            let guard = Arc::clone(&guard);
            async move { guard.answer(request, next).await }
        });
        GuardedRouter(self.router.fallback(move || async move { no_such_path(hint) }).layer(layer))
    }
}

struct Guard {
    access: ListenerAccess,
    exceptions: Vec<(&'static str, Admission)>,
    public_files: Option<PublicFiles>,
}

impl Guard {
    async fn answer(&self, mut request: Request, next: Next) -> Response {
        let access = &self.access;
        let authority = request.uri().authority().map(|authority| authority.as_str());
        if let Some(file) = self.public_files.as_ref().and_then(|files| files(&request)) {
            let mut response = match access.check_page(request.headers(), authority) {
                Ok(()) => file,
                Err(denied) => denied_error(denied).into_response(),
            };
            add_security_headers(&mut response);
            return response;
        }
        let checked = match self.admission(request.uri().path()) {
            Some(Admission::FirstFrame) => {
                access.check_source(request.headers(), authority, AllowedPages::AnyLocal).map(|()| None)
            }
            Some(Admission::Subprotocol) => access.check_socket(request.headers(), authority).map(Some),
            Some(Admission::Public) => {
                access.check_source(request.headers(), authority, AllowedPages::OwnPage).map(|()| None)
            }
            None => {
                let source = access.check_source(request.headers(), authority, AllowedPages::OwnPage);
                source.and_then(|()| access.check_credential(request.method(), request.headers()).map(Some))
            }
        };
        let mut response = match checked {
            Ok(pass) => {
                if let Some(pass) = pass {
                    if let Some(occupied) = request.extensions().get::<Arc<ConnectionSlot>>() {
                        occupied.mark_authenticated();
                    }
                    request.extensions_mut().insert(pass);
                }
                next.run(request).await
            }
            Err(denied) => refuse_request(access, denied).await,
        };
        add_security_headers(&mut response);
        response
    }

    fn admission(&self, path: &str) -> Option<Admission> {
        self.exceptions.iter().find(|(known, _)| *known == path).map(|(_, admission)| *admission)
    }
}

/// The headers that every answer carries.
fn add_security_headers(response: &mut Response) {
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
async fn refuse_request(access: &ListenerAccess, denied: AccessDenied) -> Response {
    match denied {
        AccessDenied::Host | AccessDenied::Origin | AccessDenied::NoCredential => {
            denied_error(denied).into_response()
        }
        AccessDenied::WrongCredential => match access.wait_to_refuse().await {
            Ok(()) => denied_error(denied).into_response(),
            Err(many) => too_many_failures_response(&many),
        },
    }
}

/// What is told when too many wait to hear that what they showed is wrong. The connection is closed, so that the next
/// guess costs another one.
pub fn too_many_failures_response(many: &TooManyAuthFailures) -> Response {
    let message = "too many wrong tokens, cookies or codes were shown";
    let seconds = many.retry_after.as_secs() + 1;
    let mut response = DoorError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_refusals", message)
        .hint(format!(
            "what was shown with this request is wrong; try again with the right one, or in {seconds} s"
        ))
        .into_response();
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn denied_error(denied: AccessDenied) -> DoorError {
    match denied {
        AccessDenied::Host => DoorError::new(
            StatusCode::FORBIDDEN,
            "bad_host",
            "this request was meant for another host, or for none",
        )
        .hint("use the address that the daemon printed when it started"),
        AccessDenied::Origin => DoorError::new(
            StatusCode::FORBIDDEN,
            "bad_origin",
            "pages of other origins may not talk to this daemon",
        )
        .hint("a program that is no page shows the token, and sends neither Origin nor a cookie"),
        AccessDenied::NoCredential | AccessDenied::WrongCredential => DoorError::new(
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
