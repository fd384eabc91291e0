//! How events are framed: as SSE for browsers, as lines for everybody else. Records go out as the
//! very bytes that are on disk.

use axum::http::{HeaderMap, header};
use bytes::{BufMut, Bytes, BytesMut};

/// A way to frame events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `text/event-stream`.
    Sse,
    /// `application/x-ndjson`.
    Lines,
}

impl Framing {
    /// What the client asks for.
    pub fn from_accept_header(headers: &HeaderMap) -> Framing {
        let accept = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
        let lines = accept.flat_map(|accept| accept.split(',')).any(|kind| {
            kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/x-ndjson")
        });
        if lines { Framing::Lines } else { Framing::Sse }
    }

    /// The media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Framing::Sse => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
        }
    }

    /// Adds one event to a chunk. A browser hands events with a name only to listeners of that name, so that a name is
    /// left out unless the client wants it.
    pub fn append_event(self, chunk: &mut BytesMut, id: Option<u64>, name: Option<&str>, data: &Bytes) {
        match self {
            Framing::Sse => {
                chunk.reserve(data.len() + name.map_or(0, str::len) + 64);
                if let Some(id) = id {
                    chunk.put_slice(format!("id: {id}\n").as_bytes());
                }
                if let Some(name) = name {
                    chunk.put_slice(b"event: ");
                    chunk.put_slice(name.as_bytes());
                    chunk.put_u8(b'\n');
                }
                chunk.put_slice(b"data: ");
                chunk.put_slice(data);
                chunk.put_slice(b"\n\n");
            }
            Framing::Lines => {
                chunk.reserve(data.len() + 1);
                chunk.put_slice(data);
                chunk.put_u8(b'\n');
            }
        }
    }
}
