//! Handing a file out so that no browser runs it: under a type that cannot be a page or a script, as a
//! download unless it is a picture, and in a sandbox if it is opened all the same.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use ostler_engine::{OpenBlob, StoredBlob};

/// Bytes that are read ahead of what the client has taken.
const CHUNK: usize = 64 << 10;

/// Endings of files that a browser would run or draw with scripts in them.
const ACTIVE_EXTENSIONS: [&str; 13] =
    ["html", "htm", "xhtml", "xht", "shtml", "svg", "svgz", "xml", "xsl", "xslt", "js", "mjs", "mht"];

/// The answer that holds a file.
pub(super) fn download(open: OpenBlob) -> Response {
    let StoredBlob { name, mime_type, size, .. } = &open.file;
    let kind = served_type(mime_type, name, &open.head);
    let place = if kind.starts_with("image/") { "inline" } else { "attachment" };
    let disposition = format!("{place}; filename*=UTF-8''{}", escaped(name));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_LENGTH, HeaderValue::from(*size)),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::try_from(disposition).expect("an escaped name is a valid header value"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("private")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
        ),
    ];
    let mut response = Response::new(Body::from_stream(content(open)));
    response.headers_mut().extend(headers);
    response
}

/// Types that cannot be run are told; the rest is a row of bytes.
fn served_type(mime_type: &'static str, name: &str, head: &[u8]) -> &'static str {
    match mime_type {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "application/pdf" => mime_type,
        "text/plain" if !is_active(name, head) => "text/plain; charset=utf-8",
        audio if audio.starts_with("audio/") => audio,
        _ => "application/octet-stream",
    }
}

/// Whether a text is markup or a script, by its name or its first character.
fn is_active(name: &str, head: &[u8]) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    extension.is_some_and(|extension| ACTIVE_EXTENSIONS.contains(&extension.as_str()))
        || text.trim_ascii_start().starts_with(b"<")
}

/// The file's bytes, as many as were promised. If it fails on the way, so does the connection, and the
/// client sees that something is missing.
fn content(open: OpenBlob) -> impl futures_util::Stream<Item = std::io::Result<Bytes>> {
    stream::try_unfold((open, 0), |(open, offset)| async move {
        let wanted = CHUNK.min(usize::try_from(open.file.size - offset).unwrap_or(CHUNK));
        let chunk = if wanted == 0 { Bytes::new() } else { open.read(offset, wanted).await? };
        let next = offset + chunk.len() as u64;
        Ok((!chunk.is_empty()).then_some((chunk, (open, next))))
    })
}

/// Everything but letters and digits of ASCII is written as its bytes.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
