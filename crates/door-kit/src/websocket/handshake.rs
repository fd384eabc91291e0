//! From an HTTP request to a WebSocket (RFC 6455, section 4): what a request must have, and how it is answered.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// What the protocol says is added to a key.
const ACCEPT_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Whether a request asks for a WebSocket, in whatever way.
pub fn is_requested(request: &Request) -> bool {
    has_header_word(request.headers(), &header::UPGRADE, "websocket")
}

/// The answer that makes a WebSocket of the connection, or why it cannot be one.
pub fn accept(request: &Request) -> Result<Response, (StatusCode, &'static str)> {
    let headers = request.headers();
    if request.method() != Method::GET || !has_header_word(headers, &header::CONNECTION, "upgrade") {
        return Err((StatusCode::BAD_REQUEST, "a WebSocket begins with a GET and `Connection: Upgrade`"));
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err((
            StatusCode::UPGRADE_REQUIRED,
            "only version 13 of the WebSocket protocol is spoken here",
        ));
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes).unwrap_or_default();
    if !STANDARD.decode(key).is_ok_and(|key| key.len() == 16) {
        return Err((StatusCode::BAD_REQUEST, "`Sec-WebSocket-Key` must be 16 bytes in base64"));
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = response.headers_mut();
    fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    fields.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    fields.insert(header::SEC_WEBSOCKET_ACCEPT, accept_key(key));
    Ok(response)
}

/// Shows that the key was read by somebody who speaks the protocol.
fn accept_key(key: &[u8]) -> HeaderValue {
    let digest = Sha1::new().chain_update(key).chain_update(ACCEPT_GUID).finalize();
    HeaderValue::try_from(STANDARD.encode(digest)).expect("base64 is a valid header")
}

fn has_header_word(headers: &HeaderMap, name: &header::HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
}

/// The subprotocols that a client names.
pub fn offered_protocols(headers: &HeaderMap) -> Vec<&str> {
    let values =
        headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::accept_key;

    #[test]
    fn the_proof_is_that_of_the_standard() {
        assert_eq!(accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
