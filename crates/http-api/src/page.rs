//! The page: its files, and the paths that are its own. Served to whoever asks, since there is no secret in them; what
//! the page then asks for is checked like any other request. Where the files come from is left to whoever wires a
//! daemon together.

use std::borrow::Cow;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_door_kit::hex;
use sha2::{Digest as _, Sha256};

/// Finds a file of the page by its name, such as `index.html` or `assets/a.js`. There is always an `index.html`. A file
/// may lie there compressed as well, with `.br` or `.gz` added to its name.
pub type PageFiles = fn(&str) -> Option<Cow<'static, [u8]>>;

/// What a browser lets the page do: nothing with anybody else, and run nothing that was not built.
const POLICY: &str = "default-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";
/// Where files lie whose names change with their content.
const HASHED_FILES_PREFIX: &str = "assets/";
const INDEX: &str = "index.html";

/// Answers a request that asks for a file of the page; none where it asks for something else.
pub(super) fn answer(files: PageFiles, request: &Request) -> Option<Response> {
    requested_file(files, request).map(|file| file.into_response(request.method(), request.headers()))
}

/// A file of the page that a request asks for.
struct RequestedPageFile {
    files: PageFiles,
    name: String,
    content: Cow<'static, [u8]>,
}

/// The file that a request asks for, if it asks for the page. Every path that a person may type leads there, unless
/// it is one of the doors'.
fn requested_file(files: PageFiles, request: &Request) -> Option<RequestedPageFile> {
    let path = request.uri().path();
    let is_route = path != "/" && request.extensions().get::<MatchedPath>().is_some();
    if is_route || !matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    let name = if path == "/" { INDEX } else { plain_file_name(path)? };
    let file =
        |name: &str| files(name).map(|content| RequestedPageFile { files, name: name.to_owned(), content });
    let is_place = !name.starts_with("v1/")
        && name != "v1"
        && !name.contains('.')
        && !name.starts_with(HASHED_FILES_PREFIX);
    match file(name) {
        None if is_place && accepts(request.headers(), header::ACCEPT, "text/html") => file(INDEX),
        found => found,
    }
}

impl RequestedPageFile {
    /// The answer, compressed where the client takes that and short where it has the file.
    fn into_response(self, method: &Method, headers: &HeaderMap) -> Response {
        let (encoding, content) = self.negotiate_encoding(headers);
        let tag = format!("\"{}\"", hex(&Sha256::digest(&content)[..16]));
        let kept = match self.name.starts_with(HASHED_FILES_PREFIX) {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
        };
        let held = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let is_held =
            held.is_some_and(|tags| tags.split(',').any(|it| it.trim().trim_start_matches("W/") == tag));
        let length = content.len();
        let body = if is_held || method == Method::HEAD { Body::empty() } else { Body::from(content) };
        let mut response = body.into_response();
        if is_held {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        }
        for (name, value) in [
            (header::CONTENT_TYPE, media_type(&self.name)),
            (header::CACHE_CONTROL, kept),
            (header::VARY, "accept-encoding"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        let tag = HeaderValue::from_str(&tag).expect("hex digits between quotes are visible letters");
        response.headers_mut().insert(header::ETAG, tag);
        if let Some(encoding) = encoding {
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        response
    }

    fn negotiate_encoding(&self, headers: &HeaderMap) -> (Option<&'static str>, Cow<'static, [u8]>) {
        for (encoding, ending) in [("br", "br"), ("gzip", "gz")] {
            if accepts(headers, header::ACCEPT_ENCODING, encoding)
                && let Some(content) = (self.files)(&format!("{}.{ending}", self.name))
            {
                return (Some(encoding), content);
            }
        }
        (None, self.content.clone())
    }
}

/// The path as a name, if it is of plain letters and leads nowhere else.
fn plain_file_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix('/')?;
    let is_plain = |part: &str| {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(letter)
    };
    name.split('/').all(is_plain).then_some(name)
}

/// Whether a list of what is accepted names this, and does not rule it out.
fn accepts(headers: &HeaderMap, name: header::HeaderName, wanted: &str) -> bool {
    let lists = headers.get_all(name).iter().filter_map(|list| list.to_str().ok());
    let mut named = lists.flat_map(|list| list.split(',')).map(|one| {
        let mut parts = one.split(';').map(str::trim);
        (
            parts.next().unwrap_or_default(),
            parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000")),
        )
    });
    named.any(|(name, ruled_out)| name.eq_ignore_ascii_case(wanted) && !ruled_out)
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::plain_file_name;

    #[test]
    fn names_lead_nowhere_else() {
        for name in ["index.html", "assets/a-B_1.js", "s/sess_0190"] {
            assert_eq!(plain_file_name(&format!("/{name}")), Some(name));
        }
        for path in [
            "",
            "/",
            "//a",
            "/a/",
            "/../token",
            "/a/../../token",
            "/.env",
            "/a/.git",
            "/%2e%2e/token",
            "/a\\b",
            "/a%00",
        ] {
            assert_eq!(plain_file_name(path), None, "{path}");
        }
    }
}
